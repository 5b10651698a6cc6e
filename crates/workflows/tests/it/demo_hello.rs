//! `demo.hello` against the real greeter.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use drivers::greeter::HttpGreeter;
use engine::store::MemoryStore;
use engine::{Clock, Phase, Plan, WallClock};
use sandbox::Sandbox;
use serde_json::{Value, json};
use testing::House;
use testing::trial::{self, Trial};
use workflows::Drivers;
use workflows::demo::hello::{self, Hello};

struct HelloTrial {
    sandbox: Sandbox,
    drivers: Drivers,
}

impl HelloTrial {
    async fn new() -> HelloTrial {
        let sandbox = Sandbox::start("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let greeter = HttpGreeter::new(&sandbox.url(), Duration::from_secs(5)).unwrap();
        HelloTrial { sandbox, drivers: Drivers { greeter: Arc::new(greeter) } }
    }

    async fn house(&self) -> House {
        let builder = House::plan(Arc::new(MemoryStore::new()), self.clock()).workflow(self.plan());
        House::open(builder, None).await
    }

    async fn ledger(&self) -> Value {
        reqwest::get(format!("{}/ledger", self.sandbox.url())).await.unwrap().json().await.unwrap()
    }

    async fn fault(&self, fault: Value) {
        let url = format!("{}/faults", self.sandbox.url());
        let answer = reqwest::Client::new().post(url).json(&fault).send().await.unwrap();
        assert_eq!(answer.status(), 201);
    }
}

#[async_trait]
impl Trial for HelloTrial {
    type Workflow = Hello;

    fn plan(&self) -> Plan<Hello> {
        hello::plan(&self.drivers)
    }

    fn params(&self) -> Value {
        json!({"name": "trial", "wait_ms": 1})
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(WallClock)
    }

    async fn standing(&self) -> Vec<String> {
        let ledger = self.ledger().await;
        let effects = ledger["effects"].as_array().unwrap();
        effects.iter().map(|effect| effect["token"].as_str().unwrap().to_owned()).collect()
    }

    async fn clear(&self) {
        let url = format!("{}/ledger", self.sandbox.url());
        reqwest::Client::new().delete(url).send().await.unwrap().error_for_status().unwrap();
    }
}

#[tokio::test]
async fn stands_all_trials() {
    trial::stand_all(&HelloTrial::new().await).await;
}

#[tokio::test]
async fn a_greeter_that_breaks_and_loses_answers_is_greeted_once() {
    let trial = HelloTrial::new().await;
    trial.fault(json!({"system": "greeter", "kind": "error", "times": 2})).await;
    trial.fault(json!({"system": "greeter", "kind": "drop_after", "after": 2})).await;
    let house = trial.house().await;
    let id = house.submit("demo.hello", None, json!({"name": "Ada"})).await;
    let ended = house.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    assert_eq!(house.kinds(id).await, "created retried retried retried finished");
    assert_eq!(trial.standing().await.len(), 1);
}

#[tokio::test]
async fn the_secret_of_the_greeter_is_sealed_everywhere() {
    let trial = HelloTrial::new().await;
    let house = trial.house().await;
    let id = house.submit("demo.hello", None, json!({"name": "Ada", "wait_ms": 5})).await;
    let ended = house.finished(id).await;
    let token = trial.standing().await.pop().unwrap();
    let answer = trial.drivers.greeter.find(&token).await.unwrap().unwrap();
    let secret = engine::secret::ExposeSecret::expose_secret(&answer.token).to_owned();
    let all = format!("{:?} {:?} {:?}", ended.shown, ended.memory, house.journal(id).await);
    assert!(!all.contains(&secret), "the secret is in the store");
    assert!(all.contains("sealed:1:k1:"));
    let letter = ended.memory.state["letter"].as_str().unwrap().to_owned();
    assert_eq!(letter, "letter.greeting.text: Hello, Ada!\nletter.greeting.token: (enclosed)");
}

#[tokio::test]
async fn bad_params_are_refused_with_the_field() {
    let trial = HelloTrial::new().await;
    let house = trial.house().await;
    for (params, part) in [
        (json!({"nome": "x"}), "unknown field `nome`"),
        (json!({"name": ""}), "name must have 1 to 200 characters"),
        (json!({"wait_ms": -1}), "wait_ms"),
        (json!({"wait_ms": 100_000_000_000_u64}), "wait_ms must be at most"),
        (json!([1]), "invalid type"),
    ] {
        let command = engine::Command {
            workflow: "demo.hello".into(),
            tenant: "t".into(),
            resource: None,
            params,
            by: "t".into(),
            idempotency_key: None,
            queue: false,
        };
        let error = house.engine.submit(command).await.unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}
