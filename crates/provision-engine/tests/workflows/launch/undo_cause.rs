//! Launches that cannot be taken back at once.

use ::launch::model::record::NoticeEvent;
use ::launch::model::status::{LaunchPhase, StepState};
use engine::{Phase, PhaseVerb};
use serde_json::json;

use super::site::{LaunchSite, launch_only};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_may_not_be_terminated_is_left_over_until_an_operator_retries() {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    let denied = json!({"action": "TerminateInstances", "code": "UnauthorizedOperation", "times": 0});
    site.post("/aws/faults/fail", &denied).await;
    site.put("/aws/pace", &json!({"running_ms": 5, "address_ms": 60_000})).await;
    let begun = site.begin(&test_engine, &launch_only(2)).await;
    site.until(&test_engine, begun, |view| view.stage == LaunchPhase::Describing).await;
    test_engine.engine.ask(begun.id, PhaseVerb::Cancel, "anna", "too dear").await.unwrap();
    let (ended, view) = site.rests(&test_engine, begun).await;
    assert_eq!((ended.shown.summary.phase, view.stage), (Phase::Stuck, LaunchPhase::FailedDirty));
    assert_eq!((view.stage.label(), view.legacy.success), ("dirty", Some(false)));
    let left = &view.record.state.leftovers;
    assert_eq!(left.iter().map(|left| left.kind.as_str()).collect::<Vec<_>>(), ["instance", "instance"]);
    assert!(left[0].note.contains("UnauthorizedOperation"), "{}", left[0].note);
    assert!(view.legacy.error.contains(&left[0].id), "{}", view.legacy.error);
    let detail = site.detail(&test_engine, begun).await;
    let step = detail.steps.iter().find(|step| step.name == "launch_instances").unwrap();
    assert_eq!(step.state, StepState::CompensationFailed);
    assert!(view.record.state.key_claim.is_some(), "the instances still use the key");
    assert_eq!(site.standing("instance").await, 2);

    site.delete("/aws/faults/fail").await;
    test_engine.engine.ask(begun.id, PhaseVerb::Retry, "operator", "").await.unwrap();
    let ended = test_engine.finished(begun.id).await;
    let view = site.view(&test_engine, begun).await;
    assert_eq!((ended.shown.summary.phase, view.stage), (Phase::Cancelled, LaunchPhase::Cancelled));
    assert!(view.record.state.leftovers.is_empty() && view.record.state.key_claim.is_none());
    assert_eq!((site.standing("instance").await, site.standing("key_pair").await), (0, 0));
    let told: Vec<NoticeEvent> = view.record.notices.iter().map(|notice| notice.event).collect();
    assert_eq!(told, [NoticeEvent::LaunchDirty, NoticeEvent::LaunchCancelled], "no word is lost");
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failure_that_heals_is_waited_out_on_the_way_back() {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    let broken = json!({"action": "TerminateInstances", "code": "InternalError", "times": 3});
    site.post("/aws/faults/fail", &broken).await;
    site.put("/aws/pace", &json!({"running_ms": 5, "address_ms": 60_000})).await;
    let begun = site.begin(&test_engine, &launch_only(1)).await;
    site.until(&test_engine, begun, |view| view.stage == LaunchPhase::Describing).await;
    test_engine.engine.ask(begun.id, PhaseVerb::Cancel, "anna", "").await.unwrap();
    let (_, view) = site.rests(&test_engine, begun).await;
    assert_eq!((view.stage, site.standing("instance").await), (LaunchPhase::Cancelled, 0));
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_launch_that_was_taken_back_can_be_started_again() {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    site.post("/aws/faults/fail", &json!({"action": "RunInstances", "code": "VcpuLimitExceeded"})).await;
    let begun = site.begin(&test_engine, &launch_only(1)).await;
    let (_, view) = site.rests(&test_engine, begun).await;
    assert_eq!(view.stage, LaunchPhase::Failed);
    test_engine.engine.ask(begun.id, PhaseVerb::Retry, "operator", "").await.unwrap();
    let view = site.until(&test_engine, begun, |view| view.stage == LaunchPhase::Succeeded).await;
    let told: Vec<NoticeEvent> = view.record.notices.iter().map(|notice| notice.event).collect();
    assert_eq!(told, [NoticeEvent::LaunchFailed, NoticeEvent::LaunchSuccess], "no word is lost");
    assert_eq!(view.record.state.error, None);
    assert_eq!(site.standing("instance").await, 1);
    test_engine.close().await;
}
