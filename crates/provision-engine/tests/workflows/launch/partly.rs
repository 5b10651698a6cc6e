//! Launches of which a part succeeds, and what becomes of it.

use ::launch::model::LaunchSettings;
use ::launch::model::params::LaunchRequest;
use ::launch::model::profile::{AfterPivot, Partial};
use ::launch::model::status::{LaunchPhase, View};
use serde_json::json;
use std::time::Duration;

use super::site::{LaunchSite, launch_only, quick};

async fn launched(site: &LaunchSite, asked: &LaunchRequest) -> View {
    let test_engine = site.test_engine().await;
    let begun = site.begin(&test_engine, asked).await;
    let (_, view) = site.rests(&test_engine, begun).await;
    test_engine.close().await;
    view
}

fn impatient() -> LaunchSettings {
    LaunchSettings { address_deadline: Duration::from_millis(100), ..quick() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fewer_instances_than_asked_for_are_kept_if_the_profile_says_so() {
    let site = LaunchSite::start().await;
    site.put("/aws/capacity", &json!({"instances": 2})).await;
    let mut asked = launch_only(3);
    asked.profile.partial = Partial::Keep;
    let view = launched(&site, &asked).await;
    assert_eq!(view.stage, LaunchPhase::SucceededWithWarnings);
    assert_eq!(view.legacy.success, Some(true));
    assert_eq!(view.record.state.instances.len(), 2);
    assert_eq!(view.record.state.warnings, ["only 2 of 3 instances could be launched"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn instances_without_an_address_are_a_warning() {
    let site = LaunchSite::with(impatient()).await;
    site.post("/aws/faults/no_address", &json!({})).await;
    let view = launched(&site, &launch_only(2)).await;
    assert_eq!(view.stage, LaunchPhase::SucceededWithWarnings);
    assert_eq!(view.legacy.step, 3);
    assert!(view.record.state.warnings[0].starts_with("no public address is known for i-"));
    assert_eq!(site.standing("instance").await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_profile_may_want_all_or_nothing_even_then() {
    let site = LaunchSite::with(impatient()).await;
    site.post("/aws/faults/no_address", &json!({})).await;
    let mut asked = launch_only(2);
    asked.profile.after_pivot = AfterPivot::Rollback;
    let view = launched(&site, &asked).await;
    assert_eq!(view.stage, LaunchPhase::Failed);
    assert_eq!((site.standing("instance").await, site.standing("key_pair").await), (0, 0));
    assert!(view.record.state.instances.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_that_dies_is_a_warning_and_all_of_them_a_failure() {
    for (dying, stage) in [(1, LaunchPhase::SucceededWithWarnings), (2, LaunchPhase::Failed)] {
        let site = LaunchSite::start().await;
        let died = json!({"times": dying, "code": "Server.InternalError", "message": "the host is gone"});
        site.post("/aws/faults/die", &died).await;
        let view = launched(&site, &launch_only(2)).await;
        assert_eq!(view.stage, stage);
        if stage == LaunchPhase::Failed {
            assert!(view.legacy.error.contains("all instances are gone"), "{}", view.legacy.error);
            assert_eq!(site.standing("key_pair").await, 0);
        } else {
            assert!(view.record.state.warnings[0].contains("is gone"), "{:?}", view.record.state.warnings);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failure_with_looking_is_no_failure_of_what_runs() {
    let site = LaunchSite::with(impatient()).await;
    let denied = json!({"action": "DescribeInstances", "code": "UnauthorizedOperation", "times": 0});
    site.post("/aws/faults/fail", &denied).await;
    let view = launched(&site, &launch_only(1)).await;
    assert_eq!(view.stage, LaunchPhase::SucceededWithWarnings);
    assert!(view.record.state.warnings.iter().any(|warning| warning.contains("cannot be seen")));
    assert_eq!(site.standing("instance").await, 1);
}
