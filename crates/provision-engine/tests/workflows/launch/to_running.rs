//! Launches that succeed.

use ::launch::model::LaunchSettings;
use ::launch::model::cloud::InstanceState;
use ::launch::model::params::RequestedImage;
use ::launch::model::record::LaunchRecord;
use ::launch::model::status::{LaunchPhase, StepState};
use engine::Phase;
use serde_json::json;

use super::site::{LaunchSite, build_and_launch, build_and_wait, launch_only, nothing, parameters, quick};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_image_of_the_cloud_becomes_running_instances() {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    let begun = site.begin(&test_engine, &launch_only(2)).await;
    let (ended, view) = site.rests(&test_engine, begun).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    assert_eq!(view.stage, LaunchPhase::Succeeded);
    let instances = &view.record.state.instances;
    assert_eq!(instances.len(), 2);
    assert!(instances.iter().all(|one| one.instance.state == InstanceState::Running && one.has_address()));
    assert_eq!((site.standing("instance").await, site.standing("key_pair").await), (2, 1));
    let legacy = &view.legacy;
    assert_eq!(
        legacy.step_titles,
        ["Ensure public key", "Launch instance(s)", "Fetch instance(s) description"]
    );
    assert_eq!((legacy.steps, legacy.step, legacy.success), (3, 3, Some(true)));
    assert_eq!(legacy.status, "Finished Fetch instance(s) description");
    assert!(legacy.finished_at.is_some() && legacy.error.is_empty());
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_image_is_built_and_launched() {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    let asked = build_and_launch(1);
    let begun = site.begin(&test_engine, &asked).await;
    let (ended, view) = site.rests(&test_engine, begun).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    let state = &view.record.state;
    let image = state.image.as_ref().unwrap();
    assert_eq!(state.build.as_ref().unwrap().status, "success");
    assert!(image.id.starts_with("ami-"), "{image:?}");
    assert_eq!(view.legacy.step_titles[0], "Build image");
    assert_eq!((view.legacy.steps, view.legacy.step), (4, 4));
    let composes = site.get("/image-builder/composes").await;
    assert_eq!(composes["composes"].as_array().unwrap().len(), 1, "{composes}");
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parameters_may_come_while_the_image_is_built_or_after() {
    for early in [true, false] {
        let site = LaunchSite::start().await;
        let test_engine = site.test_engine().await;
        let asked = build_and_wait();
        site.post("/image-builder/faults/hold", &json!({})).await;
        let begun = site.begin(&test_engine, &asked).await;
        let view = site.until(&test_engine, begun, |view| view.record.state.build.is_some()).await;
        assert_eq!(view.stage, LaunchPhase::Building);
        if early {
            site.submit_parameters(&test_engine, &asked, parameters(1)).await;
        }
        let compose = view.record.compose().unwrap();
        site.post(&format!("/image-builder/composes/{compose}/release"), &json!({})).await;
        if !early {
            let waiting =
                site.until(&test_engine, begun, |view| view.stage == LaunchPhase::WaitingParameters).await;
            assert_eq!(waiting.legacy.status, "Started Wait for launch parameters");
            site.submit_parameters(&test_engine, &asked, parameters(1)).await;
        }
        let (ended, view) = site.rests(&test_engine, begun).await;
        assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
        assert_eq!(view.legacy.step_titles[..2], ["Build image", "Wait for launch parameters"]);
        assert_eq!(site.standing("instance").await, 1);
        test_engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn instances_carry_the_tags_of_the_hosted_service_and_a_script_for_insights() {
    for (insights_tags, environment) in [(true, Some("stage")), (false, None)] {
        let environment = environment.map(str::to_owned);
        let settings = LaunchSettings { insights_tags, environment: environment.clone(), ..quick() };
        let site = LaunchSite::with(settings).await;
        let test_engine = site.test_engine().await;
        let begun = site.begin(&test_engine, &launch_only(1)).await;
        let (_, view) = site.rests(&test_engine, begun).await;
        assert_eq!(view.stage, LaunchPhase::Succeeded);
        let behind = environment.map(|name| format!("-{name}")).unwrap_or_default();
        let made = site.get("/aws/instances").await["instances"][0].clone();
        assert_eq!(made["tags"]["rh-rid"], format!("r-{}{behind}", view.number), "{made}");
        assert_eq!((&made["tags"]["rh-org"], &made["tags"]["Name"]), (&json!("000013"), &json!("web")));
        assert_eq!(made["user_data"]["bytes"].as_u64().is_some_and(|bytes| bytes > 400), insights_tags);
        test_engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_launch_of_nothing_does_one_step() {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    let begun = site.begin(&test_engine, &nothing()).await;
    let (_, view) = site.rests(&test_engine, begun).await;
    assert_eq!((view.stage, view.legacy.steps, view.legacy.step), (LaunchPhase::Succeeded, 1, 1));
    assert_eq!(view.legacy.step_titles, ["A test step"]);
    let detail = site.detail(&test_engine, begun).await;
    let states: Vec<_> = detail.steps.iter().map(|step| (step.name, step.state)).collect();
    assert_eq!(states, [("validate", StepState::Succeeded), ("test_step", StepState::Succeeded)]);
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_of_a_request_is_written_down() {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    let mut asked = build_and_launch(1);
    let RequestedImage::Build { request } = &mut asked.image else { panic!("it builds") };
    request["customizations"] = json!({"users": [{"name": "anna", "password": "s3cr3t-password"}]});
    asked.parameters.as_mut().unwrap().user_data = Some("#!/bin/sh\nexport TOKEN=s3cr3t-token\n".into());
    let begun = site.begin(&test_engine, &asked).await;
    let (ended, view) = site.rests(&test_engine, begun).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    let journal = test_engine.journal(begun.id).await;
    let row = test_engine.engine.resource(&LaunchRecord::resource(begun.launch)).await.unwrap().unwrap();
    let written = format!("{}{}{ended:?}{view:?}{asked:?}", json!(journal), row.record);
    assert!(written.contains("sealed:1:"), "the request and the text are there, and sealed");
    assert!(!written.contains("s3cr3t"), "{written}");
    test_engine.close().await;
}
