//! The database goes away and comes back; the server says so, and nothing that it promised is lost.

use std::time::Duration;

use reqwest::Client;
use serde_json::json;

use super::check::ServerUnderTest;
use super::{durable_postgres, on};
use crate::stage::{Sandbox, until, until_or};

#[test]
fn a_database_that_crashes_again_and_again_costs_nothing_but_time() {
    let postgres = durable_postgres();
    postgres.create_database("engine").unwrap();
    let place = on(&postgres.url("engine"));
    let sandbox = Sandbox::start(&place);
    let server = place.serve(&["--sandbox-url", &sandbox.url, "--log-level", "error"]);
    let token = std::fs::read_to_string(place.data("admin.token")).unwrap().trim().to_owned();
    let http = Client::builder().timeout(Duration::from_secs(15)).build().unwrap();
    let api = ServerUnderTest { http: http.clone(), url: server.url.clone(), token };
    // Connections live on between the calls, so their runtime must too.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let ask = |path: &str| {
        let request = http.get(format!("{}{path}", server.url)).bearer_auth(&api.token);
        runtime.block_on(async { request.send().await }).unwrap()
    };
    let mut ids = Vec::new();
    for crash in 0..3 {
        for number in 0..20 {
            let key = format!("{crash}-{number}");
            let params = json!({"name": key, "wait_ms": 300});
            ids.push(runtime.block_on(api.submit(&key, &params)).expect("the database is there"));
        }
        postgres.stop_immediate().unwrap();
        until("the server to say that it is not ready", || (ask("/readyz").status() == 503).then_some(()));
        let refused = ask("/operations");
        assert_eq!(refused.status(), 503);
        assert!(refused.headers().contains_key("retry-after"));
        assert_eq!(refused.headers()["content-type"], "application/problem+json");
        assert_eq!(ask("/healthz").status(), 200, "the process itself is well");
        postgres.start_again().unwrap();
        until("the server to be ready again", || (ask("/readyz").status() == 200).then_some(()));
    }
    for id in &ids {
        let read = || runtime.block_on(api.get(&format!("/operations/{id}")));
        until_or(
            || (read()["phase"] == "succeeded").then_some(()),
            || format!("an operation did not end: {:#}", read()),
        );
    }
    assert_eq!(sandbox.standing(), ids.len() as u64);
    testing::count("kills", 3);
}
