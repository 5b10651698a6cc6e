//! Launches on trial: every step twice, failure at every step, death at every save.

use std::sync::{Arc, Mutex};

use ::launch::model::admit;
use ::launch::model::params::{Asked, AskedImage};
use ::launch::model::profile::{OnLaunchFailure, Surface};
use ::launch::model::record::LaunchRecord;
use ::launch::workflows::launch::Launch;
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::store::Expect;
use engine::{Clock, Engine, Plan, Resource, WallClock};
use serde_json::{Value, json};
use testing::trial::{self, Trial};
use uuid::Uuid;

use super::site::{Site, build_and_launch, build_and_wait, launch_only, nothing, parameters};

struct LaunchTrial {
    site: Site,
    ask: fn() -> Asked,
    asked: Mutex<Asked>,
}

impl LaunchTrial {
    async fn of(ask: fn() -> Asked) -> LaunchTrial {
        LaunchTrial { site: Site::start().await, ask, asked: Mutex::new(ask()) }
    }

    fn asked(&self) -> Asked {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl Trial for LaunchTrial {
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
        let mut asked = Asked { launch: Uuid::now_v7(), ..(self.ask)() };
        // So that the last step of the table has its turn.
        asked.profile.surface = vec![Surface::Inventory];
        *self.asked.lock().unwrap() = asked.clone();
        let resource = LaunchRecord::resource(asked.launch);
        let sealer = engine.sealer("test", &resource);
        let is_deferred = asked.parameters.is_none();
        let params = admit::params(asked.clone(), &sealer).unwrap_or_else(|flaws| panic!("{flaws:?}"));
        let portrait = LaunchRecord::accepted(&params).portrait().unwrap();
        assert!(engine.write_resource(&resource, "test", Expect::Absent, Some(portrait)).await.unwrap());
        if is_deferred {
            let name = LaunchRecord::parameters_of(asked.launch);
            let given = parameters(1).sealed(&sealer).portrait().unwrap();
            assert!(engine.write_resource(&name, "test", Expect::Absent, Some(given)).await.unwrap());
        }
    }

    fn attempts(&self) -> Vec<&'static str> {
        match self.asked().image {
            AskedImage::Build { .. } => {
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
async fn a_launch_of_a_given_image_stands_all_trials() {
    let trial = LaunchTrial::of(|| {
        let mut asked = launch_only(2);
        let parameters = asked.parameters.as_mut().unwrap();
        parameters.plain.poweroff = true;
        parameters.user_data = Some("#!/bin/sh\necho hello\n".into());
        asked
    });
    trial::stand_all(&trial.await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_launch_in_a_cloud_that_shows_instances_late_stands_all_trials() {
    let trial = LaunchTrial::of(|| launch_only(1)).await;
    trial.site.put("/aws/pace", &json!({"visible_ms": 40})).await;
    trial::stand_all(&trial).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_launch_in_a_cloud_that_ignores_client_tokens_stands_all_trials() {
    let trial = LaunchTrial::of(|| launch_only(2)).await;
    trial.site.put("/aws/tokens", &json!({"ignored": true})).await;
    trial.site.put("/aws/pace", &json!({"visible_ms": 40})).await;
    trial::stand_all(&trial).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_launch_whose_answers_are_all_lost_stands_all_trials() {
    let trial = LaunchTrial::of(|| launch_only(2)).await;
    trial.site.put("/aws/tokens", &json!({"ignored": true})).await;
    trial.site.put("/aws/pace", &json!({"visible_ms": 40})).await;
    trial.site.post("/aws/faults/lose", &json!({"action": "RunInstances", "times": 0})).await;
    trial::stand_all(&trial).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn build_and_launch_stands_all_trials() {
    let trial = LaunchTrial::of(|| hiding(build_and_launch(1))).await;
    trial::stand_all(&trial).await;
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
    let trial = LaunchTrial::of(|| Asked { identity: Some(entitled()), ..hiding(build_and_launch(1)) }).await;
    trial::stand_all(&trial).await;
    let seen = trial.site.get("/image-builder/calls").await;
    assert_eq!(seen["identities"], json!([entitled()]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn build_and_launch_with_late_parameters_stands_all_trials() {
    let trial = LaunchTrial::of(|| hiding(build_and_wait())).await;
    trial::stand_all(&trial).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_launch_of_nothing_stands_all_trials() {
    let trial = LaunchTrial::of(|| Asked { parameters: None, ..nothing() }).await;
    trial::every_step_twice(&trial).await;
    trial::fail_at_every_step(&trial).await;
}

/// Nothing stays in the ledger of a launch that is taken back whole.
fn hiding(mut asked: Asked) -> Asked {
    asked.profile.on_launch_failure = OnLaunchFailure::HideCompose;
    asked
}
