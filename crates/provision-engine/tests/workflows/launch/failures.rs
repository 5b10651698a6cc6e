//! Launches that fail before anything runs: what was made is taken back, and the caller is told why.

use ::launch::model::params::RequestedImage;
use ::launch::model::profile::OnLaunchFailure;
use ::launch::model::status::{LaunchPhase, StepState, View};
use engine::Phase;
use serde_json::json;

use super::site::{BegunLaunch, LaunchSite, build_and_launch, build_and_wait, launch_only};

/// Waits for the end and expects it to be a failure at this step.
async fn fails(
    site: &LaunchSite,
    test_engine: &testing::TestEngine,
    begun: BegunLaunch,
    step: &str,
    category: &str,
) -> View {
    let (ended, view) = site.rests(test_engine, begun).await;
    assert_eq!(ended.shown.summary.phase, Phase::Undone, "{:?}", ended.memory.last_error);
    let error = view.record.state.error.as_ref().unwrap();
    assert_eq!((error.step.as_str(), error.category.as_str()), (step, category), "{error:?}");
    assert_eq!(view.legacy.success, Some(false));
    assert_eq!(view.legacy.error, error.message);
    let detail = site.detail(test_engine, begun).await;
    let failed: Vec<&str> =
        detail.steps.iter().filter(|one| one.state == StepState::Failed).map(|one| one.name).collect();
    assert_eq!(failed, [ended.memory.undo_reason.as_ref().unwrap().step.as_deref().unwrap()]);
    assert_eq!((site.standing("instance").await, site.standing("key_pair").await), (0, 0));
    view
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_image_that_the_account_does_not_see_is_not_launched() {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    let mut asked = launch_only(1);
    asked.image = RequestedImage::Cloud { id: "ami-0ffffffffffffffff".into() };
    let begun = site.begin(&test_engine, &asked).await;
    let view = fails(&site, &test_engine, begun, "check_account", "validation").await;
    assert!(view.record.state.error.unwrap().hint.unwrap().contains("share"));
    assert_eq!(site.made("key_pair").await, 0, "it was found out before anything was made");
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn capacity_is_waited_for_and_then_given_up() {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    site.put("/aws/capacity", &json!({"instances": 1})).await;
    let begun = site.begin(&test_engine, &launch_only(2)).await;
    let waiting = site.until(&test_engine, begun, |view| view.record.state.error.is_some()).await;
    assert_eq!((waiting.stage, waiting.legacy.step), (LaunchPhase::Launching, 1));
    assert_eq!(waiting.legacy.status, "Retrying Launch instance(s)");
    let view = fails(&site, &test_engine, begun, "launch_instances", "capacity").await;
    assert_eq!(view.legacy.status, "Failed Launch instance(s)");
    assert_eq!(view.legacy.step, 1, "the key had been uploaded");
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn capacity_that_comes_back_in_time_is_used() {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    site.put("/aws/capacity", &json!({"instances": 1})).await;
    let begun = site.begin(&test_engine, &launch_only(2)).await;
    site.until(&test_engine, begun, |view| view.record.state.error.is_some()).await;
    site.put("/aws/capacity", &json!({"instances": null})).await;
    let (_, view) = site.rests(&test_engine, begun).await;
    assert_eq!(view.stage, LaunchPhase::Succeeded);
    assert_eq!(view.record.state.error, None);
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quota_is_not_tried_twice() {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    site.post("/aws/faults/fail", &json!({"action": "RunInstances", "code": "VcpuLimitExceeded"})).await;
    let begun = site.begin(&test_engine, &launch_only(1)).await;
    let view = fails(&site, &test_engine, begun, "launch_instances", "quota").await;
    let error = view.record.state.error.unwrap();
    assert_eq!(error.provider_code.as_deref(), Some("VcpuLimitExceeded"));
    assert!(!error.retryable);
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_build_that_fails_is_told_with_the_reason_of_the_builder() {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    let error = json!({"id": 9, "reason": "", "details": [{"id": 5, "reason": "no such package: vim-9"}]});
    site.post("/image-builder/faults/fail", &json!({"at": "building", "error": error})).await;
    let begun = site.begin(&test_engine, &build_and_launch(1)).await;
    let view = fails(&site, &test_engine, begun, "build_image", "upstream").await;
    assert!(view.legacy.error.contains("no such package: vim-9"), "{}", view.legacy.error);
    assert_eq!((view.stage, view.legacy.step), (LaunchPhase::Failed, 0));
    assert_eq!(view.record.state.build.unwrap().status, "failure");
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_that_will_not_do_is_found_out_before_the_build() {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    let refused = json!({"action": "RunInstances", "code": "UnauthorizedOperation", "dry_run": true});
    site.post("/aws/faults/fail", &refused).await;
    let begun = site.begin(&test_engine, &build_and_launch(1)).await;
    fails(&site, &test_engine, begun, "check_permissions", "permission").await;
    assert_eq!(site.made("compose").await, 0);
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_launch_whose_parameters_never_come_is_abandoned_and_its_image_kept() {
    for is_held in [false, true] {
        let site = LaunchSite::start().await;
        let test_engine = site.test_engine().await;
        if is_held {
            site.post("/image-builder/faults/hold", &json!({})).await;
        }
        let mut asked = build_and_wait();
        asked.profile.parameters_ttl_s = 1;
        asked.profile.on_launch_failure = OnLaunchFailure::HideCompose;
        let begun = site.begin(&test_engine, &asked).await;
        let view = fails(&site, &test_engine, begun, "wait_for_parameters", "timeout").await;
        assert_eq!((view.stage, view.stage.label()), (LaunchPhase::Abandoned, "failed"));
        assert!(view.legacy.error.contains("did not come within 1s"), "{}", view.legacy.error);
        assert_eq!(site.standing("compose").await, 1, "the image is kept");
        let warnings = view.record.state.warnings.join("; ");
        assert_eq!(warnings.contains("cannot be stopped"), is_held, "{warnings}");
        test_engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_build_that_takes_too_long_is_given_up() {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    site.post("/image-builder/faults/hold", &json!({})).await;
    let mut asked = build_and_launch(1);
    asked.profile.image_deadline_s = 1;
    let begun = site.begin(&test_engine, &asked).await;
    let view = fails(&site, &test_engine, begun, "build_image", "timeout").await;
    assert!(view.legacy.error.contains("was not ready within 1s"), "{}", view.legacy.error);
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_build_that_is_unknown_for_a_moment_is_waited_for() {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    site.post("/image-builder/faults/hold", &json!({})).await;
    let begun = site.begin(&test_engine, &build_and_launch(1)).await;
    let view = site.until(&test_engine, begun, |view| view.record.state.build.is_some()).await;
    let compose = view.record.compose().unwrap();
    site.post(&format!("/image-builder/composes/{compose}/forget"), &json!({})).await;
    site.until_it_waits_for(&test_engine, begun, "does not know").await;
    site.post(&format!("/image-builder/composes/{compose}/remember"), &json!({})).await;
    site.post(&format!("/image-builder/composes/{compose}/release"), &json!({})).await;
    let (_, view) = site.rests(&test_engine, begun).await;
    assert_eq!(view.stage, LaunchPhase::Succeeded);
    test_engine.close().await;
}
