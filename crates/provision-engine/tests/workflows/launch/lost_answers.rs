//! Answers that never arrive: nothing is made twice, and nothing is left behind.

use ::launch::model::profile::OnLaunchFailure;
use ::launch::model::status::LaunchPhase;
use engine::{Phase, PhaseVerb};
use serde_json::json;

use super::site::{LaunchSite, build_and_launch, launch_only};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_build_whose_answer_was_lost_is_found_by_its_mark() {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    site.post("/image-builder/faults/lose", &json!({})).await;
    let begun = site.begin(&test_engine, &build_and_launch(1)).await;
    let (ended, view) = site.rests(&test_engine, begun).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    let composes = site.get("/image-builder/composes").await;
    let composes = composes["composes"].as_array().unwrap();
    assert_eq!(composes.len(), 1, "{composes:?}");
    assert_eq!(composes[0]["id"], json!(view.record.compose()));
    assert_eq!(view.record.state.error.map(|error| error.message), None);
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_pair_whose_answer_was_lost_is_ours_all_the_same() {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    site.post("/aws/faults/lose", &json!({"action": "ImportKeyPair"})).await;
    let begun = site.begin(&test_engine, &launch_only(1)).await;
    let (ended, view) = site.rests(&test_engine, begun).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    assert!(view.record.state.key.unwrap().uploaded);
    assert_eq!(site.made("key_pair").await, 1);
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn instances_whose_answer_was_lost_are_adopted() {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    site.post("/aws/faults/lose", &json!({"action": "RunInstances"})).await;
    let begun = site.begin(&test_engine, &launch_only(2)).await;
    let (ended, view) = site.rests(&test_engine, begun).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    assert_eq!(view.record.state.instances.len(), 2);
    assert_eq!((site.made("instance").await, site.standing("instance").await), (2, 2));
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_one_heard_of_is_taken_back_too() {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    site.post("/aws/faults/lose", &json!({"action": "RunInstances"})).await;
    site.post(
        "/aws/faults/fail",
        &json!({"action": "DescribeInstances", "code": "InternalError", "times": 0}),
    )
    .await;
    let begun = site.begin(&test_engine, &launch_only(2)).await;
    site.until(&test_engine, begun, |view| view.record.state.error.is_some()).await;
    assert_eq!(site.standing("instance").await, 2, "the call was carried out");
    test_engine.engine.ask(begun.id, PhaseVerb::Cancel, "anna", "").await.unwrap();
    site.until(&test_engine, begun, |view| view.record.state.undo_cause.is_some()).await;
    site.delete("/aws/faults/fail").await;
    let (ended, view) = site.rests(&test_engine, begun).await;
    assert_eq!((ended.shown.summary.phase, view.stage), (Phase::Cancelled, LaunchPhase::Cancelled));
    assert_eq!((site.standing("instance").await, site.standing("key_pair").await), (0, 0));
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_build_that_no_one_heard_of_is_hidden_too() {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    site.post("/image-builder/faults/lose", &json!({})).await;
    let mut asked = build_and_launch(1);
    asked.profile.on_launch_failure = OnLaunchFailure::HideCompose;
    let begun = site.begin(&test_engine, &asked).await;
    site.until(&test_engine, begun, |view| view.record.state.error.is_some() || view.stage.is_over()).await;
    // It may have been found by now; either way nothing may stay in the list.
    let _ = test_engine.engine.ask(begun.id, PhaseVerb::Cancel, "anna", "").await;
    let (ended, _) = site.rests(&test_engine, begun).await;
    if ended.shown.summary.phase == Phase::Cancelled {
        assert_eq!(site.standing("compose").await, 0);
    }
    assert_eq!(site.made("compose").await, 1);
    test_engine.close().await;
}
