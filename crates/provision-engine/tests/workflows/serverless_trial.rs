//! The serverless workflows on trial, against the `OpenNebula` of the sandbox.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use crate::world::Drivers;
use ::serverless::model::{Errand, Spec};
use ::serverless::workflows::{create, delete, update};
use async_trait::async_trait;
use engine::store::Expect;
use engine::{Clock, Engine, Plan, Resource, WallClock, Workflow};
use serde_json::{Value, json};
use testing::trial::Trial;

use crate::serverless_site::{Site, members};

/// What the operation on trial does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    Create,
    Update,
    Delete,
}

pub(crate) struct ServerlessTrial<W: Workflow> {
    pub(crate) site: Site,
    deed: Deed,
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

impl<W: Workflow> ServerlessTrial<W> {
    pub(crate) async fn of(deed: Deed, plan: fn(&Drivers) -> Plan<W>) -> ServerlessTrial<W> {
        let site = Site::start().await;
        ServerlessTrial { site, deed, plan, number: AtomicU32::new(0), prepared: Mutex::default() }
    }

    fn prepared(&self) -> Prepared {
        self.prepared.lock().unwrap().clone()
    }

    /// A runtime that runs, made by an engine of its own.
    async fn make(&self) -> i32 {
        let house = self.site.house().await;
        let function = |flavour: &str| json!({"FLAVOUR": flavour, "CPU": 1, "MEMORY": 128});
        let runtime = json!({"NAME": "before", "FAAS": function("Function"), "DAAS": function("Data")});
        let id = self.site.running(&house, runtime).await;
        house.close().await;
        id
    }
}

const ASKED: &str = r#"{"SERVERLESS_RUNTIME":{"FAAS":{"FLAVOUR":"Function"},"DAAS":{"FLAVOUR":"Data"}}}"#;
const CHANGED: &str = r#"{"SERVERLESS_RUNTIME":{"NAME":"after","FAAS":{"FLAVOUR":"","CPU":2,"MEMORY":192},
    "DAAS":{"FLAVOUR":"","CPU":3},"SCHEDULING":{"POLICY":"latency"},"DEVICE_INFO":{"GEOGRAPHIC_LOCATION":"Rome"}}}"#;

#[async_trait]
impl<W: Workflow> Trial for ServerlessTrial<W> {
    type Workflow = W;

    fn plan(&self) -> Plan<W> {
        (self.plan)(&self.site.drivers)
    }

    fn params(&self) -> Value {
        self.prepared().params
    }

    fn resource(&self) -> Option<String> {
        Some(Errand::resource_of_new(&self.number.load(Ordering::SeqCst).to_string()))
    }

    async fn prepare(&self, engine: &Engine) {
        self.number.fetch_add(1, Ordering::SeqCst);
        let resource = self.resource().unwrap();
        let errand = Errand::new(&engine.sealer("test", &resource), &self.site.who);
        let portrait = errand.portrait().unwrap();
        assert!(engine.write_resource(&resource, "test", Expect::Absent, Some(portrait)).await.unwrap());
        let (serverless, who) = (self.site.serverless(), &self.site.who);
        let prepared = match self.deed {
            Deed::Create => {
                let spec = Spec::parse(ASKED.as_bytes()).unwrap();
                let params = create::prepare(serverless, who, spec).await.unwrap();
                Prepared { params: json!(params), before: None }
            }
            Deed::Update => {
                let id = self.make().await;
                let before = members(&self.site.read(id).await.unwrap());
                let params = update::prepare(serverless, who, id, CHANGED.as_bytes()).await.unwrap();
                Prepared { params: json!(params), before: Some((id, before)) }
            }
            Deed::Delete => {
                let id = self.make().await;
                let params = delete::prepare(serverless, who, id).await.unwrap();
                Prepared { params: json!(params), before: None }
            }
        };
        *self.prepared.lock().unwrap() = prepared;
    }

    fn attempts(&self) -> Vec<&'static str> {
        match self.deed {
            Deed::Create => vec!["allocate_document.called", "instantiate_service.called"],
            // Only a machine in an error state is recovered.
            Deed::Update | Deed::Delete => Vec::new(),
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
