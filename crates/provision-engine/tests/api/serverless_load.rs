//! Many devices in front of one `OpenNebula` whose `OneFlow` is not ready for a second request on one connection.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;

use crate::serverless_world::{FixtureOptions, ServerlessFixture, function, nebula_with};

const POLLERS: usize = 50;
const CREATORS: usize = 20;
/// As often as devices look.
const POLL: Duration = Duration::from_secs(1);
/// How many runtimes each creator makes and removes.
const ROUNDS: usize = 2;
/// A kept connection of OneFlow is not ready for so long after an answer.
const READY_MS: u64 = 20;

/// Polls a runtime, as devices do, until all creators are done.
async fn poll(world: &ServerlessFixture, id: i64, creating: &AtomicUsize, errors: &mut Vec<String>) {
    while creating.load(Ordering::SeqCst) > 0 {
        let answer = world.get(id).await;
        if answer.status != 200 {
            errors.push(format!("GET: {} {}", answer.status, answer.text));
        }
        tokio::time::sleep(POLL).await;
    }
}

async fn create(world: &ServerlessFixture, errors: &mut Vec<String>) {
    for _ in 0..ROUNDS {
        let made = world.post(&function("Function")).await;
        if made.status != 201 {
            errors.push(format!("POST: {} {}", made.status, made.text));
            continue;
        }
        let removed = world.delete(made.id()).await;
        if removed.status != 204 {
            errors.push(format!("DELETE: {} {}", removed.status, removed.text));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_pollers_and_twenty_creators_see_no_error() {
    // The machine of the test may be busy with others: what counts is that no answer is lost.
    let call_timeout = Duration::from_secs(60);
    let mut controls =
        FixtureOptions { grace: Duration::from_mins(2), call_timeout, ..FixtureOptions::default() };
    controls.settings.timeout = Duration::from_mins(1);
    let world = nebula_with(controls).await;
    world.tell("/opennebula/pace", &json!({"kept_ready_ms": READY_MS})).await;
    let id = world.running(&function("Function")).await;
    let creating = AtomicUsize::new(CREATORS);
    let (world, creating) = (&world, &creating);
    let pollers = join_all((0..POLLERS).map(|_| async move {
        let mut errors = Vec::new();
        poll(world, id, creating, &mut errors).await;
        errors
    }));
    let creators = join_all((0..CREATORS).map(|_| async move {
        let mut errors = Vec::new();
        create(world, &mut errors).await;
        creating.fetch_sub(1, Ordering::SeqCst);
        errors
    }));
    let (seen, made) = tokio::join!(pollers, creators);
    let errors: Vec<String> = seen.into_iter().chain(made).flatten().collect();
    assert!(errors.is_empty(), "{} errors: {errors:#?}", errors.len());
    assert_eq!(world.delete(id).await.status, 204);
    world.is_empty_soon().await;
}
