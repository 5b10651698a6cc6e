//! The four ways to build and launch are one: the same script under all of them ends the same way, with the same calls
//! and the same undo. Only who says that the image is ready, and where the launch is shown, may differ.

use ::launch::model::image_events;
use ::launch::model::params::{LaunchRequest, RequestedParameters};
use ::launch::model::profile::{OnLaunchFailure, ProfileName};
use ::launch::model::status::{LaunchPhase, View};
use engine::PhaseVerb;
use serde_json::{Value, json};
use testing::TestEngine;
use uuid::Uuid;

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
    standing: [usize; 3],
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

async fn play(profile: ProfileName, script: ProfileScript, given: &RequestedParameters) -> LaunchSummary {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    site.post("/image-builder/faults/hold", &json!({})).await;
    match script {
        ProfileScript::Success => {}
        ProfileScript::FailingBuild => {
            site.post("/image-builder/faults/fail", &json!({"at": "uploading"})).await;
        }
        ProfileScript::FailingLaunch => {
            site.post("/aws/faults/fail", &json!({"action": "RunInstances", "code": "VcpuLimitExceeded"}))
                .await;
        }
        ProfileScript::Cancel => site.put("/aws/pace", &json!({"address_ms": 60_000})).await,
    }
    let mut asked = build_and_wait();
    asked.profile = profile.profile();
    asked.profile.on_launch_failure = OnLaunchFailure::HideCompose;
    let begun = site.begin(&test_engine, &asked).await;
    site.submit_parameters(&test_engine, &asked, given.clone()).await;
    let run = Run { site: &site, test_engine: &test_engine, profile, script, asked, begun };
    run.build().await;
    let view = run.end().await;
    let standing =
        [site.standing("instance").await, site.standing("key_pair").await, site.standing("compose").await];
    let ended = LaunchSummary {
        record: bare(&view),
        cloud_calls: counted(&site.get("/aws/calls").await["counts"], &["DescribeInstances"]),
        builder_calls: builds(&site.get("/image-builder/calls").await["calls"]),
        standing,
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
    const OWN: [&str; 8] =
        ["id", "at", "seen_at", "mark", "reservation", "public_dns", "public_ipv4", "private_ipv4"];
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

/// How many calls there were of each kind, but for those that only look as often as time allows.
fn counted(counts: &Value, looks: &[&str]) -> Value {
    let mut counts = counts.as_object().unwrap().clone();
    counts.retain(|name, _| !looks.contains(&name.as_str()));
    json!(counts)
}

fn builds(calls: &Value) -> Value {
    let mut calls = calls.as_object().unwrap().clone();
    calls.retain(|route, _| !route.starts_with("GET"));
    assert!(!calls.is_empty(), "there must be something to compare");
    json!(calls)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_script_ends_the_same_way_under_all_profiles() {
    let given = parameters(2);
    let mut comparisons = 0;
    for script in [
        ProfileScript::Success,
        ProfileScript::FailingBuild,
        ProfileScript::FailingLaunch,
        ProfileScript::Cancel,
    ] {
        let first = play(ProfileName::Images, script, &given).await;
        let is_launched = script == ProfileScript::Success;
        assert_eq!(first.standing, if is_launched { [2, 1, 1] } else { [0, 0, 0] }, "{script:?}");
        assert_eq!(first.record["stage"], expected(script), "{:#}", first.record);
        for profile in [ProfileName::Wizard, ProfileName::Inventory, ProfileName::Events] {
            let other = play(profile, script, &given).await;
            assert_eq!(other.record, first.record, "{script:?} {profile:?}");
            assert_eq!(other.cloud_calls, first.cloud_calls, "{script:?} {profile:?}");
            assert_eq!(other.builder_calls, first.builder_calls, "{script:?} {profile:?}");
            assert_eq!(other.standing, first.standing, "{script:?} {profile:?}");
            comparisons += 4;
        }
    }
    testing::count("profiles", comparisons);
    println!("profiles: {comparisons} comparisons passed");
}

fn expected(script: ProfileScript) -> &'static str {
    match script {
        ProfileScript::Success => "succeeded",
        ProfileScript::FailingBuild | ProfileScript::FailingLaunch => "failed",
        ProfileScript::Cancel => "cancelled",
    }
}
