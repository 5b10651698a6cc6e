//! The four ways to build and launch are one: the same script under all of them ends the same way, with the same calls
//! and the same undo. Only who says that the image is ready, and where the launch is shown, may differ.

use std::collections::BTreeMap;

use ::launch::model::cloud::ProviderKind;
use ::launch::model::image_events;
use ::launch::model::params::{LaunchRequest, RequestedImage, RequestedParameters};
use ::launch::model::profile::{OnLaunchFailure, ProfileName};
use ::launch::model::status::{LaunchPhase, View};
use engine::PhaseVerb;
use serde_json::{Value, json};
use testing::TestEngine;
use uuid::Uuid;

use super::clouds;
use super::site::{BegunLaunch, LaunchSite, build_and_wait, parameters};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProfileScript {
    Success,
    FailingBuild,
    FailingLaunch,
    Cancel,
}

/// What is compared.
#[derive(Debug, PartialEq)]
struct LaunchSummary {
    record: Value,
    cloud_calls: Value,
    builder_calls: Value,
    standing: BTreeMap<String, usize>,
}

/// One cloud: what is asked of it, and how it is made to behave.
struct ProfileCloud {
    provider: ProviderKind,
    region: &'static str,
    instance_type: &'static str,
    upload: fn() -> Value,
    /// Where its faults are.
    faults: &'static str,
    /// The call that makes instances fails for good.
    launch_fails: fn() -> Value,
    /// What keeps a launch where it fetches the addresses.
    no_address: (&'static str, fn() -> Value),
    /// Its calls that make something; others are made as often as time allows.
    makes: fn(&str) -> bool,
    /// What stands after two instances were launched.
    stands: &'static [(&'static str, usize)],
}

const AWS: ProfileCloud = ProfileCloud {
    provider: ProviderKind::Aws,
    region: "us-east-1",
    instance_type: "t3.micro",
    upload: || json!({"share_with_accounts": ["123456789012"]}),
    faults: "/aws/faults/fail",
    launch_fails: || json!({"action": "RunInstances", "code": "VcpuLimitExceeded"}),
    no_address: ("/aws/pace", || json!({"address_ms": 60_000})),
    makes: |call| call != "DescribeInstances",
    stands: &[("instance", 2), ("key_pair", 1), ("compose", 1)],
};

const AZURE: ProfileCloud = ProfileCloud {
    provider: ProviderKind::Azure,
    region: "eastus",
    instance_type: "Standard_B2s",
    upload: || {
        json!({"tenant_id": "c0570000-0000-4000-8000-000000000001", "subscription_id": clouds::SUBSCRIPTION,
            "resource_group": "images"})
    },
    faults: "/azure/faults/fail",
    launch_fails: || json!({"method": "PUT", "resource": "vm", "code": "QuotaExceeded", "status": 403, "times": 0}),
    no_address: ("/azure/faults/no_address", || json!({"times": 0})),
    makes: |call| call.starts_with("PUT"),
    stands: &[
        ("vm", 2),
        ("nic", 2),
        ("public_ip", 2),
        ("disk", 2),
        ("nsg", 1),
        ("network", 1),
        ("group", 1),
        ("compose", 1),
    ],
};

const GOOGLE: ProfileCloud = ProfileCloud {
    provider: ProviderKind::Gcp,
    region: "us-central1-a",
    instance_type: "e2-medium",
    upload: || json!({"share_with_accounts": ["serviceAccount:provision-engine@sandbox.iam.gserviceaccount.com"]}),
    faults: "/gcp/faults/fail",
    launch_fails: || json!({"action": "instances.bulkInsert", "code": "quotaExceeded", "status": 403, "times": 0}),
    no_address: ("/gcp/faults/no_address", || json!({"times": 0})),
    makes: |call| call == "instances.bulkInsert",
    stands: &[("instance", 2), ("disk", 2), ("compose", 1)],
};

impl ProfileCloud {
    /// An image of this cloud is built, and the parameters come later.
    fn build(&self) -> LaunchRequest {
        let mut asked = build_and_wait();
        asked.provider = self.provider;
        if let RequestedImage::Build { request } = &mut asked.image {
            let image = &mut request["image_requests"][0];
            image["image_type"] = json!(self.provider.as_str());
            image["upload_request"] = json!({"type": self.provider.as_str(), "options": (self.upload)()});
        }
        asked
    }

    fn parameters(&self) -> RequestedParameters {
        let mut given = parameters(2);
        if self.provider != ProviderKind::Aws {
            given.plain.source_id = format!("sandbox-{}", self.provider);
        }
        self.region.clone_into(&mut given.plain.region);
        given.plain.instance_type = Some(self.instance_type.to_owned());
        given
    }

    async fn calls(&self, site: &LaunchSite) -> Value {
        let calls = site.get(&format!("/{}/calls", self.provider)).await;
        let counts = calls.get("counts").unwrap_or(&calls).as_object().unwrap();
        let made = counts.iter().filter(|(call, _)| (self.makes)(call));
        made.map(|(call, count)| (call.clone(), count.clone())).collect::<serde_json::Map<_, _>>().into()
    }
}

struct Run<'a> {
    site: &'a LaunchSite,
    test_engine: &'a TestEngine,
    profile: ProfileName,
    script: ProfileScript,
    asked: LaunchRequest,
    begun: BegunLaunch,
}

impl Run<'_> {
    /// Up to the end of the build, and a client says so in the way of the profile.
    async fn build(&self) {
        let view =
            self.site.until(self.test_engine, self.begun, |view| view.record.state.build.is_some()).await;
        let compose = view.record.compose().unwrap();
        self.site.post(&format!("/image-builder/composes/{compose}/release"), &json!({})).await;
        let status = self.site.build_ends().await;
        match self.profile {
            ProfileName::Images => {
                image_events::image_ready(&self.test_engine.engine, self.asked.launch).await.unwrap();
            }
            ProfileName::Wizard | ProfileName::Inventory => {}
            ProfileName::Events => {
                let event = json!({"event_id": Uuid::now_v7(), "compose_id": compose, "org_id": "000013",
                    "status": status, "occurred_at": "2026-11-16T08:00:00Z"});
                let event = event.to_string();
                image_events::from_event(&self.test_engine.engine, event.as_bytes(), None).await.unwrap();
            }
        }
    }

    async fn end(&self) -> View {
        if self.script == ProfileScript::Cancel {
            let is_launched = |view: &View| view.stage == LaunchPhase::Describing;
            self.site.until(self.test_engine, self.begun, is_launched).await;
            self.test_engine.engine.ask(self.begun.id, PhaseVerb::Cancel, "anna", "").await.unwrap();
        }
        self.site.rests(self.test_engine, self.begun).await.1
    }
}

async fn play(
    cloud: &ProfileCloud,
    profile: ProfileName,
    script: ProfileScript,
    given: &RequestedParameters,
) -> LaunchSummary {
    let mut site = LaunchSite::start().await;
    if cloud.provider != ProviderKind::Aws {
        clouds::prepare(&mut site).await;
    }
    let test_engine = site.test_engine().await;
    site.post("/image-builder/faults/hold", &json!({})).await;
    match script {
        ProfileScript::Success => {}
        ProfileScript::FailingBuild => {
            site.post("/image-builder/faults/fail", &json!({"at": "uploading"})).await;
        }
        ProfileScript::FailingLaunch => site.post(cloud.faults, &(cloud.launch_fails)()).await,
        ProfileScript::Cancel => {
            let (path, body) = (cloud.no_address.0, (cloud.no_address.1)());
            if path.contains("/faults/") { site.post(path, &body).await } else { site.put(path, &body).await }
        }
    }
    let mut asked = cloud.build();
    asked.profile = profile.profile();
    asked.profile.on_launch_failure = OnLaunchFailure::HideCompose;
    let begun = site.begin(&test_engine, &asked).await;
    site.submit_parameters(&test_engine, &asked, given.clone()).await;
    let run = Run { site: &site, test_engine: &test_engine, profile, script, asked, begun };
    run.build().await;
    let view = run.end().await;
    let ended = LaunchSummary {
        record: bare(&view),
        cloud_calls: cloud.calls(&site).await,
        builder_calls: builds(&site.get("/image-builder/calls").await["calls"]),
        standing: clouds::standing(&site).await,
    };
    test_engine.close().await;
    ended
}

/// Without what is different in every run: ids, addresses and times. And without what the profile decides: itself, and
/// whether the inventory shows the launch.
fn bare(view: &View) -> Value {
    let mut record = json!(view.record);
    for name in ["profile", "launch", "finished_at"] {
        record.as_object_mut().unwrap().remove(name);
    }
    record["state"].as_object_mut().unwrap().remove("registered");
    let done = record["state"]["done"].as_array_mut().unwrap();
    done.retain(|step| step != "register_in_inventory");
    let compose = view.record.compose().map(|compose| compose.to_string()).unwrap_or_default();
    blur(&mut record, &compose);
    record
}

fn blur(value: &mut Value, compose: &str) {
    const OWN: [&str; 9] = [
        "id",
        "at",
        "seen_at",
        "mark",
        "launch_tag",
        "reservation",
        "public_dns",
        "public_ipv4",
        "private_ipv4",
    ];
    match value {
        Value::Object(members) => {
            for (name, value) in members.iter_mut() {
                if OWN.contains(&name.as_str()) && !value.is_null() {
                    *value = json!("<own>");
                }
                blur(value, compose);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| blur(item, compose)),
        Value::String(text) => *text = text.replace(compose, "<compose>"),
        _ => {}
    }
}

fn builds(calls: &Value) -> Value {
    let mut calls = calls.as_object().unwrap().clone();
    calls.retain(|route, _| !route.starts_with("GET"));
    assert!(!calls.is_empty(), "there must be something to compare");
    json!(calls)
}

async fn compare(cloud: &ProfileCloud) {
    let given = cloud.parameters();
    let mut comparisons = 0;
    let name = cloud.provider;
    for script in [
        ProfileScript::Success,
        ProfileScript::FailingBuild,
        ProfileScript::FailingLaunch,
        ProfileScript::Cancel,
    ] {
        let first = play(cloud, ProfileName::Images, script, &given).await;
        let stands = cloud.stands.iter().filter(|_| script == ProfileScript::Success);
        let stands: BTreeMap<String, usize> =
            stands.map(|(kind, count)| ((*kind).to_owned(), *count)).collect();
        assert_eq!(first.standing, stands, "{name} {script:?}");
        assert_eq!(first.record["stage"], expected(script), "{name}: {:#}", first.record);
        for profile in [ProfileName::Wizard, ProfileName::Inventory, ProfileName::Events] {
            let other = play(cloud, profile, script, &given).await;
            assert_eq!(other.record, first.record, "{name} {script:?} {profile:?}");
            assert_eq!(other.cloud_calls, first.cloud_calls, "{name} {script:?} {profile:?}");
            assert_eq!(other.builder_calls, first.builder_calls, "{name} {script:?} {profile:?}");
            assert_eq!(other.standing, first.standing, "{name} {script:?} {profile:?}");
            comparisons += 4;
        }
    }
    testing::count("profiles", comparisons);
    println!("profiles at {name}: {comparisons} comparisons passed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_script_ends_the_same_way_under_all_profiles() {
    compare(&AWS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_script_ends_the_same_way_under_all_profiles_at_azure() {
    compare(&AZURE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_script_ends_the_same_way_under_all_profiles_at_google() {
    compare(&GOOGLE).await;
}

fn expected(script: ProfileScript) -> &'static str {
    match script {
        ProfileScript::Success => "succeeded",
        ProfileScript::FailingBuild | ProfileScript::FailingLaunch => "failed",
        ProfileScript::Cancel => "cancelled",
    }
}
