//! Infrastructure Manager: a Kubernetes API with runtimes and what belongs to them, and stand-ins for the controllers
//! that act on them.
//!
//! Time passes without any client watching: every look at it first does the work whose time has come.

mod controller;
mod delete;
mod discovery;
mod endpoint;
mod failure;
mod faults;
mod kinds;
mod kyma_work;
mod list;
mod runtime_work;
mod schema;
mod selector;
mod store;
mod users;
mod watch;
mod write;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::{DefaultBodyLimit, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Json, Router, middleware};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::sync::watch::Sender;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::controller::{Controller, ManagerDelays, Outside};
use self::endpoint::BODY_BYTES_MAX;
use self::kinds::KubeKind;
use self::store::{ObjectKey, ObjectStore};
use crate::SandboxShared;
use crate::answer::{CallError, JsonBody};
use crate::clock::Clock;
use crate::cluster::Clusters;
use crate::delays;
use crate::faults::{Gate, hit};
use crate::ledger::{Ledger, LedgerSystem};
use crate::script;

const BASE: &str = "/infrastructure-manager";
/// Where shoots and credentials bindings are.
const GARDEN_NAMESPACE: &str = "garden-sandbox";
/// Free accounts of each provider, besides a shared one.
const ACCOUNTS: usize = 3;

#[derive(Debug)]
pub(crate) struct InfrastructureManager {
    base_url: String,
    clock: Arc<Clock>,
    outside: Outside,
    state: Mutex<ManagerState>,
    /// The version of the last change, for watches.
    changes: Sender<u64>,
    stopped: CancellationToken,
}

#[derive(Debug, Default)]
struct ManagerState {
    store: ObjectStore,
    controller: Controller,
}

impl InfrastructureManager {
    pub(crate) fn new(
        base_url: &str,
        clock: Arc<Clock>,
        ledger: Arc<Ledger>,
        clusters: Arc<Clusters>,
    ) -> Self {
        let mut state = ManagerState::default();
        seed_accounts(&mut state.store, clock.now());
        InfrastructureManager {
            base_url: base_url.to_owned(),
            clock,
            outside: Outside { ledger, clusters, faults: Arc::default() },
            state: Mutex::new(state),
            changes: Sender::new(0),
            stopped: CancellationToken::new(),
        }
    }

    /// Watches end when the sandbox stops.
    pub(crate) fn serve(&self, servers: &mut JoinSet<io::Result<()>>, stop: &CancellationToken) {
        let (stop, stopped) = (stop.clone(), self.stopped.clone());
        servers.spawn(async move {
            stop.cancelled().await;
            stopped.cancel();
            Ok(())
        });
    }

    pub(crate) fn settle(&self) {
        drop(self.settled());
    }

    fn settled(&self) -> MutexGuard<'_, ManagerState> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let ManagerState { store, controller } = &mut *state;
        controller::settle(controller, store, &self.outside, self.clock.now());
        self.announce(store);
        state
    }

    /// Wakes the watches if something changed.
    fn announce(&self, store: &ObjectStore) {
        let version = store.version();
        self.changes.send_if_modified(|last| std::mem::replace(last, version) != version);
    }

    fn kubeconfig(&self, user: &str) -> Option<String> {
        let (server, token) = (format!("{}{BASE}", self.base_url), users::token(user)?);
        Some(format!(
            "apiVersion: v1\n\
             kind: Config\n\
             current-context: infrastructure-manager\n\
             clusters:\n\
             - name: infrastructure-manager\n  cluster:\n    server: \"{server}\"\n\
             contexts:\n\
             - name: infrastructure-manager\n  context:\n    cluster: infrastructure-manager\n    user: {user}\n\
             users:\n\
             - name: {user}\n  user:\n    token: \"{token}\"\n"
        ))
    }
}

/// Accounts to claim, so that a first try needs no preparation.
fn seed_accounts(store: &mut ObjectStore, now: OffsetDateTime) {
    for provider in ["alicloud", "aws", "azure", "gcp", "gdch", "openstack"] {
        for number in 0..=ACCOUNTS {
            let name =
                if number == 0 { format!("{provider}-shared") } else { format!("{provider}-{number}") };
            let mut labels = json!({ "hyperscalerType": provider });
            if number == 0 {
                labels["shared"] = json!("true");
            }
            let key = ObjectKey::new(KubeKind::CredentialsBinding, GARDEN_NAMESPACE, &name);
            let object = json!({
                "apiVersion": key.kind.api_version(), "kind": key.kind.kind(),
                "metadata": {
                    "name": name, "namespace": GARDEN_NAMESPACE, "uid": uuid::Uuid::now_v7(), "labels": labels,
                    "generation": 1, "creationTimestamp": stamp(now),
                },
                "provider": {"type": provider},
                "credentialsRef": {"kind": "Secret", "name": name, "namespace": GARDEN_NAMESPACE},
            });
            store.put(&key, object);
        }
    }
}

/// A time as Kubernetes writes it, to the second.
fn stamp(at: OffsetDateTime) -> String {
    at.replace_nanosecond(0).unwrap_or(at).format(&Rfc3339).unwrap_or_default()
}

pub(crate) fn routes(world: &SandboxShared) -> Router {
    let manager = &world.infrastructure_manager;
    let gate = Gate { system: LedgerSystem::InfrastructureManager, faults: Arc::clone(&world.faults) };
    let calls = Router::new()
        .route(&format!("{BASE}/api/{{*rest}}"), any(endpoint::call))
        .route(&format!("{BASE}/apis/{{*rest}}"), any(endpoint::call))
        .route(&format!("{BASE}/openapi/{{*rest}}"), any(endpoint::call))
        .route(&format!("{BASE}/version"), get(discovery::version))
        .route_layer(middleware::from_fn_with_state(gate, hit))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(Arc::clone(manager));
    let control = Router::new()
        .route(&format!("{BASE}/kubeconfig"), get(show_kubeconfig))
        .route(&format!("{BASE}/delays"), get(show_delays).put(set_delays))
        .route(&format!("{BASE}/compact"), post(compact))
        .with_state(Arc::clone(manager));
    calls.merge(control).merge(script::routes(&format!("{BASE}/faults"), &manager.outside.faults))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KubeconfigQuery {
    user: Option<String>,
}

/// Of the administrator, or of the user that is named.
async fn show_kubeconfig(
    State(manager): State<Arc<InfrastructureManager>>,
    Query(query): Query<KubeconfigQuery>,
) -> Result<Response, CallError> {
    let kubeconfig = manager.kubeconfig(query.user.as_deref().unwrap_or(users::ADMIN));
    let kubeconfig =
        kubeconfig.ok_or_else(|| CallError::new(StatusCode::NOT_FOUND, "there is no such user"))?;
    Ok(([(header::CONTENT_TYPE, "application/yaml")], kubeconfig).into_response())
}

async fn show_delays(State(manager): State<Arc<InfrastructureManager>>) -> Json<ManagerDelays> {
    Json(manager.settled().controller.delays.clone())
}

async fn set_delays(
    State(manager): State<Arc<InfrastructureManager>>,
    JsonBody(named): JsonBody<Map<String, Value>>,
) -> Result<StatusCode, CallError> {
    let mut state = manager.settled();
    let changed = delays::change(&state.controller.delays, named).map_err(CallError::bad_request)?;
    state.controller.delays = changed;
    Ok(StatusCode::NO_CONTENT)
}

/// Makes every version so far too old for a watch.
async fn compact(State(manager): State<Arc<InfrastructureManager>>) -> StatusCode {
    manager.settled().store.compact();
    StatusCode::NO_CONTENT
}
