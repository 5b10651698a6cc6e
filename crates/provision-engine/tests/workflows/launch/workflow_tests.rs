//! Launches on trial: every step twice, failure at every step, death at every save.

use std::sync::{Arc, Mutex};

use ::launch::model::admit;
use ::launch::model::cloud::ProviderKind;
use ::launch::model::params::{LaunchRequest, RequestedImage};
use ::launch::model::profile::{OnLaunchFailure, Surface};
use ::launch::model::record::LaunchRecord;
use ::launch::workflows::launch::Launch;
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::store::Expect;
use engine::{Clock, Engine, Plan, Resource, WallClock};
use serde_json::{Value, json};
use testing::workflow_test::{self, WorkflowTest};
use uuid::Uuid;

use super::site::{LaunchSite, build_and_launch, build_and_wait, launch_only, nothing, parameters};

pub(super) struct LaunchTest {
    pub(super) site: LaunchSite,
    ask: fn() -> LaunchRequest,
    asked: Mutex<LaunchRequest>,
}

impl LaunchTest {
    pub(super) async fn of(ask: fn() -> LaunchRequest) -> LaunchTest {
        LaunchTest { site: LaunchSite::start().await, ask, asked: Mutex::new(ask()) }
    }

    fn asked(&self) -> LaunchRequest {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl WorkflowTest for LaunchTest {
    type Workflow = Launch;

    fn plan(&self) -> Plan<Launch> {
        ::launch::workflows::launch::plan(&self.site.launches)
    }

    fn params(&self) -> Value {
        json!(self.asked())
    }

    fn resource(&self) -> Option<String> {
        Some(LaunchRecord::resource(self.asked().launch))
    }

    async fn prepare(&self, engine: &Engine) {
        // Every run is a launch of its own, with a key of its own.
        let mut asked = LaunchRequest { launch: Uuid::now_v7(), ..(self.ask)() };
        // So that the last step of the table has its turn.
        asked.profile.surface = vec![Surface::Inventory];
        *self.asked.lock().unwrap() = asked.clone();
        let resource = LaunchRecord::resource(asked.launch);
        let sealer = engine.sealer("test", &resource);
        let is_deferred = asked.parameters.is_none();
        let params =
            admit::params(asked.clone(), &sealer).unwrap_or_else(|field_errors| panic!("{field_errors:?}"));
        let record_update = LaunchRecord::accepted(&params).record_update().unwrap();
        assert!(engine.write_resource(&resource, "test", Expect::Absent, Some(record_update)).await.unwrap());
        if is_deferred {
            let name = LaunchRecord::parameters_of(asked.launch);
            let given = parameters(1).sealed(&sealer).record_update().unwrap();
            assert!(engine.write_resource(&name, "test", Expect::Absent, Some(given)).await.unwrap());
        }
    }

    fn attempts(&self) -> Vec<&'static str> {
        let asked = self.asked();
        match (asked.provider, asked.image) {
            (ProviderKind::Azure, _) => vec!["prepare_network.called", "launch_instances.called"],
            (ProviderKind::Gcp, _) => vec!["launch_instances.called"],
            (_, RequestedImage::Build { .. }) => {
                vec!["submit_build.called", "upload_public_key.called", "launch_instances.called"]
            }
            _ => vec!["upload_public_key.called", "launch_instances.called"],
        }
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(WallClock)
    }

    async fn standing(&self) -> Vec<String> {
        let ledger = self.site.get("/ledger").await;
        let effects = ledger["effects"].as_array().unwrap();
        effects.iter().map(|effect| format!("{} {}", effect["kind"], effect["token"])).collect()
    }

    async fn clear(&self) {
        self.site.delete("/ledger").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_launch_of_a_given_image_passes_all_workflow_tests() {
    let workflow_test = LaunchTest::of(|| {
        let mut asked = launch_only(2);
        let parameters = asked.parameters.as_mut().unwrap();
        parameters.plain.poweroff = true;
        parameters.user_data = Some("#!/bin/sh\necho hello\n".into());
        asked
    });
    workflow_test::check_all(&workflow_test.await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_launch_in_a_cloud_that_shows_instances_late_passes_all_workflow_tests() {
    let workflow_test = LaunchTest::of(|| launch_only(1)).await;
    workflow_test.site.put("/aws/pace", &json!({"visible_ms": 40})).await;
    workflow_test::check_all(&workflow_test).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_launch_in_a_cloud_that_ignores_client_tokens_passes_all_workflow_tests() {
    let workflow_test = LaunchTest::of(|| launch_only(2)).await;
    workflow_test.site.put("/aws/tokens", &json!({"ignored": true})).await;
    workflow_test.site.put("/aws/pace", &json!({"visible_ms": 40})).await;
    workflow_test::check_all(&workflow_test).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_launch_whose_answers_are_all_lost_passes_all_workflow_tests() {
    let workflow_test = LaunchTest::of(|| launch_only(2)).await;
    workflow_test.site.put("/aws/tokens", &json!({"ignored": true})).await;
    workflow_test.site.put("/aws/pace", &json!({"visible_ms": 40})).await;
    workflow_test.site.post("/aws/faults/lose", &json!({"action": "RunInstances", "times": 0})).await;
    workflow_test::check_all(&workflow_test).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn build_and_launch_passes_all_workflow_tests() {
    let workflow_test = LaunchTest::of(|| hiding(build_and_launch(1))).await;
    workflow_test::check_all(&workflow_test).await;
}

/// Of a person whose organisation has RHEL, and no account number.
fn entitled() -> String {
    let document = json!({
        "identity": {"type": "User", "org_id": "000013", "user": {"username": "anna", "email": "anna@example"}},
        "entitlements": {"rhel": {"is_entitled": true, "is_trial": false}},
    });
    STANDARD.encode(document.to_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_identity_of_the_caller_survives_death_at_every_save() {
    let workflow_test =
        LaunchTest::of(|| LaunchRequest { identity: Some(entitled()), ..hiding(build_and_launch(1)) }).await;
    workflow_test::check_all(&workflow_test).await;
    let seen = workflow_test.site.get("/image-builder/calls").await;
    assert_eq!(seen["identities"], json!([entitled()]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn build_and_launch_with_late_parameters_passes_all_workflow_tests() {
    let workflow_test = LaunchTest::of(|| hiding(build_and_wait())).await;
    workflow_test::check_all(&workflow_test).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_launch_of_nothing_passes_all_workflow_tests() {
    let workflow_test = LaunchTest::of(|| LaunchRequest { parameters: None, ..nothing() }).await;
    workflow_test::every_step_twice(&workflow_test).await;
    workflow_test::fail_at_every_step(&workflow_test).await;
}

/// Nothing stays in the ledger of a launch that is taken back whole.
fn hiding(mut asked: LaunchRequest) -> LaunchRequest {
    asked.profile.on_launch_failure = OnLaunchFailure::HideCompose;
    asked
}
