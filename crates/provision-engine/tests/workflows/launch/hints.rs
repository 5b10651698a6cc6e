//! Hints that the image is ready: whatever comes, and whenever, only the Image Builder decides.

use ::launch::model::LaunchSettings;
use ::launch::model::hints;
use ::launch::model::profile::ProfileName;
use ::launch::model::record::LaunchRecord;
use ::launch::model::status::{Stage, StepState};
use engine::Phase;
use serde_json::json;
use uuid::Uuid;

use super::site::{Site, build_and_launch, quick};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn early_repeated_forged_and_late_hints_change_nothing_but_the_time() {
    let site = Site::start().await;
    let house = site.house().await;
    site.post("/image-builder/faults/hold", &json!({})).await;
    let mut asked = build_and_launch(1);
    asked.profile = ProfileName::Images.profile();
    let begun = site.begin(&house, &asked).await;
    let view = site.until(&house, begun, |view| view.record.state.build.is_some()).await;
    let compose = view.record.compose().unwrap();
    let parked = house.until(begun.id, |phase| phase == Phase::Waiting).await;
    assert_eq!(parked.memory.wait.unwrap().key, Some(LaunchRecord::image_of(asked.launch)));

    let event = |compose: Uuid, org: &str| {
        json!({"event_id": Uuid::now_v7(), "compose_id": compose, "org_id": org, "status": "success",
            "upload": {"type": "aws", "options": {"ami": "ami-0abc0000000000666", "region": "us-east-1"}},
            "occurred_at": "2026-11-16T08:00:00Z"})
        .to_string()
    };
    let engine = &house.engine;
    for _ in 0..5 {
        hints::image_ready(engine, asked.launch).await.unwrap();
        hints::from_event(engine, event(compose, "000013").as_bytes(), None).await.unwrap();
        hints::from_event(engine, event(compose, "666").as_bytes(), None).await.unwrap();
        hints::from_event(engine, event(Uuid::now_v7(), "000013").as_bytes(), None).await.unwrap();
        hints::image_ready(engine, Uuid::now_v7()).await.unwrap();
    }
    assert!(hints::from_event(engine, b"{", None).await.is_err());
    site.until(&house, begun, |view| view.stage == Stage::Building).await;
    assert_eq!(site.made("instance").await, 0);

    site.post(&format!("/image-builder/composes/{compose}/release"), &json!({})).await;
    assert_eq!(site.build_ends().await, "success");
    hints::from_event(engine, event(compose, "000013").as_bytes(), None).await.unwrap();
    let (_, view) = site.rests(&house, begun).await;
    assert_eq!(view.stage, Stage::Succeeded);
    assert_ne!(
        view.record.state.image.as_ref().unwrap().id,
        "ami-0abc0000000000666",
        "no hint names the image"
    );

    hints::image_ready(engine, asked.launch).await.unwrap();
    hints::from_event(engine, event(compose, "000013").as_bytes(), None).await.unwrap();
    assert_eq!((site.made("instance").await, site.made("compose").await), (1, 1));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hint_that_never_comes_costs_time_and_not_the_launch() {
    let site = Site::start().await;
    let house = site.house().await;
    let mut asked = build_and_launch(1);
    asked.profile = ProfileName::Images.profile();
    asked.profile.image_deadline_s = 1;
    let begun = site.begin(&house, &asked).await;
    let (_, view) = site.rests(&house, begun).await;
    assert_eq!(view.stage, Stage::Succeeded, "the last look found it");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_that_failed_after_a_hint_is_repeated_soon() {
    let site = Site::start().await;
    let house = site.house().await;
    site.post("/image-builder/faults/hold", &json!({})).await;
    let mut asked = build_and_launch(1);
    asked.profile = ProfileName::Images.profile();
    let begun = site.begin(&house, &asked).await;
    let view = site.until(&house, begun, |view| view.record.state.build.is_some()).await;
    house.until(begun.id, |phase| phase == Phase::Waiting).await;
    let compose = view.record.compose().unwrap();
    site.post(&format!("/image-builder/composes/{compose}/release"), &json!({})).await;
    assert_eq!(site.build_ends().await, "success");
    site.put("/image-builder/errors", &json!({"every": 1})).await;
    hints::image_ready(&house.engine, asked.launch).await.unwrap();
    site.until_it_waits_for(&house, begun, "cannot be seen").await;
    let detail = site.detail(&house, begun).await;
    let step = detail.steps.iter().find(|step| step.name == "build_image").unwrap();
    assert!(step.state == StepState::Retrying && step.attempt > 0, "{step:?}");
    assert!(step.error.is_some() && step.next_attempt_at.is_some(), "{step:?}");
    assert_eq!(detail.legacy.status, "Retrying Build image");
    site.delete("/image-builder/knobs").await;
    let (_, view) = site.rests(&house, begun).await;
    assert_eq!((view.stage, view.record.state.error), (Stage::Succeeded, None));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn looks_that_come_too_fast_wait_for_their_turn() {
    let site = Site::with(LaunchSettings { polls_per_second: 2, ..quick() }).await;
    let house = site.house().await;
    site.post("/image-builder/faults/hold", &json!({})).await;
    let begun = site.begin(&house, &build_and_launch(1)).await;
    let view = site.until(&house, begun, |view| view.record.state.build.is_some()).await;
    site.until_it_waits_for(&house, begun, "other builds are looked at first").await;
    let compose = view.record.compose().unwrap();
    site.post(&format!("/image-builder/composes/{compose}/release"), &json!({})).await;
    let (_, view) = site.rests(&house, begun).await;
    assert_eq!(view.stage, Stage::Succeeded);
    house.close().await;
}
