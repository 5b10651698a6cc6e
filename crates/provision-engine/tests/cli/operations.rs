//! One server and everything that can be asked of it.

use serde_json::Value;

use crate::stage::{DataDirectory, Sandbox};

#[test]
fn an_operation_is_submitted_watched_explained_and_listed() {
    let place = DataDirectory::new();
    let _server = place.serve(&["--sandbox"]);

    let submitted = place.expect(0, &["operations", "submit", "demo.hello", "--param", "name=Ada"]);
    let id = submitted.out.trim();
    assert_eq!(id.len(), 36, "{submitted:?}");
    assert!(submitted.err.contains(&format!("operations watch {id}")), "{submitted:?}");

    let watched = place.expect(0, &["operations", "watch", id]);
    assert!(watched.out.lines().last().unwrap().ends_with("it succeeded"), "{watched:?}");
    let events = place.expect(0, &["operations", "watch", id, "-o", "json"]).out;
    let events: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (&events[0]["kind"], &events.last().unwrap()["kind"]),
        (&"created".into(), &"finished".into())
    );
    let journal = place.json(&["operations", "journal", id]);
    assert_eq!(journal["items"].as_array().unwrap(), &events);

    let shown = place.json(&["operations", "show", id]);
    assert_eq!((&shown["phase"], &shown["params"]["name"]), (&"succeeded".into(), &"Ada".into()));
    let text = place.expect(0, &["operations", "show", id]).out;
    assert!(text.contains("write_letter  done"), "{text}");
    assert_eq!(place.json(&["explain", id])["phase"], "succeeded");
    assert!(place.expect(0, &["explain", id]).out.contains("phase"), "for people");

    let listed = place.json(&["operations", "list", "--phase", "succeeded,failed", "--since", "1h"]);
    assert_eq!(listed["items"][0]["id"], id);
    let yaml = place.expect(0, &["operations", "list", "-o", "yaml"]).out;
    assert_eq!(serde_saphyr::from_str::<Value>(&yaml).unwrap(), listed);
    assert_eq!(place.expect(0, &["operations", "list", "-o", "name"]).out.trim(), id);
    assert!(place.expect(0, &["operations", "list", "-o", "wide"]).out.contains("TENANT"));
    assert_eq!(place.json(&["operations", "list", "--phase", "stuck"])["items"], Value::Array(vec![]));
}

#[test]
fn a_wait_tells_success_failure_and_the_end_of_patience_apart() {
    let place = DataDirectory::new();
    let _server = place.serve(&["--sandbox"]);
    let submit = ["operations", "submit", "demo.hello", "--wait"];

    let good = place.expect(0, &submit);
    assert!(good.err.contains("succeeded"), "{good:?}");
    assert_eq!(place.json(&submit)["phase"], "succeeded");
    let bad = place.expect(3, &[&submit[..], &["--param", "fail=true"]].concat());
    assert!(bad.err.contains("undone: the params asked for a failure"), "{bad:?}");
    let slow = place.expect(4, &[&submit[..], &["--param", "wait_ms=600000", "--timeout", "300ms"]].concat());
    assert!(slow.err.contains("is still") && slow.err.contains("operations watch"), "{slow:?}");
    let id = slow.out.trim();
    place.expect(4, &["operations", "watch", id, "--timeout", "200ms"]);

    let bad = place.expect(3, &["operations", "submit", "demo.hello", "--param", "fail=true", "--watch"]);
    assert!(bad.out.lines().last().unwrap().contains("undone"), "{bad:?}");
    place.expect(3, &["operations", "watch", &place.submit(&["--param", "fail=true"])]);
}

#[test]
fn an_operation_is_paused_resumed_cancelled_and_retried() {
    let place = DataDirectory::new();
    let _server = place.serve(&["--sandbox"]);
    let id = place.submit(&["--param", "wait_ms=600000"]);
    place.wait_for_phase(&id, "waiting");
    let explained = place.expect(0, &["explain", &id]).out;
    assert!(explained.contains("rest") && explained.contains("operations cancel"), "{explained}");

    let paused = place.json(&["operations", "pause", &id, "--reason", "a break", "--wait"]);
    assert_eq!(paused["items"][0]["phase"], "paused");
    place.expect(4, &["operations", "resume", &id, "--wait", "--timeout", "200ms"]);
    place.wait_for_phase(&id, "waiting");
    let cancelled = place.expect(0, &["operations", "cancel", &id, "--reason", "too long", "--wait"]);
    assert!(cancelled.out.contains("cancelled"), "{cancelled:?}");
    assert!(place.expect(0, &["operations", "journal", &id]).out.contains("too long"));

    let refused = place.expect(5, &["operations", "cancel", &id]);
    assert!(refused.out.is_empty(), "{refused:?}");
    for part in ["cannot be asked to cancel", "code: not-now", "fix: "] {
        assert!(refused.err.contains(part), "{part}: {refused:?}");
    }
    let undone = place.submit(&["--param", "fail=true"]);
    place.wait_for_phase(&undone, "undone");
    let shown = place.expect(0, &["operations", "show", &undone]).out;
    assert!(shown.contains("not run") && !shown.contains("pending"), "no step is still to come: {shown}");
    place.wait_for_phase(&undone, "undone");
    let retried = place.expect(3, &["operations", "retry", &undone, "--wait"]);
    assert!(retried.err.contains("is undone"), "{retried:?}");
    // One that refuses does not keep the others from being asked.
    let other = place.submit(&["--param", "wait_ms=600000"]);
    place.expect(5, &["operations", "cancel", &id, &other, "--wait"]);
    assert_eq!(place.phase(&other), "cancelled");
    let signalled = place.json(&["operations", "signal", "unknown/waits", "--payload", r#"{"a": 1}"#]);
    assert_eq!(signalled["woke"], 0);
}

#[test]
fn a_busy_resource_is_a_conflict_unless_it_may_queue() {
    let place = DataDirectory::new();
    let _server = place.serve(&["--sandbox"]);
    let first = place.submit(&["--param", "wait_ms=600000", "--resource", "letter/1"]);
    let submit = ["operations", "submit", "demo.hello", "--resource", "letter/1"];
    let refused = place.expect(5, &submit);
    assert!(refused.err.contains("code: resource-busy") && refused.err.contains(&first), "{refused:?}");
    let queued = place.expect(0, &[&submit[..], &["--queue", "-o", "name"]].concat()).out;
    let shown = place.expect(0, &["operations", "show", queued.trim()]).out;
    assert!(shown.contains("pending") && !shown.contains("running"), "no step runs yet: {shown}");
    let journal = place.expect(0, &["operations", "journal", queued.trim()]).out;
    assert!(journal.contains("the first step is greet") && !journal.contains("starts"), "{journal}");
    place.expect(0, &["operations", "cancel", &first, "--wait"]);
    place.wait_for_phase(queued.trim(), "succeeded");
}

#[test]
fn the_same_key_means_the_same_operation() {
    let place = DataDirectory::new();
    let _server = place.serve(&["--sandbox"]);
    let first = place.submit(&["--idempotency-key", "k1"]);
    assert_eq!(place.submit(&["--idempotency-key", "k1"]), first);
    let reused = ["operations", "submit", "demo.hello", "--param", "name=Bob", "--idempotency-key", "k1"];
    assert!(place.expect(1, &reused).err.contains("code: idempotency-key-reused"));
    assert_ne!(place.submit(&[]), place.submit(&[]));
}

#[test]
fn what_is_wrong_with_a_submit_is_said() {
    let place = DataDirectory::new();
    let _server = place.serve(&["--sandbox"]);
    let submit = |code, more: &[&str]| place.expect(code, &[&["ops", "submit"], more].concat()).err;
    assert!(submit(1, &["no.such"]).contains("known are demo.hello"));
    assert!(submit(2, &["demo.hello", "--param", "nam=1"]).contains("did you mean name?"));
    assert!(submit(1, &["demo.hello", "--params", r#"{"nam": 1}"#]).contains("nam"));
    assert!(submit(2, &["demo.hello", "--params", "{"]).contains("is not JSON"));
    for missing in ["@none", "none"] {
        assert!(submit(1, &["demo.hello", "--params", missing]).contains("cannot read none"));
    }
    assert!(submit(2, &["demo.hello", "--param", "x"]).contains("KEY=VALUE"));
    assert!(submit(2, &["demo.hello", "--count", "0"]).contains("0 is not in 1.."));
    let unknown = "00000000-0000-7000-8000-000000000000";
    assert!(place.expect(1, &["operations", "show", unknown]).err.contains("code: operation-not-found"));
    place.write("params.json", r#"{"name": "Grace"}"#);
    let id = place.submit(&["--params", "params.json", "--tenant", "t1"]);
    let shown = place.json(&["operations", "show", &id]);
    assert_eq!((&shown["params"]["name"], &shown["tenant"]), (&"Grace".into(), &"t1".into()));
}

#[test]
fn many_are_submitted_at_once_and_counted_by_their_ends() {
    let place = DataDirectory::new();
    let sandbox = Sandbox::start(&place);
    let _server = place.serve(&["--sandbox-url", &sandbox.url]);
    let submit = ["operations", "submit", "demo.hello", "--count", "300"];
    let done = place.json(&[&submit[..], &["--wait"]].concat());
    assert_eq!((&done["submitted"], &done["phases"]["succeeded"]), (&300.into(), &300.into()));
    assert_eq!(sandbox.standing(), 300);
    let table = place.expect(3, &[&submit[..], &["--wait", "--param", "fail=true"]].concat());
    assert_eq!(table.out, "PHASE   COUNT\nundone    300\n");
    assert_eq!(sandbox.standing(), 300);
    let keyed = [&submit[..], &["--idempotency-key", "batch", "-o", "name"]].concat();
    let ids = place.expect(0, &keyed).out;
    assert_eq!(ids.lines().count(), 300);
    assert_eq!(place.expect(0, &keyed).out, ids, "the same keys mean the same operations, in order");
    place.expect(4, &[&submit[..], &["--wait", "--param", "wait_ms=600000", "--timeout", "1s"]].concat());
    let more = place.expect(0, &["operations", "list", "--limit", "10", "-o", "name"]);
    assert_eq!(more.out.lines().count(), 10);
    assert!(more.err.contains("--all"), "{more:?}");
    assert_eq!(place.expect(0, &["operations", "list", "--all", "-o", "name"]).out.lines().count(), 1200);
    assert_eq!(sandbox.stop().code, Some(0));
}
