//! How a server starts, what it refuses, and how it stops.

use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use serde_json::json;

use crate::stage::{DataDirectory, Sandbox, until};

#[test]
fn a_first_start_makes_everything_private_and_says_where_it_is() {
    let place = DataDirectory::new();
    let server = place.serve(&["--sandbox"]);
    let said = server.going.err();
    for part in [server.url.as_str(), "admin.token (new)", "engine.db", "ledger"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let mode = |name: &str| std::fs::metadata(place.data(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(std::fs::metadata(place.path("data")).unwrap().permissions().mode() & 0o777, 0o700);
    for file in ["admin.token", "console-password", "keys.json", "engine.db", "node"] {
        assert_eq!(mode(file), 0o600, "{file}");
    }
    let node = std::fs::read_to_string(place.data("node")).unwrap();
    let token = std::fs::read_to_string(place.data("admin.token")).unwrap();
    let ended = server.stop();
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), ""));
    assert!(!place.data("provision-engine.pid").exists());

    let server = place.serve(&[]);
    assert_ne!(std::fs::read_to_string(place.data("node")).unwrap(), node, "a new run is a new node");
    assert_eq!(std::fs::read_to_string(place.data("admin.token")).unwrap(), token);
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn a_second_server_on_the_same_directory_is_refused() {
    let place = DataDirectory::new();
    let server = place.serve(&[]);
    let refused = place.expect(1, &["serve", "--listen", "127.0.0.1:0"]);
    let pid = format!("another provision-engine (pid {})", server.going.pid());
    assert!(refused.err.contains(&pid), "{refused:?}");
    assert!(place.expect(1, &["migrate"]).err.contains("another process uses"));
    let checked = place.expect(0, &["check", "--against-db"]);
    assert!(checked.err.contains("all 0 unfinished"), "it only reads: {checked:?}");
}

#[test]
fn an_address_that_is_taken_is_an_error() {
    let place = DataDirectory::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let refused = place.expect(1, &["serve", "--listen", &address]);
    assert!(refused.err.contains(&format!("cannot listen on {address}")), "{refused:?}");
    assert!(place.expect(1, &["serve", "--database-url", "mysql://x"]).err.contains("expected postgres://"));
    let outside = place.expect(1, &["sandbox", "--listen", "0.0.0.0:0"]);
    assert!(outside.err.contains("only listens on loopback"), "{outside:?}");
}

#[test]
fn without_a_greeter_an_operation_fails_and_says_what_is_missing() {
    let place = DataDirectory::new().env("PROVISION_ENGINE_SANDBOX__ENABLED", "false");
    let server = place.serve(&[]);
    let failed = place.expect(3, &["operations", "submit", "demo.hello", "--wait"]);
    assert!(failed.err.contains("no greeter configured: set drivers.greeter.url"), "{failed:?}");
    assert!(server.going.err().contains("try --sandbox"));
}

#[test]
fn with_no_configuration_at_all_the_demonstration_works() {
    let place = DataDirectory::new();
    let server = place.serve(&[]);
    assert!(server.going.err().contains("(in this process;"), "{}", server.going.err());
    place.expect(0, &["operations", "submit", "demo.hello", "--wait"]);
    let id = place.submit(&["--param", "wait_ms=600000"]);
    place.wait_for_phase(&id, "waiting");
    assert!(place.expect(0, &["explain", &id]).out.contains("waiting for 600000 ms"));
    place.expect(0, &["operations", "cancel", &id, "--wait"]);
    assert_eq!(place.phase(&id), "cancelled");
    let ended = server.stop();
    assert!(!ended.err.contains("WARN"), "the sandbox outlives its clients: {}", ended.err);
}

#[test]
fn the_console_is_announced_where_browsers_find_it() {
    let place = DataDirectory::new();
    let place = place.env("PROVISION_ENGINE_CONSOLE__PUBLIC_URL", "https://example.com/engine/");
    let server = place.serve(&["--sandbox"]);
    let said = server.going.err();
    assert!(said.contains("console         https://example.com/engine/ ("), "{said}");
}

#[test]
fn a_graceful_stop_lets_a_step_finish_and_a_second_signal_does_not() {
    let place = DataDirectory::new();
    let sandbox = Sandbox::start(&place);
    let slow =
        json!({"system": "greeter", "kind": "latency", "latency_ms": 4000, "times": 1, "method": "POST"});
    sandbox.arm(&slow);
    let server = place.serve(&["--sandbox-url", &sandbox.url]);
    let id = place.submit(&[]);
    place.wait_for_phase(&id, "running");
    let ended = server.stop();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(sandbox.standing(), 1, "the call under way was finished");

    let server = place.serve(&["--sandbox-url", &sandbox.url]);
    place.wait_for_phase(&id, "succeeded");
    sandbox.arm(&json!({"system": "greeter", "kind": "latency", "latency_ms": 8000, "times": 1}));
    let id = place.submit(&[]);
    place.wait_for_phase(&id, "running");
    server.going.signal(Signal::TERM);
    until("the news of the stop", || server.going.err().contains("stopping").then_some(()));
    server.going.signal(Signal::INT);
    assert_eq!(server.going.end().code, Some(1));

    let _server = place.serve(&["--sandbox-url", &sandbox.url]);
    place.wait_for_phase(&id, "succeeded");
    assert_eq!(sandbox.standing(), 2, "what was cut off was done once");
}

#[test]
fn what_an_upgrade_cannot_finish_is_found_before_it() {
    let place = DataDirectory::new();
    let made = place.expect(0, &["migrate"]);
    assert!(made.err.contains("made ") && made.err.contains("engine.db"), "{made:?}");
    assert!(place.expect(0, &["migrate"]).err.contains("is up to date"));
    let server = place.serve(&["--sandbox"]);
    let id = place.submit(&["--param", "wait_ms=600000"]);
    place.wait_for_phase(&id, "waiting");
    assert_eq!(server.stop().code, Some(0));

    let good = place.expect(0, &["check", "--against-db"]);
    assert!(good.err.contains("all 1 unfinished"), "{good:?}");
    let db = rusqlite::Connection::open(place.data("engine.db")).unwrap();
    assert_eq!(db.execute("update operations set workflow = 'gone.away'", []).unwrap(), 1);
    drop(db);
    let found = place.expect(7, &["check", "--against-db", "-o", "json"]);
    let report: serde_json::Value = serde_json::from_str(&found.out).unwrap();
    assert_eq!((&report["unfinished"], &report["items"][0]["operation"]), (&1.into(), &id.into()));
    let table = place.expect(7, &["check", "--against-db"]).out;
    assert!(table.contains("this release has no workflow gone.away"), "{table}");
    place.expect(2, &["check"]);
}
