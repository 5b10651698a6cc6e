//! The sandbox's `OpenNebula`, the serverless workflows in front of it, and what is left in it.

use std::sync::Arc;
use std::time::Duration;

use crate::world::Drivers;
use ::serverless::model::caller_credentials::{self, Request};
use ::serverless::model::{
    CallerCredentials, NebulaCredentials, RuntimeError, Serverless, ServerlessRuntime, ServerlessSettings,
    Spec, view,
};
use ::serverless::workflows::{create, delete, update};
use api::{Cognit, Format as _};
use engine::store::{MemoryStore, Store};
use engine::{Inspection, OperationId, Phase, WallClock, Workflow};
use serde_json::{Value, json};
use testing::TestEngine;

use crate::world::WorkflowFixture;

pub(crate) struct ServerlessSite {
    pub(crate) world: WorkflowFixture,
    pub(crate) drivers: Drivers,
    pub(crate) who: NebulaCredentials,
}

pub(crate) fn credentials(user: &str, password: &str) -> NebulaCredentials {
    NebulaCredentials::new(user, password.into()).unwrap()
}

/// As quick as it goes without a turn of the clock.
pub(crate) fn quick() -> ServerlessSettings {
    ServerlessSettings {
        timeout: Duration::from_secs(20),
        poll: Duration::from_millis(20),
        settle: Duration::from_millis(200),
        ..ServerlessSettings::default()
    }
}

/// Every wait in these tests ends by then.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

impl ServerlessSite {
    pub(crate) async fn start() -> ServerlessSite {
        ServerlessSite::with(quick()).await
    }

    pub(crate) async fn with(settings: ServerlessSettings) -> ServerlessSite {
        let world = WorkflowFixture::start().await;
        let mut drivers = world.drivers(None);
        let nebula = drivers.serverless.nebula.clone();
        drivers.serverless = Arc::new(Serverless { nebula, settings });
        let site = ServerlessSite { world, drivers, who: credentials("cognit", "cognitpass") };
        let delay_times = json!({"pending_ms": 2, "prolog_ms": 2, "boot_ms": 10, "resize_ms": 5, "disk_resize_ms": 5,
            "terminate_ms": 5, "nets_ms": 2, "undeploy_ms": 2});
        site.world.post("/opennebula/pace", &delay_times).await;
        site
    }

    pub(crate) fn serverless(&self) -> &Serverless {
        &self.drivers.serverless
    }

    pub(crate) async fn test_engine(&self) -> TestEngine {
        self.engine_on(Arc::new(MemoryStore::new())).await
    }

    pub(crate) async fn engine_on(&self, store: Arc<dyn Store>) -> TestEngine {
        let builder = TestEngine::plan(store, Arc::new(WallClock));
        TestEngine::open(::serverless::workflows::register(builder, &self.drivers.serverless), None).await
    }

    pub(crate) async fn faults(&self, faults: &Value) {
        self.world.post("/opennebula/faults", faults).await;
    }

    pub(crate) async fn begin<W: Workflow>(
        &self,
        test_engine: &TestEngine,
        resource: &str,
        params: &W::Params,
    ) -> OperationId {
        let request =
            Request::<W> { resource, name: None, params, credentials: &self.who, idempotency_key: None };
        caller_credentials::accept(&test_engine.engine, &request).await.unwrap().id
    }

    /// Asks for a runtime, the inner members of which are given.
    pub(crate) async fn create(
        &self,
        test_engine: &TestEngine,
        runtime: Value,
    ) -> Result<Inspection, RuntimeError> {
        let body = json!({"SERVERLESS_RUNTIME": runtime}).to_string();
        let params = create::prepare(self.serverless(), &self.who, Spec::parse(body.as_bytes())?).await?;
        let name = format!("test-{}", test_engine.engine.now().0);
        let id = self
            .begin::<create::Create>(test_engine, &CallerCredentials::resource_of_new(&name), &params)
            .await;
        Ok(finished(test_engine, id).await)
    }

    pub(crate) async fn update(
        &self,
        test_engine: &TestEngine,
        id: i32,
        runtime: Value,
    ) -> Result<Inspection, RuntimeError> {
        let body = json!({"SERVERLESS_RUNTIME": runtime}).to_string();
        let params = update::prepare(self.serverless(), &self.who, id, body.as_bytes()).await?;
        let operation =
            self.begin::<update::Update>(test_engine, &CallerCredentials::resource(id), &params).await;
        Ok(finished(test_engine, operation).await)
    }

    pub(crate) async fn delete(&self, test_engine: &TestEngine, id: i32) -> Result<Inspection, RuntimeError> {
        let params = delete::prepare(self.serverless(), &self.who, id).await?;
        let operation =
            self.begin::<delete::Delete>(test_engine, &CallerCredentials::resource(id), &params).await;
        Ok(finished(test_engine, operation).await)
    }

    pub(crate) async fn read(&self, id: i32) -> Result<ServerlessRuntime, RuntimeError> {
        view::read(self.serverless(), &self.who, id).await
    }

    /// A runtime that runs.
    pub(crate) async fn running(&self, test_engine: &TestEngine, runtime: Value) -> i32 {
        let made = succeeded(&self.create(test_engine, runtime).await.unwrap());
        let id = i32::try_from(made["ID"].as_i64().unwrap()).unwrap();
        self.until(id, "RUNNING").await;
        id
    }

    /// Waits until all functions of a runtime are in this state.
    pub(crate) async fn until(&self, id: i32, state: &str) -> Value {
        let looking = async {
            loop {
                let seen = members(&self.read(id).await.unwrap());
                let functions =
                    ["FAAS", "DAAS"].map(|role| seen[role]["STATE"].as_str().unwrap_or(state).to_owned());
                if functions.iter().all(|own| own == state) {
                    return seen;
                }
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        };
        tokio::time::timeout(PATIENCE, looking)
            .await
            .unwrap_or_else(|_| panic!("runtime {id} is never {state}"))
    }

    /// Kinds of everything that stands in `OpenNebula`, sorted.
    pub(crate) async fn kinds(&self) -> Vec<String> {
        let ledger = self.world.get("/ledger").await;
        let kind = |effect: &Value| effect["kind"].as_str().unwrap().to_owned();
        let mut kinds: Vec<String> = ledger["effects"].as_array().unwrap().iter().map(kind).collect();
        kinds.sort();
        kinds
    }
}

pub(crate) async fn finished(test_engine: &TestEngine, id: OperationId) -> Inspection {
    tokio::time::timeout(PATIENCE, test_engine.finished(id)).await.expect("an operation never ends")
}

pub(crate) fn members(runtime: &ServerlessRuntime) -> Value {
    serde_json::to_value(runtime).unwrap()
}

/// The runtime in the answer of an operation that succeeded.
pub(crate) fn succeeded(ended: &Inspection) -> Value {
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    let answer: Value = serde_json::from_str(ended.memory.state["runtime"].as_str().unwrap()).unwrap();
    answer["SERVERLESS_RUNTIME"].clone()
}

/// What the caller of an operation is told that was undone.
pub(crate) fn refused(ended: &Inspection) -> RuntimeError {
    assert_eq!(ended.shown.summary.phase, Phase::Undone, "{:?}", ended.memory.last_error);
    serde_json::from_value(ended.memory.state["refusal"].clone()).unwrap()
}

/// The body of the answer, as devices see it.
pub(crate) fn written(error_response: RuntimeError) -> String {
    String::from_utf8(Cognit.write(&error_response.into())).unwrap()
}
