//! What the command line makes of a server that dies and comes back.

use crate::stage::{DataDirectory, Sandbox, until};

const KILLS: usize = 5;

#[test]
fn a_bulk_submit_outlives_its_server_and_doubles_nothing() {
    let place = DataDirectory::new();
    let sandbox = Sandbox::start(&place);
    let serve = ["--sandbox-url", &sandbox.url, "--log-level", "warn"];
    let mut server = place.serve(&serve);
    let submit = ["operations", "submit", "demo.hello", "--count", "400", "--param", "wait_ms=200", "--wait"];
    let mut client = place.begin(&submit);
    for kill in 1..=KILLS as u64 {
        // Each time after some more of the work, so that every kill hits something.
        until("progress", || (client.status().is_some() || sandbox.standing() >= kill * 50).then_some(()));
        server.kill();
        server = place.serve(&serve);
    }
    let ended = client.end();
    assert_eq!(
        (ended.code, ended.out.as_str()),
        (Some(0), "PHASE      COUNT\nsucceeded    400\n"),
        "{}",
        ended.err
    );
    assert_eq!(sandbox.standing(), 400);
    assert_eq!(place.expect(0, &["operations", "list", "--all", "-o", "name"]).out.lines().count(), 400);
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn a_watcher_comes_back_and_shows_every_event_once() {
    let place = DataDirectory::new();
    let sandbox = Sandbox::start(&place);
    let server = place.serve(&["--sandbox-url", &sandbox.url]);
    let id = place.submit(&["--param", "wait_ms=4000"]);
    let watcher = place.begin(&["operations", "watch", &id, "-o", "json"]);
    until("the wait", || watcher.out().contains("\"waited\"").then_some(()));
    server.kill();
    let _server = place.serve(&["--sandbox-url", &sandbox.url]);
    let ended = watcher.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let seqs: Vec<u64> = ended
        .out
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["seq"].as_u64().unwrap())
        .collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    assert!(ended.err.contains("opening it again"), "{ended:?}");
}
