//! Replicas on one PostgreSQL: their clocks disagree, and they are restarted one after the other.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ::greeter::{Greeter, HttpGreeter};
use async_trait::async_trait;
use engine::store::Store;
use engine::{Clock, OperationId, Phase, PhaseVerb, Timestamp, WallClock};
use reqwest::{Client, Method};
use rustix::process::Signal;
use serde_json::json;
use store::PostgresStore;
use testing::private_postgres::{PrivatePostgres, PrivatePostgresOptions};
use testing::{Death, DyingStore, TestEngine};

use crate::kills::check::{KeyUse, ServerUnderTest, everything, until_over};
use crate::stage::{DataDirectory, Sandbox, ServerProcess, call};

fn postgres() -> PrivatePostgres {
    let postgres = PrivatePostgres::start(&PrivatePostgresOptions::default()).unwrap();
    postgres.create_database("engine").unwrap();
    postgres
}

/// The clock on the wall, set wrong.
struct SkewedClock {
    ahead: Duration,
}

#[async_trait]
impl Clock for SkewedClock {
    fn now(&self) -> Timestamp {
        WallClock.now().plus(self.ahead)
    }

    async fn sleep(&self, duration: Duration) {
        WallClock.sleep(duration).await;
    }

    fn chance(&self) -> u64 {
        WallClock.chance()
    }
}

/// One replica in this process, with the store, the workflows and the drivers of the program.
struct Replica {
    fixture: TestEngine,
    store: Arc<DyingStore>,
}

impl Replica {
    async fn start(url: &str, sandbox: &str, ahead: Duration) -> Replica {
        let store: Arc<dyn Store> = PostgresStore::connect(url, 2).await.unwrap();
        let store = Arc::new(DyingStore::new(store, Death::Never));
        let timeout = Duration::from_secs(5);
        let greeter: Arc<dyn Greeter> = Arc::new(HttpGreeter::new(sandbox, timeout).unwrap());
        let builder = TestEngine::plan(Arc::clone(&store) as Arc<_>, Arc::new(SkewedClock { ahead }));
        let fixture = TestEngine::open(::demo::workflows::register(builder, &greeter), None).await;
        Replica { fixture, store }
    }

    async fn ask(&self, id: OperationId, verb: PhaseVerb) {
        self.fixture.engine.ask(id, verb, "ops", "").await.unwrap();
    }
}

/// Pause through the one that is ahead and resume through the one that is behind, and the other way round.
#[test]
fn a_resume_is_carried_out_although_the_clocks_are_three_seconds_apart() {
    let postgres = postgres();
    let place = DataDirectory::new();
    let sandbox = Sandbox::start(&place);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let url = postgres.url("engine");
        let ahead = Replica::start(&url, &sandbox.url, Duration::from_secs(3)).await;
        let behind = Replica::start(&url, &sandbox.url, Duration::ZERO).await;
        for (pauses, resumes) in [(&ahead, &behind), (&behind, &ahead)] {
            let params = json!({"name": "Ada", "wait_ms": 10_000});
            let id = pauses.fixture.submit("demo.hello", None, params).await;
            let until = async |phase: Phase| {
                let reached = pauses.fixture.until(id, |found| found == phase);
                let limit = Duration::from_secs(60);
                tokio::time::timeout(limit, reached).await.unwrap_or_else(|_| panic!("it is never {phase}"))
            };
            until(Phase::Waiting).await;
            pauses.ask(id, PhaseVerb::Pause).await;
            until(Phase::Paused).await;
            resumes.ask(id, PhaseVerb::Resume).await;
            until(Phase::Succeeded).await;
            let claims = [&ahead, &behind].into_iter().flat_map(|replica| replica.store.claims());
            let claims = claims.filter(|(of, _)| *of == id).count();
            assert!(claims < 5, "it was claimed {claims} times");
        }
        ahead.fixture.close().await;
        behind.fixture.close().await;
    });
}

/// Calls that are under way when a server is told to stop, each of them longer than its lease.
const CALLS: u32 = 4;
const LATENCY_MS: u64 = 3000;

#[test]
fn a_rolling_restart_under_slow_steps_repeats_no_call() {
    let postgres = postgres();
    let place = || {
        let place = DataDirectory::new().env("PROVISION_ENGINE_STORE__DATABASE_URL", postgres.url("engine"));
        place.env("PROVISION_ENGINE_STORE__LEASE", "1s")
    };
    let places = [place(), place()];
    let sandbox = Sandbox::start(&places[0]);
    let arguments = ["--sandbox-url", &sandbox.url, "--log-level", "info"];
    let start = |n: usize| Some(places[n].serve(&arguments));
    let mut servers: [Option<ServerProcess>; 2] = [start(0), start(1)];
    let token = std::fs::read_to_string(places[0].data("admin.token")).unwrap().trim().to_owned();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let api = |servers: &[Option<ServerProcess>; 2], n: usize| {
        let url = servers[n].as_ref().unwrap().url.clone();
        ServerUnderTest { http: Client::new(), url, token: token.clone() }
    };
    let mut asked = BTreeMap::new();
    for round in 0..4 {
        let stops = round % 2;
        let slow = json!({
            "system": "greeter", "kind": "latency", "latency_ms": LATENCY_MS, "method": "POST", "times": CALLS,
        });
        sandbox.arm(&slow);
        for number in 0..CALLS {
            let key = format!("{round}-{number}");
            let id = runtime.block_on(api(&servers, stops).submit(&key, &json!({"name": key}))).unwrap();
            asked.insert(key, KeyUse { id, fails: false });
        }
        sandbox.wait_for_the_fault();
        let server = servers[stops].take().unwrap();
        server.going.signal(Signal::TERM);
        let ended = server.going.end();
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        assert!(!ended.err.contains("another node owns it"), "{}", ended.err);
        servers[stops] = start(stops);
    }
    runtime.block_on(async {
        let api = api(&servers, 0);
        until_over(&api).await;
        everything(&api, &sandbox.url, &asked).await;
    });
    let summary = call(Method::GET, &format!("{}/ledger/summary", sandbox.url), None);
    assert_eq!(summary["greeter/greet"]["repeats"], 0, "{summary}");
}
