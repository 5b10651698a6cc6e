//! One watch for all runtimes: it resumes, lists again, and survives silence and a server that stops.

use std::sync::Arc;
use std::time::Duration;

use ::infrastructure_manager::{
    Observation, RuntimeFeed, RuntimeResources, WatchEvent, WatchLoop, WriteMode,
};
use client_tests::{TestSandbox, answering};
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{NAME, arm, create, provision, resources, resources_at, shared};

const SOON: Duration = Duration::from_secs(20);

struct TestWatch {
    observations: UnboundedReceiver<Observation>,
    stop: CancellationToken,
}

fn watch(resources: Arc<dyn RuntimeFeed>) -> TestWatch {
    let (sender, observations) = unbounded_channel();
    let stop = CancellationToken::new();
    let driver = WatchLoop::new(resources, stop.clone()).backoff(Duration::from_millis(10));
    tokio::spawn(driver.run(move |observation| {
        let _ = sender.send(observation);
    }));
    TestWatch { observations, stop }
}

impl TestWatch {
    /// The next observations up to one that is meant.
    async fn until(&mut self, is_meant: impl Fn(&Observation) -> bool) -> Observation {
        let found = timeout(SOON, async {
            loop {
                let one = self.observations.recv().await.unwrap();
                if is_meant(&one) {
                    return one;
                }
            }
        });
        found.await.expect("it is observed")
    }
}

fn is_ready(observation: &Observation, wanted: &str) -> bool {
    let Observation::Changed(runtime) = observation else { return false };
    runtime.name == wanted && runtime.provisioning_completed
}

#[tokio::test]
async fn changes_and_deletions_are_observed_without_a_call_for_each() {
    let fixture = TestSandbox::new().await;
    let other = resources(&fixture, "admin").await;
    provision(&other, "before-0000000").await;
    let mut watch = watch(shared(resources(&fixture, "keb").await.watch_seconds(1)));
    watch.until(|one| is_ready(one, "before-0000000")).await;
    watch.until(|one| *one == Observation::Relisted).await;
    let created = create(&other, NAME).await;
    watch.until(|one| is_ready(one, NAME)).await;
    // Long enough for the server to end the watch twice: it is resumed, and nothing is listed again.
    tokio::time::sleep(Duration::from_millis(2200)).await;
    other.delete(NAME, Some(&created.uid), WriteMode::Apply).await.unwrap();
    let gone = watch
        .until(|one| {
            assert_ne!(*one, Observation::Relisted);
            matches!(one, Observation::Deleted { .. })
        })
        .await;
    assert_eq!(gone, Observation::Deleted { name: NAME.into(), uid: created.uid });
    watch.stop.cancel();
}

#[tokio::test]
async fn a_version_that_the_server_has_forgotten_is_listed_again() {
    let fixture = TestSandbox::new().await;
    let other = resources(&fixture, "admin").await;
    provision(&other, "before-0000000").await;
    let mut watch = watch(shared(resources(&fixture, "keb").await.watch_seconds(1)));
    watch.until(|one| *one == Observation::Relisted).await;
    for fault in ["watch_expired", "compact"] {
        if fault == "compact" {
            fixture.post("/infrastructure-manager/compact", &json!({})).await;
        } else {
            arm(&fixture, json!({"kind": fault})).await;
        }
        let is_same = |one: &Observation| {
            assert!(!matches!(one, Observation::Changed(_)), "{fault}: it has not changed");
            *one == Observation::Relisted
        };
        watch.until(is_same).await;
    }
    create(&other, NAME).await;
    watch.until(|one| is_ready(one, NAME)).await;
}

#[tokio::test]
async fn an_old_version_is_said_in_the_first_line() {
    let fixture = TestSandbox::new().await;
    let resources = resources(&fixture, "keb").await;
    let mut events = resources.watch("1").await.unwrap();
    assert_eq!(events.next().await.unwrap(), Some(WatchEvent::Expired));
    assert_eq!(events.next().await.unwrap(), None);
    let by_status = resources_at(&answering(410, r#"{"kind":"Status","code":410}"#).await, SOON);
    assert_eq!(by_status.watch("1").await.unwrap().next().await.unwrap(), Some(WatchEvent::Expired));
}

#[tokio::test]
async fn a_quiet_watch_brings_bookmarks() {
    let fixture = TestSandbox::new().await;
    fixture.put("/infrastructure-manager/delays", &json!({"bookmark_ms": 50})).await;
    let resources = resources(&fixture, "keb").await.watch_seconds(5);
    let from = resources.list(None, None).await.unwrap().resource_version;
    let mut events = resources.watch(&from).await.unwrap();
    assert_eq!(events.next().await.unwrap(), Some(WatchEvent::Bookmark { resource_version: from }));
}

#[tokio::test]
async fn a_watch_that_goes_silent_is_opened_anew() {
    let fixture = TestSandbox::new().await;
    let other = resources(&fixture, "admin").await;
    let access = super::access(&fixture, "keb").await;
    let impatient = ::infrastructure_manager::HttpRuntimeResources::new(
        &access,
        ::infrastructure_manager::DEFAULT_NAMESPACE,
        Duration::from_millis(500),
    );
    arm(&fixture, json!({"kind": "watch_silent"})).await;
    let mut watch = watch(shared(impatient.unwrap().watch_seconds(1)));
    watch.until(|one| *one == Observation::Relisted).await;
    create(&other, NAME).await;
    // Nothing was lost while the watch was mute, because it goes on from the version of the list.
    watch.until(|one| is_ready(one, NAME)).await;
}

#[tokio::test]
async fn a_watch_ends_when_the_server_stops_and_when_it_is_stopped() {
    let fixture = TestSandbox::new().await;
    let resources = resources(&fixture, "keb").await.watch_seconds(60);
    let from = resources.list(None, None).await.unwrap().resource_version;
    let mut events = resources.watch(&from).await.unwrap();
    let stopping = tokio::spawn(fixture.sandbox.stop());
    assert_eq!(timeout(SOON, events.next()).await.unwrap().unwrap(), None);
    stopping.await.unwrap();
    assert!(resources.watch(&from).await.is_err());
}

#[tokio::test]
async fn a_line_without_an_end_is_not_read_for_ever() {
    let endless = format!("{{\"type\":\"ADDED\",\"object\":\"{}", "x".repeat(3 * 1024 * 1024));
    let resources = resources_at(&answering(200, endless).await, SOON);
    let error = resources.watch("1").await.unwrap().next().await.unwrap_err();
    assert!(error.to_string().contains("longer than 2097152 bytes"), "{error}");
}
