//! The sandbox's `OpenNebula`, the serverless workflows in front of it, and what is left in it.

use std::sync::Arc;
use std::time::Duration;

use crate::world::Drivers;
use ::serverless::model::errand::{self, Request};
use ::serverless::model::{
    Credentials, Errand, Refusal, Runtime, Serverless, ServerlessSettings, Spec, view,
};
use ::serverless::workflows::{create, delete, update};
use api::{Cognit, Format as _};
use engine::store::{MemoryStore, Store};
use engine::{Inspection, OperationId, Phase, WallClock, Workflow};
use serde_json::{Value, json};
use testing::House;

use crate::world::World;

pub(crate) struct Site {
    pub(crate) world: World,
    pub(crate) drivers: Drivers,
    pub(crate) who: Credentials,
}

pub(crate) fn credentials(user: &str, password: &str) -> Credentials {
    Credentials::new(user, password.into()).unwrap()
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

impl Site {
    pub(crate) async fn start() -> Site {
        Site::with(quick()).await
    }

    pub(crate) async fn with(settings: ServerlessSettings) -> Site {
        let world = World::start().await;
        let mut drivers = world.drivers(None);
        let nebula = drivers.serverless.nebula.clone();
        drivers.serverless = Arc::new(Serverless { nebula, settings });
        let site = Site { world, drivers, who: credentials("cognit", "cognitpass") };
        let pace = json!({"pending_ms": 2, "prolog_ms": 2, "boot_ms": 10, "resize_ms": 5, "disk_resize_ms": 5,
            "terminate_ms": 5, "nets_ms": 2, "undeploy_ms": 2});
        site.world.post("/opennebula/pace", &pace).await;
        site
    }

    pub(crate) fn serverless(&self) -> &Serverless {
        &self.drivers.serverless
    }

    pub(crate) async fn house(&self) -> House {
        self.house_on(Arc::new(MemoryStore::new())).await
    }

    pub(crate) async fn house_on(&self, store: Arc<dyn Store>) -> House {
        let builder = House::plan(store, Arc::new(WallClock));
        House::open(::serverless::workflows::register(builder, &self.drivers.serverless), None).await
    }

    pub(crate) async fn mischief(&self, mischief: &Value) {
        self.world.post("/opennebula/faults", mischief).await;
    }

    pub(crate) async fn begin<W: Workflow>(
        &self,
        house: &House,
        resource: &str,
        params: &W::Params,
    ) -> OperationId {
        let request = Request::<W> { resource, params, credentials: &self.who, idempotency_key: None };
        errand::accept(&house.engine, &request).await.unwrap().id
    }

    /// Asks for a runtime, the inner members of which are given.
    pub(crate) async fn create(&self, house: &House, runtime: Value) -> Result<Inspection, Refusal> {
        let body = json!({"SERVERLESS_RUNTIME": runtime}).to_string();
        let params = create::prepare(self.serverless(), &self.who, Spec::parse(body.as_bytes())?).await?;
        let name = format!("test-{}", house.engine.now().0);
        let id = self.begin::<create::Create>(house, &Errand::resource_of_new(&name), &params).await;
        Ok(finished(house, id).await)
    }

    pub(crate) async fn update(&self, house: &House, id: i32, runtime: Value) -> Result<Inspection, Refusal> {
        let body = json!({"SERVERLESS_RUNTIME": runtime}).to_string();
        let params = update::prepare(self.serverless(), &self.who, id, body.as_bytes()).await?;
        let operation = self.begin::<update::Update>(house, &Errand::resource(id), &params).await;
        Ok(finished(house, operation).await)
    }

    pub(crate) async fn delete(&self, house: &House, id: i32) -> Result<Inspection, Refusal> {
        let params = delete::prepare(self.serverless(), &self.who, id).await?;
        let operation = self.begin::<delete::Delete>(house, &Errand::resource(id), &params).await;
        Ok(finished(house, operation).await)
    }

    pub(crate) async fn read(&self, id: i32) -> Result<Runtime, Refusal> {
        view::read(self.serverless(), &self.who, id).await
    }

    /// A runtime that runs.
    pub(crate) async fn running(&self, house: &House, runtime: Value) -> i32 {
        let made = succeeded(&self.create(house, runtime).await.unwrap());
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

pub(crate) async fn finished(house: &House, id: OperationId) -> Inspection {
    tokio::time::timeout(PATIENCE, house.finished(id)).await.expect("an operation never ends")
}

pub(crate) fn members(runtime: &Runtime) -> Value {
    serde_json::to_value(runtime).unwrap()
}

/// The runtime in the answer of an operation that succeeded.
pub(crate) fn succeeded(ended: &Inspection) -> Value {
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    let answer: Value = serde_json::from_str(ended.memory.state["runtime"].as_str().unwrap()).unwrap();
    answer["SERVERLESS_RUNTIME"].clone()
}

/// What the caller of an operation is told that was undone.
pub(crate) fn refused(ended: &Inspection) -> Refusal {
    assert_eq!(ended.shown.summary.phase, Phase::Undone, "{:?}", ended.memory.last_error);
    serde_json::from_value(ended.memory.state["refusal"].clone()).unwrap()
}

/// The body of the answer, as devices see it.
pub(crate) fn written(refusal: Refusal) -> String {
    String::from_utf8(Cognit.write(&refusal.into())).unwrap()
}
