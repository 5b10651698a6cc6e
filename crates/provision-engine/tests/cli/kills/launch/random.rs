//! Kills at random moments while many launches are under way, half of which fail.

use std::thread;
use std::time::Duration;

use rand::RngExt as _;
use serde_json::json;

use super::super::durable_postgres;
use super::pad::{LaunchEnd, Pad, Ticket, UNLUCKY, quick};
use crate::stage::DataDirectory;

const KILLS: usize = 8;
const LAUNCHES: usize = 10;

#[test]
fn random_kills_during_launches_on_sqlite_leave_what_succeeded_and_nothing_else() {
    hunt(quick());
}

#[test]
fn random_kills_during_launches_on_postgres_leave_what_succeeded_and_nothing_else() {
    let postgres = durable_postgres();
    postgres.create_database("engine").unwrap();
    hunt(quick().env("PROVISION_ENGINE_STORE__DATABASE_URL", postgres.url("engine")));
}

fn hunt(place: DataDirectory) {
    let mut pad = Pad::open(place);
    // Slow enough that a process dies in the middle of something.
    pad.tell("PUT", "/image-builder/pace", &json!({"building_ms": 1500}));
    pad.tell("PUT", "/aws/pace", &json!({"running_ms": 300, "terminate_ms": 300}));
    // Each fault counts every instance, so those of single launches would hit instances of others.
    pad.tell("POST", "/aws/faults/die", &json!({"account": UNLUCKY, "times": 0}));
    let launch_ends =
        (0..LAUNCHES).map(|number| if number % 2 == 0 { LaunchEnd::Lucky } else { LaunchEnd::Doomed });
    let tickets: Vec<Ticket> = launch_ends.map(|launch_end| pad.launch(launch_end)).collect();
    let mut dice = rand::rng();
    for _ in 0..KILLS {
        thread::sleep(Duration::from_millis(dice.random_range(0..700)));
        pad.kill();
        pad.serve_again();
    }
    pad.judge(&tickets, "after random kills");
    testing::count("kills", KILLS as u64);
}
