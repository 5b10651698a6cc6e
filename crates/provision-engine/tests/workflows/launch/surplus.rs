//! A cloud that ignores client tokens, as moto does: a call that is made again makes more instances.

use std::time::Duration;

use ::launch::model::LaunchSettings;
use ::launch::model::status::LaunchPhase;
use serde_json::json;

use super::site::{LaunchSite, launch_only, quick};

/// The call is made again before its instances appear.
const TOO_SHORT: Duration = Duration::from_millis(60);

/// The answer of the first call is lost, and its instances appear in lists after a while.
async fn forgetful(settle: Duration) -> LaunchSite {
    let site = LaunchSite::with(LaunchSettings { settle, ..quick() }).await;
    site.put("/aws/tokens", &json!({"ignored": true})).await;
    site.put("/aws/pace", &json!({"visible_ms": 300})).await;
    site.post("/aws/faults/lose", &json!({"action": "RunInstances"})).await;
    site
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_on_its_way_is_waited_for() {
    let site = forgetful(Duration::from_secs(10)).await;
    let test_engine = site.test_engine().await;
    let begun = site.begin(&test_engine, &launch_only(2)).await;
    let (_, view) = site.rests(&test_engine, begun).await;
    assert_eq!((view.stage, view.record.state.instances.len()), (LaunchPhase::Succeeded, 2));
    assert_eq!(site.made("instance").await, 2, "it was made again although it was carried out");
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn instances_that_no_one_asked_for_are_terminated() {
    let site = forgetful(TOO_SHORT).await;
    let test_engine = site.test_engine().await;
    let begun = site.begin(&test_engine, &launch_only(2)).await;
    let (_, view) = site.rests(&test_engine, begun).await;
    let (warnings, count) = (&view.record.state.warnings, view.record.state.instances.len());
    assert_eq!((view.stage, count), (LaunchPhase::Succeeded, 2), "{warnings:?}");
    assert_eq!((site.made("instance").await, site.standing("instance").await), (4, 2));
    let living = site.get("/aws/instances").await;
    let living = living["instances"].as_array().unwrap().iter().filter(|one| one["state"] == "running");
    let mut ids: Vec<&str> = living.map(|one| one["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    let known: Vec<&str> =
        view.record.state.instances.iter().map(|tracked| tracked.instance.id.as_str()).collect();
    assert_eq!(ids, known);
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_launch_says_which_instances_no_one_asked_for_could_not_be_terminated() {
    let site = forgetful(TOO_SHORT).await;
    let denied = json!({"action": "TerminateInstances", "code": "UnauthorizedOperation", "times": 0});
    site.post("/aws/faults/fail", &denied).await;
    let test_engine = site.test_engine().await;
    let begun = site.begin(&test_engine, &launch_only(2)).await;
    let (_, view) = site.rests(&test_engine, begun).await;
    assert_eq!(view.stage, LaunchPhase::SucceededWithWarnings);
    let warnings = &view.record.state.warnings;
    let part = "2 instances more than asked for run and could not be terminated";
    assert!(warnings.iter().any(|warning| warning.starts_with(part)), "{warnings:?}");
    assert_eq!(view.record.state.instances.len(), 4, "the inventory shows what runs");
    test_engine.close().await;
}
