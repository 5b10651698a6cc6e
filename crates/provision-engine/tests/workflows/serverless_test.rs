//! The serverless workflows on trial, against the `OpenNebula` of the sandbox.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use crate::world::Drivers;
use ::serverless::model::{CallerCredentials, Spec};
use ::serverless::workflows::{create, delete, update};
use async_trait::async_trait;
use engine::store::Expect;
use engine::{Clock, Engine, Plan, Resource, WallClock, Workflow};
use serde_json::{Value, json};
use testing::workflow_test::WorkflowTest;

use crate::serverless_site::{ServerlessSite, members};

/// What the operation on trial does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TestedOperation {
    Create,
    Update,
    Delete,
}

pub(crate) struct ServerlessTest<W: Workflow> {
    pub(crate) site: ServerlessSite,
    action: TestedOperation,
    plan: fn(&Drivers) -> Plan<W>,
    /// Every run has a resource of its own.
    number: AtomicU32,
    prepared: Mutex<Prepared>,
}

#[derive(Clone, Default)]
struct Prepared {
    params: Value,
    /// The runtime that was there before, and what it looked like.
    before: Option<(i32, Value)>,
}

impl<W: Workflow> ServerlessTest<W> {
    pub(crate) async fn of(action: TestedOperation, plan: fn(&Drivers) -> Plan<W>) -> ServerlessTest<W> {
        let site = ServerlessSite::start().await;
        ServerlessTest { site, action, plan, number: AtomicU32::new(0), prepared: Mutex::default() }
    }

    fn prepared(&self) -> Prepared {
        self.prepared.lock().unwrap().clone()
    }

    /// A runtime that runs, made by an engine of its own.
    async fn make(&self) -> i32 {
        let test_engine = self.site.test_engine().await;
        let function = |flavour: &str| json!({"FLAVOUR": flavour, "CPU": 1, "MEMORY": 128});
        let runtime = json!({"NAME": "before", "FAAS": function("Function"), "DAAS": function("Data")});
        let id = self.site.running(&test_engine, runtime).await;
        test_engine.close().await;
        id
    }
}

const ASKED: &str = r#"{"SERVERLESS_RUNTIME":{"FAAS":{"FLAVOUR":"Function"},"DAAS":{"FLAVOUR":"Data"}}}"#;
const CHANGED: &str = r#"{"SERVERLESS_RUNTIME":{"NAME":"after","FAAS":{"FLAVOUR":"","CPU":2,"MEMORY":192},
    "DAAS":{"FLAVOUR":"","CPU":3},"SCHEDULING":{"POLICY":"latency"},"DEVICE_INFO":{"GEOGRAPHIC_LOCATION":"Rome"}}}"#;

#[async_trait]
impl<W: Workflow> WorkflowTest for ServerlessTest<W> {
    type Workflow = W;

    fn plan(&self) -> Plan<W> {
        (self.plan)(&self.site.drivers)
    }

    fn params(&self) -> Value {
        self.prepared().params
    }

    fn resource(&self) -> Option<String> {
        Some(CallerCredentials::resource_of_new(&self.number.load(Ordering::SeqCst).to_string()))
    }

    async fn prepare(&self, engine: &Engine) {
        self.number.fetch_add(1, Ordering::SeqCst);
        let resource = self.resource().unwrap();
        let caller_credentials = CallerCredentials::new(&engine.sealer("test", &resource), &self.site.who);
        let record_update = caller_credentials.record_update().unwrap();
        assert!(engine.write_resource(&resource, "test", Expect::Absent, Some(record_update)).await.unwrap());
        let (serverless, who) = (self.site.serverless(), &self.site.who);
        let prepared = match self.action {
            TestedOperation::Create => {
                let spec = Spec::parse(ASKED.as_bytes()).unwrap();
                let params = create::prepare(serverless, who, spec).await.unwrap();
                Prepared { params: json!(params), before: None }
            }
            TestedOperation::Update => {
                let id = self.make().await;
                let before = members(&self.site.read(id).await.unwrap());
                let params = update::prepare(serverless, who, id, CHANGED.as_bytes()).await.unwrap();
                Prepared { params: json!(params), before: Some((id, before)) }
            }
            TestedOperation::Delete => {
                let id = self.make().await;
                let params = delete::prepare(serverless, who, id).await.unwrap();
                Prepared { params: json!(params), before: None }
            }
        };
        *self.prepared.lock().unwrap() = prepared;
    }

    fn attempts(&self) -> Vec<&'static str> {
        match self.action {
            TestedOperation::Create => vec!["allocate_document.called", "instantiate_service.called"],
            // Only a machine in an error state is recovered.
            TestedOperation::Update | TestedOperation::Delete => Vec::new(),
        }
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(WallClock)
    }

    /// For an update, what is different from before.
    async fn standing(&self) -> Vec<String> {
        let Some((id, before)) = self.prepared().before else { return self.site.world.standing().await };
        let now = self.site.until(id, "RUNNING").await;
        let paths = [
            "/NAME",
            "/FAAS/CPU",
            "/FAAS/MEMORY",
            "/DAAS/CPU",
            "/DAAS/MEMORY",
            "/SCHEDULING",
            "/DEVICE_INFO",
        ];
        let differs = |path: &&&str| before.pointer(path) != now.pointer(path);
        paths.iter().filter(differs).map(|path| (*path).to_owned()).collect()
    }

    async fn clear(&self) {
        self.site.world.clear().await;
        self.prepared.lock().unwrap().before = None;
    }
}
