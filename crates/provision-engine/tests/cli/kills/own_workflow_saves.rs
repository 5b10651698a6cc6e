//! A kill right before and right after every save of a workflow whose steps are in Python. The process is this test
//! again, with the store, the engine and the client of the real program.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use declared::{Declaration, Front, Reach, StepClient, compile};
use engine::store::Store;
use engine::{NodeId, Phase, WallClock};
use serde_json::{Value, json};
use store::{PostgresStore, SqliteStore};
use testing::{Death, DyingStore, TestEngine};

use super::boundaries::{block_on, die, script};
use super::durable_postgres;
use super::own_workflow::{SECRET, declaration, start_service};
use crate::own_workflow::free_port;
use crate::stage::{DataDirectory, until};

const SAVES_MAX: u64 = 100;
const KILLS_MIN: u64 = 16;
const PLAYER: &str = "kills::own_workflow_saves::the_process_that_is_killed";

#[test]
fn a_kill_at_any_save_on_sqlite_leaves_one_effect_per_success_and_none_after_undo() {
    let place = DataDirectory::new();
    let database = |number| json!({"sqlite": place.path(&format!("engine-{number}.db"))});
    at_every_save(&place, database);
}

#[test]
fn a_kill_at_any_save_on_postgres_leaves_one_effect_per_success_and_none_after_undo() {
    let place = DataDirectory::new();
    let postgres = durable_postgres();
    let database = |number| {
        let database = format!("kills_{number}");
        postgres.create_database(&database).unwrap();
        json!({"postgres": postgres.url(&database)})
    };
    at_every_save(&place, database);
}

/// Plays the script once for every save and side of it, each time on a database of its own.
fn at_every_save(place: &DataDirectory, database: impl Fn(u64) -> Value) {
    let port = free_port();
    place.write("acme.secret", &format!("{SECRET}\n"));
    place.write("acme.yaml", &declaration(port));
    let service = start_service(place, port);
    until("the service", || service.out().contains("http://").then_some(()));
    for number in 0..SAVES_MAX * 2 {
        let mut script = database(number);
        script["node"] = json!(place.path("node"));
        script["declaration"] = json!(place.path("acme.yaml"));
        script["at"] = json!(number / 2);
        script["side"] = json!(if number % 2 == 0 { "before" } else { "after" });
        let _ = fs::remove_file(place.path("node"));
        let before = effects(place).len();
        let died = !play(&script);
        script["side"] = json!("never");
        assert!(play(&script), "the second process did not finish after {script}");
        let made = &effects(place)[before..];
        let expected = ["made", "made", "made", "made", "removed", "removed"];
        assert_eq!(
            made, expected,
            "two made by the first, and by the second, which was undone, after {script}"
        );
        if !died {
            assert!(number >= KILLS_MIN, "only {number} kills: too few to prove anything");
            testing::count("kills", number);
            return;
        }
    }
    panic!("the script makes more than {SAVES_MAX} saves");
}

fn effects(place: &DataDirectory) -> Vec<String> {
    let text = fs::read_to_string(place.path("ledger.jsonl")).unwrap_or_default();
    let effect =
        |line: &str| serde_json::from_str::<Value>(line).unwrap()["effect"].as_str().unwrap().to_owned();
    text.lines().map(effect).collect()
}

/// Whether the process ended well.
fn play(script: &Value) -> bool {
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args([PLAYER, "--exact", "--nocapture"]).env("TEST_KILLS_SCRIPT", script.to_string());
    again.output().unwrap().status.success()
}

/// An engine that dies as the script says.
async fn open(script: &Value) -> TestEngine {
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
    let store = Arc::new(DyingStore::new(truth, death).with_last_words(die));
    let text = fs::read_to_string(script["declaration"].as_str().unwrap()).unwrap();
    let declaration = Declaration::parse(&text, Reach::default()).unwrap_or_else(|wrong| panic!("{wrong}"));
    let front = Front::new(StepClient::new(Reach::default()).unwrap());
    let plan = compile(declaration, 1, &front, SECRET.into());
    let node_file = Path::new(script["node"].as_str().unwrap());
    let previous = fs::read_to_string(node_file).ok().and_then(|id| id.parse::<NodeId>().ok());
    let fixture =
        TestEngine::open(TestEngine::plan(store, Arc::new(WallClock)).workflow(plan), previous).await;
    fs::write(node_file, fixture.node.to_string()).unwrap();
    fixture
}

/// Not a test of its own: what the tests above start, and kill.
#[test]
fn the_process_that_is_killed() {
    let Some(script) = script() else { return };
    block_on(async {
        let fixture = open(&script).await;
        for (key, is_broken, phase) in [("one", false, Phase::Succeeded), ("two", true, Phase::Undone)] {
            let command = engine::Command {
                name: None,
                workflow: "acme.database".into(),
                tenant: "kills".into(),
                resource: None,
                params: json!({"team": "red", "broken": is_broken}),
                by: "kills".into(),
                idempotency_key: Some(key.into()),
                queue: false,
            };
            let id = fixture.engine.submit_json(command).await.unwrap().id;
            let ended = fixture.finished(id).await;
            assert_eq!(ended.shown.summary.phase, phase, "{:?}", ended.memory.last_error);
        }
        fixture.close().await;
    });
}
