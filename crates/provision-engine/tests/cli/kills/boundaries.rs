//! Kills right before and right after every single save. The process is this test again, with the store, the
//! engine, the workflow and the driver of the real program, and a store that ends it with SIGKILL.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::time::Duration;

use drivers::greeter::HttpGreeter;
use engine::store::{Query, Store};
use engine::{NodeId, Phase, WallClock};
use serde_json::{Value, json};
use store::{PostgresStore, SqliteStore};
use testing::{Death, DyingStore, House};
use workflows::Drivers;

use super::durable_postgres;
use crate::stage::{Place, Sandbox, call};

const SCRIPT: &str = "TEST_KILLS_SCRIPT";

/// More saves than the three operations below ever make.
const SAVES_MAX: u64 = 100;

#[test]
fn a_kill_at_any_save_on_sqlite_loses_and_doubles_nothing() {
    let place = Place::new();
    let kills = at_every_save(
        &place,
        |number| json!({"sqlite": place.path(&format!("engine-{number}.db")), "node": place.path("node")}),
    );
    testing::count("kills", kills);
}

#[test]
fn a_kill_at_any_save_on_postgres_loses_and_doubles_nothing() {
    let place = Place::new();
    let postgres = durable_postgres();
    let kills = at_every_save(&place, |number| {
        let database = format!("kills_{number}");
        postgres.create_database(&database).unwrap();
        json!({"postgres": postgres.url(&database), "node": place.path("node")})
    });
    testing::count("kills", kills);
}

/// Runs the script once for every save and side of it, each time on a database of its own.
fn at_every_save(place: &Place, database: impl Fn(u64) -> Value) -> u64 {
    let sandbox = Sandbox::start(place);
    for number in 0..SAVES_MAX * 2 {
        let mut script = database(number);
        script["sandbox"] = json!(sandbox.url);
        script["at"] = json!(number / 2);
        script["side"] = json!(if number % 2 == 0 { "before" } else { "after" });
        let _ = fs::remove_file(place.path("node"));
        call(reqwest::Method::DELETE, &format!("{}/ledger", sandbox.url), None);
        let died = !play(&script).success();
        script["side"] = json!("never");
        assert!(play(&script).success(), "the second process did not finish after {script}");
        let ledger = call(reqwest::Method::GET, &format!("{}/ledger?all=true", sandbox.url), None);
        let effects = ledger["effects"].as_array().unwrap();
        assert_eq!(effects.len(), 3, "each of the three greeted exactly once after {script}: {ledger}");
        let standing = effects.iter().filter(|effect| effect["taken_back_at"].is_null()).count();
        assert_eq!(standing, 2, "the failing one was taken back after {script}: {ledger}");
        if !died {
            // Every number before this one was a kill.
            assert!(number >= 16, "only {number} kills: the script is too short to prove anything");
            return number;
        }
    }
    panic!("the script makes more than {SAVES_MAX} saves");
}

fn play(script: &Value) -> ExitStatus {
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["kills::boundaries::the_process_that_is_killed", "--exact", "--nocapture"]);
    again.env(SCRIPT, script.to_string()).output().unwrap().status
}

/// Not a test of its own: what the tests above start, and kill.
#[test]
fn the_process_that_is_killed() {
    let Ok(script) = std::env::var(SCRIPT) else { return };
    let script: Value = serde_json::from_str(&script).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(live(&script));
}

async fn live(script: &Value) {
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
    let greeter = HttpGreeter::new(script["sandbox"].as_str().unwrap(), Duration::from_secs(5)).unwrap();
    let builder = House::plan(store, Arc::new(WallClock));
    let builder = workflows::register(builder, &Drivers { greeter: Arc::new(greeter) });
    let node_file = Path::new(script["node"].as_str().unwrap());
    let previous = fs::read_to_string(node_file).ok().and_then(|id| id.parse::<NodeId>().ok());
    let house = House::open(builder, previous).await;
    fs::write(node_file, house.node.to_string()).unwrap();
    for (key, params, phase) in [
        ("one", json!({"name": "one", "wait_ms": 5}), Phase::Succeeded),
        ("two", json!({"name": "two", "wait_ms": 1, "fail": true}), Phase::Undone),
        ("three", json!({"name": "three"}), Phase::Succeeded),
    ] {
        let command = engine::Command {
            workflow: "demo.hello".into(),
            tenant: "kills".into(),
            resource: Some(format!("resource-{key}")),
            params,
            by: "kills".into(),
            idempotency_key: Some(key.into()),
            queue: false,
        };
        let id = house.engine.submit(command).await.unwrap().id;
        assert_eq!(house.finished(id).await.shown.summary.phase, phase, "{key}");
        let seqs: Vec<u32> = house.journal(id).await.iter().map(|event| event.seq).collect();
        assert!(seqs.iter().copied().eq(1..=u32::try_from(seqs.len()).unwrap()), "{key}: {seqs:?}");
    }
    let all = truth.list(&Query { limit: 10, ..Query::default() }).await.unwrap();
    assert_eq!(all.len(), 3, "{all:?}");
    house.close().await;
}

fn die() {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    // The signal is on its way; nothing else may happen in the meantime.
    loop {
        std::thread::park();
    }
}
