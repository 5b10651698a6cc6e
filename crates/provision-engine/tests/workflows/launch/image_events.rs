//! Hints that the image is ready: whatever comes, and whenever, only the Image Builder decides.

use ::launch::model::LaunchSettings;
use ::launch::model::image_events;
use ::launch::model::profile::ProfileName;
use ::launch::model::record::LaunchRecord;
use ::launch::model::status::{LaunchPhase, StepState};
use engine::Phase;
use serde_json::json;
use uuid::Uuid;

use super::site::{LaunchSite, build_and_launch, quick};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn early_repeated_forged_and_late_image_events_change_nothing_but_the_time() {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    site.post("/image-builder/faults/hold", &json!({})).await;
    let mut asked = build_and_launch(1);
    asked.profile = ProfileName::Images.profile();
    let begun = site.begin(&test_engine, &asked).await;
    let view = site.until(&test_engine, begun, |view| view.record.state.build.is_some()).await;
    let compose = view.record.compose().unwrap();
    let parked = test_engine.until(begun.id, |phase| phase == Phase::Waiting).await;
    assert_eq!(parked.memory.wait.unwrap().key, Some(LaunchRecord::image_of(asked.launch)));

    let event = |compose: Uuid, org: &str| {
        json!({"event_id": Uuid::now_v7(), "compose_id": compose, "org_id": org, "status": "success",
            "upload": {"type": "aws", "options": {"ami": "ami-0abc0000000000666", "region": "us-east-1"}},
            "occurred_at": "2026-11-16T08:00:00Z"})
        .to_string()
    };
    let engine = &test_engine.engine;
    for _ in 0..5 {
        image_events::image_ready(engine, asked.launch).await.unwrap();
        image_events::from_event(engine, event(compose, "000013").as_bytes(), None).await.unwrap();
        image_events::from_event(engine, event(compose, "666").as_bytes(), None).await.unwrap();
        image_events::from_event(engine, event(Uuid::now_v7(), "000013").as_bytes(), None).await.unwrap();
        image_events::image_ready(engine, Uuid::now_v7()).await.unwrap();
    }
    assert!(image_events::from_event(engine, b"{", None).await.is_err());
    site.until(&test_engine, begun, |view| view.stage == LaunchPhase::Building).await;
    assert_eq!(site.made("instance").await, 0);

    site.post(&format!("/image-builder/composes/{compose}/release"), &json!({})).await;
    assert_eq!(site.build_ends().await, "success");
    image_events::from_event(engine, event(compose, "000013").as_bytes(), None).await.unwrap();
    let (_, view) = site.rests(&test_engine, begun).await;
    assert_eq!(view.stage, LaunchPhase::Succeeded);
    assert_ne!(
        view.record.state.image.as_ref().unwrap().id,
        "ami-0abc0000000000666",
        "no hint names the image"
    );

    image_events::image_ready(engine, asked.launch).await.unwrap();
    image_events::from_event(engine, event(compose, "000013").as_bytes(), None).await.unwrap();
    assert_eq!((site.made("instance").await, site.made("compose").await), (1, 1));
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_image_event_that_never_comes_costs_time_and_not_the_launch() {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    let mut asked = build_and_launch(1);
    asked.profile = ProfileName::Images.profile();
    asked.profile.image_deadline_s = 1;
    let begun = site.begin(&test_engine, &asked).await;
    let (_, view) = site.rests(&test_engine, begun).await;
    assert_eq!(view.stage, LaunchPhase::Succeeded, "the last look found it");
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_that_failed_after_an_image_event_is_repeated_soon() {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    site.post("/image-builder/faults/hold", &json!({})).await;
    let mut asked = build_and_launch(1);
    asked.profile = ProfileName::Images.profile();
    let begun = site.begin(&test_engine, &asked).await;
    let view = site.until(&test_engine, begun, |view| view.record.state.build.is_some()).await;
    test_engine.until(begun.id, |phase| phase == Phase::Waiting).await;
    let compose = view.record.compose().unwrap();
    site.post(&format!("/image-builder/composes/{compose}/release"), &json!({})).await;
    assert_eq!(site.build_ends().await, "success");
    site.put("/image-builder/errors", &json!({"every": 1})).await;
    image_events::image_ready(&test_engine.engine, asked.launch).await.unwrap();
    site.until_it_waits_for(&test_engine, begun, "cannot be seen").await;
    let detail = site.detail(&test_engine, begun).await;
    let step = detail.steps.iter().find(|step| step.name == "build_image").unwrap();
    assert!(step.state == StepState::Retrying && step.attempt > 0, "{step:?}");
    assert!(step.error.is_some() && step.next_attempt_at.is_some(), "{step:?}");
    assert_eq!(detail.legacy.status, "Retrying Build image");
    site.delete("/image-builder/knobs").await;
    let (_, view) = site.rests(&test_engine, begun).await;
    assert_eq!((view.stage, view.record.state.error), (LaunchPhase::Succeeded, None));
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn looks_that_come_too_fast_wait_for_their_turn() {
    let site = LaunchSite::with(LaunchSettings { polls_per_second: 2, ..quick() }).await;
    let test_engine = site.test_engine().await;
    site.post("/image-builder/faults/hold", &json!({})).await;
    let begun = site.begin(&test_engine, &build_and_launch(1)).await;
    let view = site.until(&test_engine, begun, |view| view.record.state.build.is_some()).await;
    site.until_it_waits_for(&test_engine, begun, "other builds are looked at first").await;
    let compose = view.record.compose().unwrap();
    site.post(&format!("/image-builder/composes/{compose}/release"), &json!({})).await;
    let (_, view) = site.rests(&test_engine, begun).await;
    assert_eq!(view.stage, LaunchPhase::Succeeded);
    test_engine.close().await;
}
