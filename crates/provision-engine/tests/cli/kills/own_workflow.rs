//! Kills of the server and of a service in Python, at random, while its workflow runs. The ledger of the service says
//! what happened: one effect for each success, and nothing after an undo.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rand::RngExt as _;
use serde_json::Value;

use crate::own_workflow::free_port;
use crate::stage::{DataDirectory, Going, ServerProcess, until};

const OPERATIONS: usize = 40;
const KILLS: usize = 40;
pub(super) const SECRET: &str = "0123456789abcdef0123456789abcdef";

fn sdk() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk")
}

/// `sdk/python/example.py` in a process of its own.
pub(super) fn start_service(place: &DataDirectory, port: u16) -> Going {
    let mut command = Command::new("python3");
    command.arg(sdk().join("python/example.py")).args(["--port", &port.to_string(), "--secret-file"]);
    command
        .arg(place.path("acme.secret"))
        .arg("--data")
        .arg(place.path(""))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    DataDirectory::spawn(command)
}

/// The declaration of the examples, with pauses that suit a test.
pub(super) fn declaration(port: u16) -> String {
    let text = fs::read_to_string(sdk().join("example.yaml")).unwrap();
    assert!(text.contains("127.0.0.1:8780") && text.contains("at_most: 5m}"));
    let retry = "retry: {within: 1h, first: 20ms, at_most: 200ms}";
    text.replace("127.0.0.1:8780", &format!("127.0.0.1:{port}"))
        .replace("retry: {within: 1h, first: 1s, at_most: 5m}", retry)
        .replace("url: reserve,", &format!("url: reserve, {retry},"))
        .replace("url: approve,", &format!("url: approve, {retry},"))
        .replace("url: check,", &format!("url: check, {retry},"))
}

struct Ordered {
    id: String,
    team: String,
    is_broken: bool,
}

/// A name of letters alone, as the schema wants it.
fn team(number: usize) -> String {
    number
        .to_string()
        .bytes()
        .fold("team".to_owned(), |name, digit| name + &char::from(digit - b'0' + b'a').to_string())
}

/// Submits while the service is away, so that every kill finds work.
fn order(place: &DataDirectory) -> Vec<Ordered> {
    let one = |number: usize| {
        let (team, is_broken) = (team(number), number % 3 == 2);
        let mut arguments = vec![
            "operations".to_owned(),
            "submit".into(),
            "acme.database".into(),
            "-o".into(),
            "name".into(),
        ];
        let mut param = |text: String| arguments.extend(["--param".to_owned(), text]);
        param(format!("team={team}"));
        param(format!("broken={is_broken}"));
        param("password=canary-7f3a".into());
        if number.is_multiple_of(5) {
            param("size=large".into());
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let id = place.expect(0, &arguments).out.trim().to_owned();
        if number.is_multiple_of(5) {
            // It is kept until the step waits for it.
            place.expect(0, &["operations", "signal", &id, "approved", "--payload", r#"{"by": "ann"}"#]);
        }
        Ordered { id, team, is_broken }
    };
    (0..OPERATIONS).map(one).collect()
}

#[test]
fn random_kills_of_server_and_service_leave_one_effect_per_success_and_none_after_undo() {
    let place = DataDirectory::new();
    let port = free_port();
    place.write("acme.secret", &format!("{SECRET}\n"));
    place.write("acme.yaml", &declaration(port));
    let serve = ["--log-level", "error"];
    let mut server: Option<ServerProcess> = Some(place.serve(&serve));
    place.expect(0, &["workflows", "apply", place.path("acme.yaml").to_str().unwrap()]);
    let ordered = order(&place);

    let mut service = start_service(&place, port);
    let mut dice = rand::rng();
    for _ in 0..KILLS {
        std::thread::sleep(Duration::from_millis(dice.random_range(0..150)));
        if dice.random_bool(0.6) {
            service.signal(rustix::process::Signal::KILL);
            service.end();
            service = start_service(&place, port);
        } else {
            server.take().unwrap().kill();
            server = Some(place.serve(&serve));
        }
    }
    testing::count("kills", KILLS as u64);

    for one in &ordered {
        let expected = if one.is_broken { "undone" } else { "succeeded" };
        let phase = until("the end of an operation", || {
            Some(place.phase(&one.id))
                .filter(|phase| ["succeeded", "undone", "failed", "stuck"].contains(&phase.as_str()))
        });
        assert_eq!(phase, expected, "{}", place.run(&["operations", "journal", &one.id]).out);
    }
    check_ledger(&place, &ordered);
    let database = fs::read(place.data("engine.db")).unwrap();
    assert!(
        !database.windows(11).any(|bytes| bytes == b"canary-7f3a"),
        "a secret param is in the database in clear"
    );
    assert_eq!(server.unwrap().stop().code, Some(0));
}

/// The effects of each key, in order.
fn check_ledger(place: &DataDirectory, ordered: &[Ordered]) {
    let text = fs::read_to_string(place.path("ledger.jsonl")).unwrap();
    let mut effects: BTreeMap<(String, String), Vec<(String, String)>> = BTreeMap::new();
    for line in text.lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        let field = |name: &str| entry[name].as_str().unwrap().to_owned();
        effects.entry((field("team"), field("kind"))).or_default().push((field("effect"), field("key")));
    }
    for one in ordered {
        for kind in ["name", "database"] {
            let found = effects.remove(&(one.team.clone(), kind.to_owned())).unwrap_or_default();
            let names: Vec<&str> = found.iter().map(|(effect, _)| effect.as_str()).collect();
            let expected: &[&str] = if one.is_broken { &["made", "removed"] } else { &["made"] };
            assert_eq!(names, expected, "{kind} of {}\n{text}", one.team);
            assert!(found.iter().all(|(_, key)| *key == found[0].1), "one key for run and undo\n{text}");
        }
    }
    assert!(effects.is_empty(), "effects that were not ordered: {effects:?}");
}
