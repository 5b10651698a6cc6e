//! Kills right before and right after every single save. The process is this test again, with the store, the
//! engine, the workflows and the drivers of the real program, and a store that ends it with SIGKILL.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::time::Duration;

use ::greeter::{Greeter, HttpGreeter};
use ::opennebula::OpenNebulaOptions;
use ::runtimes::Clients;
use ::runtimes::model::RuntimesSettings;
use ::serverless::model::{Serverless, ServerlessSettings};
use engine::store::{OperationQuery, Store};
use engine::{NodeId, OperationId, Phase, WallClock};
use serde_json::{Value, json};
use store::{PostgresStore, SqliteStore};
use testing::{Death, DyingStore, TestEngine};

use super::durable_postgres;
use crate::stage::{DataDirectory, Sandbox, call};

const SCRIPT: &str = "TEST_KILLS_SCRIPT";

/// More saves than any of the scripts makes.
const SAVES_MAX: u64 = 100;

/// What a process does until it is killed, and what must be true after another one has done the rest.
pub(super) struct Drama {
    /// The test that plays it.
    pub(super) player: &'static str,
    pub(super) kills_min: u64,
    /// Looks at the world of the script.
    pub(super) judge: fn(&Value),
}

const GREETINGS: Drama = Drama {
    player: "kills::boundaries::the_process_that_is_killed",
    kills_min: 16,
    judge: greetings_are_right,
};

#[test]
fn a_kill_at_any_save_on_sqlite_loses_and_doubles_nothing() {
    GREETINGS.on_sqlite();
}

#[test]
fn a_kill_at_any_save_on_postgres_loses_and_doubles_nothing() {
    GREETINGS.on_postgres();
}

impl Drama {
    pub(super) fn on_sqlite(&self) {
        let place = DataDirectory::new();
        let database = |number| json!({"sqlite": place.path(&format!("engine-{number}.db"))});
        testing::count("kills", self.at_every_save(&place, database));
    }

    pub(super) fn on_postgres(&self) {
        let place = DataDirectory::new();
        let postgres = durable_postgres();
        let database = |number| {
            let database = format!("kills_{number}");
            postgres.create_database(&database).unwrap();
            json!({"postgres": postgres.url(&database)})
        };
        testing::count("kills", self.at_every_save(&place, database));
    }

    /// Plays the script once for every save and side of it, each time on a database of its own.
    fn at_every_save(&self, place: &DataDirectory, database: impl Fn(u64) -> Value) -> u64 {
        let sandbox = Sandbox::start(place);
        for number in 0..SAVES_MAX * 2 {
            let mut script = database(number);
            script["number"] = json!(number);
            script["node"] = json!(place.path("node"));
            script["sandbox"] = json!(sandbox.url);
            script["at"] = json!(number / 2);
            script["side"] = json!(if number % 2 == 0 { "before" } else { "after" });
            let _ = fs::remove_file(place.path("node"));
            call(reqwest::Method::DELETE, &format!("{}/ledger", sandbox.url), None);
            let died = !self.play(&script).success();
            script["side"] = json!("never");
            assert!(self.play(&script).success(), "the second process did not finish after {script}");
            (self.judge)(&script);
            if !died {
                // Every number before this one was a kill.
                assert!(number >= self.kills_min, "only {number} kills: too few to prove anything");
                return number;
            }
        }
        panic!("the script makes more than {SAVES_MAX} saves");
    }

    fn play(&self, script: &Value) -> ExitStatus {
        let mut again = Command::new(std::env::current_exe().unwrap());
        again.args([self.player, "--exact", "--nocapture"]);
        again.env(SCRIPT, script.to_string()).output().unwrap().status
    }
}

/// What a process that is killed looks at first. Nothing when this is no such process.
pub(super) fn script() -> Option<Value> {
    Some(serde_json::from_str(&std::env::var(SCRIPT).ok()?).unwrap())
}

/// An engine that dies as the script says.
pub(super) struct Life {
    pub(super) truth: Arc<dyn Store>,
    pub(super) fixture: TestEngine,
}

/// Where `demo.hello` asks.
pub(crate) fn greeter(sandbox: &str, timeout: Duration) -> Arc<dyn Greeter> {
    Arc::new(HttpGreeter::new(sandbox, timeout).unwrap())
}

impl Life {
    pub(super) async fn begin(script: &Value) -> Life {
        let truth: Arc<dyn Store> = match script["postgres"].as_str() {
            Some(url) => PostgresStore::connect(url, 2).await.unwrap(),
            None => SqliteStore::open(script["sqlite"].as_str().unwrap()).unwrap(),
        };
        let at = script["at"].as_u64().unwrap();
        let death = match script["side"].as_str().unwrap() {
            "before" => Death::Before(at),
            "after" => Death::After(at),
            _ => Death::Never,
        };
        let store = Arc::new(DyingStore::new(Arc::clone(&truth), death).with_last_words(die));
        let (sandbox, timeout) = (script["sandbox"].as_str().unwrap(), Duration::from_secs(5));
        let brief = Duration::from_millis(20);
        let runtimes = RuntimesSettings { poll_max: brief, settle: brief, ..RuntimesSettings::default() };
        let clients = Clients::at(sandbox, timeout, runtimes, Arc::clone(&store) as Arc<_>).unwrap();
        // A process dies at a save and never in a call, so nothing is on its way when it is gone.
        let settings = ServerlessSettings { settle: brief, ..ServerlessSettings::default() };
        let nebula = OpenNebulaOptions { timeout, ..OpenNebulaOptions::beside(sandbox) };
        let serverless = Arc::new(Serverless::new(&nebula, settings).unwrap());
        let builder = TestEngine::plan(store, Arc::new(WallClock));
        let builder = ::demo::workflows::register(builder, &greeter(sandbox, timeout));
        let builder = ::runtimes::workflows::register(builder, &clients);
        let builder = ::serverless::workflows::register(builder, &serverless);
        let node_file = Path::new(script["node"].as_str().unwrap());
        let previous = fs::read_to_string(node_file).ok().and_then(|id| id.parse::<NodeId>().ok());
        let fixture = TestEngine::open(builder, previous).await;
        fs::write(node_file, fixture.node.to_string()).unwrap();
        Life { truth, fixture }
    }

    /// Waits for the end of an operation, and looks for gaps in its journal.
    pub(super) async fn ends(&self, id: OperationId, phase: Phase) {
        let ended = self.fixture.finished(id).await;
        assert_eq!(ended.shown.summary.phase, phase, "{:?}", ended.memory.last_error);
        let seqs: Vec<u32> = self.fixture.journal(id).await.iter().map(|event| event.seq).collect();
        assert!(seqs.iter().copied().eq(1..=u32::try_from(seqs.len()).unwrap()), "{id}: {seqs:?}");
    }

    pub(super) async fn close(self, operations: usize) {
        let all = self.truth.list(&OperationQuery { limit: 10, ..OperationQuery::default() }).await.unwrap();
        assert_eq!(all.len(), operations, "{all:?}");
        self.fixture.close().await;
    }
}

pub(super) fn block_on(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.unwrap().block_on(work);
}

/// Not a test of its own: what the tests above start, and kill.
#[test]
fn the_process_that_is_killed() {
    let Some(script) = script() else { return };
    block_on(async {
        let life = Life::begin(&script).await;
        for (key, params, phase) in [
            ("one", json!({"name": "one", "wait_ms": 5}), Phase::Succeeded),
            ("two", json!({"name": "two", "wait_ms": 1, "fail": true}), Phase::Undone),
            ("three", json!({"name": "three"}), Phase::Succeeded),
        ] {
            let command = engine::Command {
                name: None,
                workflow: "demo.hello".into(),
                tenant: "kills".into(),
                resource: Some(format!("resource-{key}")),
                params,
                by: "kills".into(),
                idempotency_key: Some(key.into()),
                queue: false,
            };
            let id = life.fixture.engine.submit_json(command).await.unwrap().id;
            life.ends(id, phase).await;
        }
        life.close(3).await;
    });
}

fn greetings_are_right(script: &Value) {
    let url = format!("{}/ledger?all=true", script["sandbox"].as_str().unwrap());
    let ledger = call(reqwest::Method::GET, &url, None);
    let effects = ledger["effects"].as_array().unwrap();
    assert_eq!(effects.len(), 3, "each of the three greeted exactly once after {script}: {ledger}");
    let standing = effects.iter().filter(|effect| effect["taken_back_at"].is_null()).count();
    assert_eq!(standing, 2, "the failing one was taken back after {script}: {ledger}");
}

pub(super) fn die() {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    // The signal is on its way; nothing else may happen in the meantime.
    loop {
        std::thread::park();
    }
}
