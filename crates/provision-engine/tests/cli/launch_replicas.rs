//! Two servers on one database that launch together, and go on alone.

use reqwest::Method;
use serde_json::{Value, json};
use testing::private_postgres::{PrivatePostgres, PrivatePostgresOptions};
use uuid::Uuid;

use crate::kills::launch::pad::{ACCOUNT, Customer, LaunchEnd, Ticket, hurry, made, order, quick, stands};
use crate::serverless::at_sandbox;
use crate::stage::{DataDirectory, Sandbox, ServerProcess, until};

const TOPIC: &str = "image-builder.compose.status";
const HEARD: &str = "image event";

/// A database, and two places on it.
fn places() -> (PrivatePostgres, [DataDirectory; 2]) {
    let postgres = PrivatePostgres::start(&PrivatePostgresOptions::default()).unwrap();
    postgres.create_database("engine").unwrap();
    let place = || {
        quick()
            .env("PROVISION_ENGINE_STORE__DATABASE_URL", postgres.url("engine"))
            .env("PROVISION_ENGINE_STORE__LEASE", "1s")
    };
    let places = [place(), place()];
    (postgres, places)
}

fn serve(place: &DataDirectory, sandbox: &Sandbox) -> ServerProcess {
    place.serve(&["--sandbox-url", &sandbox.url, "--log-level", "debug"])
}

#[test]
fn a_launch_goes_on_at_the_other_server_when_one_dies() {
    let (_postgres, [place, other]) = places();
    let sandbox = Sandbox::start(&place);
    hurry(&sandbox.url);
    let first = serve(&place, &sandbox);
    let customer = Customer::of(&place, &first);
    sandbox.arm(&json!({
        "system": "ec2", "kind": "hold", "about": "UserData", "method": "POST",
    }));
    let ticket = customer.launch("one", &order("sandbox", ACCOUNT), LaunchEnd::Lucky);
    sandbox.wait_for_the_fault();
    let second = serve(&other, &sandbox);
    first.kill();
    sandbox.release();
    customer.goes_to(&second);
    customer.ended(&ticket);
    let journal = customer.get(&format!("/operations/{}/journal?limit=200", ticket.operation));
    assert!(journal.to_string().contains("adopted"), "{journal}");
    let counts = ["compose", "key_pair", "instance"].map(|kind| made(&sandbox.url, kind));
    assert_eq!(counts, [1, 1, 2], "made by two servers");
    testing::count("kills", 1);
}

#[test]
fn servers_share_the_events_about_images_and_one_of_them_hears_all_when_the_other_dies() {
    let (_postgres, [place, other]) = places();
    let sandbox = Sandbox::start(&place);
    hurry(&sandbox.url);
    let (first, second) = (serve(&place, &sandbox), serve(&other, &sandbox));
    at_sandbox(
        &sandbox.url,
        "PUT",
        "/image-builder/notify",
        Some(&json!({"callbacks": false, "events": true})),
    );
    until("both servers to hear something", || {
        of_no_use(&sandbox);
        let have_heard = [&first, &second].map(|server| server.going.err().contains(HEARD));
        (have_heard == [true, true]).then_some(())
    });

    let customer = Customer::of(&place, &first);
    at_sandbox(&sandbox.url, "POST", "/image-builder/faults/hold", Some(&json!({"times": 0})));
    let launch = |number: u32| {
        let mut order = order("sandbox", ACCOUNT);
        order["profile"] = json!("events");
        // Nothing polls within the time of this test.
        order["options"]["fallback_poll_s"] = json!(3600);
        customer.launch(&format!("launch-{number}"), &order, LaunchEnd::Lucky)
    };
    let tickets: Vec<Ticket> = (0..6).map(launch).collect();
    let composes = tickets.iter().map(|ticket| waiting(&customer, ticket)).collect::<Vec<_>>();
    let release = |compose: &String| {
        at_sandbox(&sandbox.url, "POST", &format!("/image-builder/composes/{compose}/release"), None);
    };
    composes[..3].iter().for_each(release);
    for ticket in &tickets[..3] {
        customer.ended(ticket);
    }
    first.kill();
    customer.goes_to(&second);
    composes[3..].iter().for_each(release);
    for ticket in &tickets[3..] {
        customer.ended(ticket);
    }
    let counts = ["compose", "key_pair", "instance"].map(|kind| stands(&sandbox.url, kind));
    assert_eq!(counts, [6, 6, 12], "made by two servers");
    testing::count("kills", 1);
}

/// Waits until the launch waits for its build, and answers which that is.
fn waiting(customer: &Customer, ticket: &Ticket) -> String {
    until("the wait for the build", || {
        let shown = customer.show(ticket);
        let is_waiting = shown["state"] == "building" && shown["waits_for"].is_string();
        shown["build"]["compose"].as_str().filter(|_| is_waiting).map(str::to_owned)
    })
}

/// Sends an event of a build that no launch waits for, to some partition.
fn of_no_use(sandbox: &Sandbox) {
    let build = Uuid::now_v7().to_string();
    let event: Value = json!({
        "event_id": build, "compose_id": build, "org_id": "default", "status": "success",
        "occurred_at": "2026-01-01T00:00:00Z",
    });
    let message = json!({"key": build, "payload": event.to_string()});
    crate::stage::call(Method::POST, &format!("{}/kafka/{TOPIC}", sandbox.url), Some(&message));
}
