//! The Runtime Provisioner: a GraphQL external system that makes runtimes, twice if it is asked twice.
//!
//! Time passes without any client watching: every look at it first ends the operations whose time has come.

mod admission;
mod calls;
mod dialect;
mod faults;
mod inspect;
mod operation;
mod runtimes;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_graphql::dynamic::Schema;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::{get, post, put};
use axum::{Json, Router, middleware};
use serde_json::json;

use self::dialect::Dialect;
use self::runtimes::{ProvisionerScript, RuntimeTable, SimulatedRuntime, Witness};
use crate::SandboxShared;
use crate::answer::{CallError, JsonBody};
use crate::clock::Clock;
use crate::cluster::Clusters;
use crate::director::{Condition, Director};
use crate::faults::{Gate, hit};
use crate::graphql::{self, GRAPHQL_BYTES_MAX, GraphqlUser, Root};
use crate::ledger::{Effect, Ledger, LedgerSystem};
use crate::script;

const RUNTIME: Effect = Effect { system: LedgerSystem::Provisioner, kind: "runtime" };
const SCRIPT_MS_MAX: u64 = 7 * 24 * 3600 * 1000;

#[derive(Debug)]
pub(crate) struct Provisioner {
    clock: Arc<Clock>,
    ledger: Arc<Ledger>,
    director: Arc<Director>,
    clusters: Arc<Clusters>,
    runtimes: Mutex<RuntimeTable>,
}

impl Provisioner {
    pub(crate) fn new(
        clock: Arc<Clock>,
        ledger: Arc<Ledger>,
        director: Arc<Director>,
        clusters: Arc<Clusters>,
    ) -> Self {
        Provisioner { clock, ledger, director, clusters, runtimes: Mutex::default() }
    }

    /// Ends the operations whose time has come, so that the rest of the world is as it should be by now.
    pub(crate) fn settle(&self) {
        drop(self.settled());
    }

    fn settled(&self) -> MutexGuard<'_, RuntimeTable> {
        let mut runtimes = self.runtimes.lock().unwrap_or_else(PoisonError::into_inner);
        runtimes.settle(self.clock.now(), self);
        runtimes
    }
}

impl Witness for Provisioner {
    fn provisioned(&self, runtime: &SimulatedRuntime) {
        let shoot = runtime.input()["clusterConfig"]["gardenerConfig"]["name"].as_str().map(str::to_owned);
        let host = shoot.filter(|name| !name.is_empty()).unwrap_or_else(|| runtime.id.clone());
        self.clusters.open(&runtime.id);
        self.director.set_condition(&runtime.id, Condition::Connected, self.clock.now());
        let console_url = json!(format!("https://console.{host}.sandbox.local"));
        self.director.set_label(&runtime.id, "runtime_consoleUrl", console_url);
    }

    fn provisioning_failed(&self, runtime: &SimulatedRuntime) {
        self.director.set_condition(&runtime.id, Condition::Failed, self.clock.now());
    }

    fn deprovisioned(&self, runtime: &SimulatedRuntime) {
        self.clusters.close(&runtime.id);
        self.director.unregister(&runtime.id);
        self.ledger.take_back(RUNTIME, &runtime.id);
    }
}

pub(crate) fn routes(world: &SandboxShared) -> Router {
    let gate = Gate { system: LedgerSystem::Provisioner, faults: Arc::clone(&world.faults) };
    let provisioner: Arc<dyn Root> = world.provisioner.clone();
    let language = include_str!("../../schema/provisioner.graphql");
    let schemas = Dialect::ALL.map(|dialect| graphql::schema(language, dialect.year(), &provisioner));
    let server =
        ProvisionerServer { provisioner: Arc::clone(&world.provisioner), schemas: Arc::new(schemas) };
    let calls = Router::new()
        .route("/provisioner/graphql", post(call))
        .route("/provisioner/healthz", get(|| async { Json(json!({"status": "ok"})) }))
        .route_layer(middleware::from_fn_with_state(gate, hit))
        .layer(DefaultBodyLimit::max(GRAPHQL_BYTES_MAX))
        .with_state(server);
    let control = Router::new()
        .route("/provisioner/script", put(set_script).get(show_script))
        .route("/provisioner/runtimes", get(inspect::list))
        .route("/provisioner/runtimes/{id}", get(inspect::show))
        .with_state(Arc::clone(&world.provisioner));
    calls.merge(control).merge(script::routes("/provisioner/faults", &world.provisioner.settled().faults))
}

/// The calls, in the dialect that the script names.
#[derive(Clone)]
struct ProvisionerServer {
    provisioner: Arc<Provisioner>,
    schemas: Arc<[Schema; Dialect::ALL.len()]>,
}

async fn call(State(server): State<ProvisionerServer>, headers: HeaderMap, body: Bytes) -> Response {
    let dialect = server.provisioner.settled().script.dialect;
    graphql::execute(&server.schemas[dialect as usize], GraphqlUser::of(&headers), &body).await
}

async fn set_script(
    State(provisioner): State<Arc<Provisioner>>,
    JsonBody(script): JsonBody<ProvisionerScript>,
) -> Result<StatusCode, CallError> {
    let longest = script.provision_ms.max(script.deprovision_ms).max(script.upgrade_ms);
    if longest > SCRIPT_MS_MAX {
        return Err(CallError::bad_request(format!("an operation lasts at most {SCRIPT_MS_MAX} ms")));
    }
    provisioner.settled().follow(script);
    Ok(StatusCode::NO_CONTENT)
}

async fn show_script(State(provisioner): State<Arc<Provisioner>>) -> Json<ProvisionerScript> {
    Json(provisioner.settled().script.clone())
}
