//! `demo.hello`, as it is or with more steps, against the real greeter.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use drivers::greeter::HttpGreeter;
use engine::store::MemoryStore;
use engine::{Clock, Plan, WallClock};
use sandbox::Sandbox;
use serde_json::{Value, json};
use testing::House;
use testing::trial::Trial;
use workflows::Drivers;
use workflows::demo::hello::Hello;

pub(crate) struct HelloTrial {
    sandbox: Sandbox,
    pub(crate) drivers: Drivers,
    plan: fn(&Drivers) -> Plan<Hello>,
}

impl HelloTrial {
    pub(crate) async fn of(plan: fn(&Drivers) -> Plan<Hello>) -> HelloTrial {
        let sandbox = Sandbox::start("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let greeter = HttpGreeter::new(&sandbox.url(), Duration::from_secs(5)).unwrap();
        HelloTrial { sandbox, drivers: Drivers { greeter: Arc::new(greeter) }, plan }
    }

    /// A running engine with this plan.
    pub(crate) async fn house(&self, plan: Plan<Hello>) -> House {
        House::open(House::plan(Arc::new(MemoryStore::new()), self.clock()).workflow(plan), None).await
    }

    /// What the sandbox answers at this path.
    pub(crate) async fn get(&self, path: &str) -> Value {
        reqwest::get(format!("{}{path}", self.sandbox.url())).await.unwrap().json().await.unwrap()
    }

    pub(crate) async fn fault(&self, fault: Value) {
        let url = format!("{}/faults", self.sandbox.url());
        let answer = reqwest::Client::new().post(url).json(&fault).send().await.unwrap();
        assert_eq!(answer.status(), 201);
    }
}

#[async_trait]
impl Trial for HelloTrial {
    type Workflow = Hello;

    fn plan(&self) -> Plan<Hello> {
        (self.plan)(&self.drivers)
    }

    fn params(&self) -> Value {
        json!({"name": "trial", "wait_ms": 1})
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(WallClock)
    }

    async fn standing(&self) -> Vec<String> {
        let ledger = self.get("/ledger").await;
        let effects = ledger["effects"].as_array().unwrap();
        effects.iter().map(|effect| effect["token"].as_str().unwrap().to_owned()).collect()
    }

    async fn clear(&self) {
        let url = format!("{}/ledger", self.sandbox.url());
        reqwest::Client::new().delete(url).send().await.unwrap().error_for_status().unwrap();
    }
}
