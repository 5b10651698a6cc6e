//! `start`, `stop`, `restart` and `status`, with real background processes.

use serde_json::{Value, json};

use crate::stage::{DataDirectory, Sandbox, call};

/// Stops what was started in the background, also when the test fails.
struct Background<'a>(&'a DataDirectory);

impl Drop for Background<'_> {
    fn drop(&mut self) {
        let _ = self.0.command(&["stop", "--timeout", "0s", "--force"]).output();
    }
}

fn status(place: &DataDirectory, code: i32) -> Value {
    serde_json::from_str(&place.expect(code, &["status", "-o", "json"]).out).unwrap()
}

#[test]
fn it_starts_once_tells_its_status_restarts_and_stops() {
    let place = DataDirectory::new();
    let _background = Background(&place);
    assert_eq!(status(&place, 3)["status"], "not_running");
    assert_eq!(place.expect(3, &["status"]).out, "not running\n");
    assert!(place.expect(0, &["stop"]).err.contains("not running"));

    let flags = ["--listen", "127.0.0.1:0", "--sandbox"];
    let started = place.expect(0, &[&["start"], &flags[..]].concat());
    assert!(started.err.starts_with("running (pid "), "{started:?}");
    let first = status(&place, 0);
    assert_eq!(first["status"], "running");
    assert!(place.expect(0, &["status"]).out.contains(first["url"].as_str().unwrap()));
    assert_eq!(
        call(reqwest::Method::GET, &format!("{}/readyz", first["url"].as_str().unwrap()), None)["status"],
        "ready"
    );
    place.expect(0, &["operations", "submit", "demo.hello", "--wait"]);
    assert!(place.expect(0, &[&["start"], &flags[..]].concat()).err.contains("already running"));

    place.expect(0, &[&["restart"], &flags[..]].concat());
    let second = status(&place, 0);
    assert_ne!(second["pid"], first["pid"]);
    place.expect(0, &["operations", "submit", "demo.hello", "--wait"]);
    assert_eq!(place.json(&["operations", "list"])["items"].as_array().unwrap().len(), 2);

    assert!(place.expect(0, &["stop"]).err.contains("stopped (pid "));
    assert_eq!(status(&place, 3)["status"], "not_running");
}

#[test]
fn a_start_that_fails_says_why_and_leaves_nothing_running() {
    let place = DataDirectory::new();
    let _background = Background(&place);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let failed = place.expect(1, &["start", "--listen", &taken.local_addr().unwrap().to_string()]);
    assert!(failed.err.contains("cannot listen on"), "{failed:?}");
    place.expect(3, &["status"]);
}

#[test]
fn what_does_not_stop_in_time_is_killed_only_when_asked() {
    let place = DataDirectory::new();
    let sandbox = Sandbox::start(&place);
    let _background = Background(&place);
    let start = ["start", "--listen", "127.0.0.1:0", "--sandbox-url", &sandbox.url];
    let hold = || {
        sandbox.arm(&json!({"system": "greeter", "kind": "latency", "latency_ms": 9000, "times": 1}));
        let id = place.submit(&[]);
        place.wait_for_phase(&id, "running");
        id
    };
    place.expect(0, &start);
    let first = hold();
    let slow = place.expect(1, &["stop", "--timeout", "100ms"]);
    assert!(slow.err.contains("still running after 100ms"), "{slow:?}");
    // The second signal is the one that does not wait.
    assert!(place.expect(0, &["stop"]).err.contains("stopped"));

    place.expect(0, &start);
    place.wait_for_phase(&first, "succeeded");
    let second = hold();
    assert!(place.expect(0, &["stop", "--timeout", "100ms", "--force"]).err.contains("killed"));
    assert_eq!(status(&place, 3)["status"], "stale");
    place.expect(0, &start);
    place.wait_for_phase(&second, "succeeded");
    assert_eq!(sandbox.standing(), 2, "nothing was lost and nothing was done twice");
}
