//! A server that is stopped for longer than its lease, and goes on as if nothing had happened.

use std::time::Duration;

use reqwest::Client;
use rustix::process::Signal;
use serde_json::json;

use super::check::ServerUnderTest;
use super::{durable_postgres, on};
use crate::stage::{Sandbox, until, until_or};

#[test]
fn a_server_that_was_stopped_beyond_its_lease_is_refused_when_it_goes_on() {
    let postgres = durable_postgres();
    postgres.create_database("engine").unwrap();
    let quick = |name: &str| on(&postgres.url(name)).env("PROVISION_ENGINE_STORE__LEASE", "1s");
    let (place, other) = (quick("engine"), quick("engine"));
    let sandbox = Sandbox::start(&place);
    // The greeter holds the first call, so that the server is stopped in the middle of it.
    sandbox.arm(&json!({"system": "greeter", "kind": "hold", "method": "POST"}));
    let arguments = ["--sandbox-url", &sandbox.url, "--log-level", "info"];
    let zombie = place.serve(&arguments);
    let token = std::fs::read_to_string(place.data("admin.token")).unwrap().trim().to_owned();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let id = runtime.block_on(async {
        let api = ServerUnderTest { http: Client::new(), url: zombie.url.clone(), token: token.clone() };
        api.submit("zombie", &json!({"name": "zombie"})).await.unwrap()
    });
    sandbox.wait_for_the_fault();
    zombie.going.signal(Signal::STOP);
    let second = other.serve(&arguments);
    let api = ServerUnderTest { http: Client::new(), url: second.url.clone(), token };
    until("the other server to finish it", || {
        let op = runtime.block_on(api.get(&format!("/operations/{id}")));
        (op["phase"] == "succeeded").then_some(())
    });
    let before = runtime.block_on(api.get(&format!("/operations/{id}/journal")));
    sandbox.release();
    zombie.going.signal(Signal::CONT);
    // Its own clock says that the lease is over, or the database does, whichever it asks first.
    let has_let_go = || {
        let log = zombie.going.err();
        ["operation released: another node owns it", "operation suspended"]
            .iter()
            .any(|line| log.contains(line))
    };
    until_or(
        || has_let_go().then_some(()),
        || format!("the late server does not let go:\n{}", zombie.going.err()),
    );
    until("the late server to work again", || {
        let ready = runtime.block_on(async {
            Client::new().get(format!("{}/readyz", zombie.url)).timeout(Duration::from_secs(2)).send().await
        });
        ready.is_ok_and(|answer| answer.status() == 200).then_some(())
    });
    let after = runtime.block_on(api.get(&format!("/operations/{id}/journal")));
    assert_eq!(before, after, "the late server wrote into the journal");
    assert!(after.to_string().contains("adopted"), "{after}");
    assert_eq!(sandbox.standing(), 1);
    assert_eq!(zombie.stop().code, Some(0));
}
