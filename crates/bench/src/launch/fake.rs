//! The sandbox as the benchmark sees it: how it shall behave, what it counted, and what it made when.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use engine::Timestamp;
use reqwest::Client;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use uuid::Uuid;

use provision_engine::platform;

#[derive(Debug, Clone)]
pub(super) struct FakeClouds {
    http: Client,
    url: String,
}

/// A build that is held until an operator lets it go.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct HeldBuild {
    id: Uuid,
    org: String,
    #[serde(rename = "image_name")]
    pub(super) name: String,
}

#[derive(Debug, Deserialize)]
struct CallCount {
    calls: u64,
}

#[derive(Debug, Deserialize)]
struct AwsCalls {
    counts: BTreeMap<String, CallCount>,
}

#[derive(Debug, Deserialize)]
struct BuilderCalls {
    calls: BTreeMap<String, u64>,
}

/// How often each thing was asked for.
#[derive(Debug, Default)]
pub(super) struct CallCounts(BTreeMap<String, u64>);

impl CallCounts {
    pub(super) fn since(mut self, before: &CallCounts) -> CallCounts {
        for (route, calls) in &mut self.0 {
            *calls -= before.0.get(route).copied().unwrap_or_default();
        }
        self.0.retain(|_, calls| *calls > 0);
        self
    }

    pub(super) fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// What was asked for more or less often than in `base`, for those who look for the reason.
    pub(super) fn beside(&self, base: &CallCounts) -> String {
        let routes: BTreeSet<&String> = self.0.keys().chain(base.0.keys()).collect();
        let of = |calls: &CallCounts, route: &str| calls.0.get(route).copied().unwrap_or_default();
        let differs = routes.into_iter().filter(|route| of(self, route) != of(base, route));
        let said = differs.map(|route| format!("{route}: {} and not {}", of(self, route), of(base, route)));
        said.collect::<Vec<_>>().join(", ")
    }
}

impl FakeClouds {
    pub(super) fn at(url: &str) -> Result<FakeClouds> {
        Ok(FakeClouds { http: platform::client()?, url: url.to_owned() })
    }

    /// Nothing takes any time, and no process has built too much.
    pub(super) async fn at_once(&self) -> Result<()> {
        let zero =
            |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), json!(0))).collect::<Value>();
        let build = zero(&["pending_ms", "building_ms", "uploading_ms", "registering_ms"]);
        self.post("image-builder/pace", &build).await?;
        self.post("aws/pace", &zero(&["running_ms", "address_ms"])).await?;
        self.post("image-builder/quota", &json!({"builds": u32::MAX})).await?;
        Ok(())
    }

    /// From now on no build is ready by itself.
    pub(super) async fn hold_all(&self) -> Result<()> {
        self.post("image-builder/faults/hold", &json!({"times": 0})).await?;
        Ok(())
    }

    /// From now on no process is told of a build, except by hand.
    pub(super) async fn be_silent(&self) -> Result<()> {
        self.post("image-builder/notify", &json!({"callbacks": false, "events": false})).await?;
        Ok(())
    }

    /// All calls that a launch makes, each by what it asks for.
    pub(super) async fn calls(&self) -> Result<CallCounts> {
        let aws: AwsCalls = self.get("aws/calls").await?;
        let builder: BuilderCalls = self.get("image-builder/calls").await?;
        let aws = aws.counts.into_iter().map(|(action, count)| (action, count.calls));
        Ok(CallCounts(aws.chain(builder.calls).collect()))
    }

    /// How often a build was polled.
    pub(super) async fn looks(&self) -> Result<u64> {
        let all: BuilderCalls = self.get("image-builder/calls").await?;
        let is_look = |route: &String| route.starts_with("GET") && route.ends_with("/composes/{id}");
        Ok(all.calls.iter().filter(|(route, _)| is_look(route)).map(|(_, calls)| calls).sum())
    }

    pub(super) async fn builds_made(&self) -> Result<u64> {
        #[derive(Deserialize)]
        struct FakeSummary {
            #[serde(rename = "image_builder/compose")]
            builds: Option<CreatedObjects>,
        }
        #[derive(Deserialize)]
        struct CreatedObjects {
            made: u64,
        }
        let summary: FakeSummary = self.get("ledger/summary").await?;
        Ok(summary.builds.map_or(0, |builds| builds.made))
    }

    /// The newest builds.
    pub(super) async fn held(&self) -> Result<Vec<HeldBuild>> {
        #[derive(Deserialize)]
        struct Builds {
            composes: Vec<HeldBuild>,
        }
        let builds: Builds = self.get("image-builder/composes").await?;
        Ok(builds.composes)
    }

    /// Lets a build be ready, which no process hears of.
    pub(super) async fn release(&self, build: &HeldBuild) -> Result<()> {
        self.post(&format!("image-builder/composes/{}/release", build.id), &Value::Null).await?;
        Ok(())
    }

    /// Tells the process that reads Kafka.
    pub(super) async fn send_event(&self, build: &HeldBuild) -> Result<()> {
        let body = json!({"compose_id": build.id, "org_id": build.org});
        let answer = self.post("image-builder/events/send", &body).await?;
        ensure!(answer["answers"] == json!(["published"]), "Kafka does not take the event: {answer}");
        Ok(())
    }

    /// Tells the API.
    pub(super) async fn send_callback(&self, build: &HeldBuild) -> Result<()> {
        let answer = self.post("image-builder/callbacks/send", &json!({"compose_id": build.id})).await?;
        ensure!(answer["answers"] == json!(["202"]), "the API rejects the callback: {answer}");
        Ok(())
    }

    /// When the call came in that made the instance of this name.
    pub(super) async fn launched(&self) -> Result<BTreeMap<String, Timestamp>> {
        #[derive(Deserialize)]
        struct Instances {
            instances: Vec<FakeInstance>,
        }
        #[derive(Deserialize)]
        struct FakeInstance {
            tags: BTreeMap<String, String>,
            launched_at: Timestamp,
        }
        let all: Instances = self.get("aws/instances").await?;
        let named = |mut one: FakeInstance| Some((one.tags.remove("Name")?, one.launched_at));
        Ok(all.instances.into_iter().filter_map(named).collect())
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let answer = self.http.get(format!("{}/{path}", self.url)).send().await?.error_for_status()?;
        answer.json().await.with_context(|| format!("/{path} of the sandbox has an unreadable answer"))
    }

    /// The answer, where there is one.
    async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        let request = self.http.post(format!("{}/{path}", self.url)).json(body);
        let answer = request.send().await?.error_for_status()?.bytes().await?;
        if answer.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&answer)
            .with_context(|| format!("/{path} of the sandbox has an unreadable answer"))
    }
}

impl HeldBuild {
    /// Whether it is one of those that were asked for under this word.
    pub(super) fn is_of(&self, word: &str) -> bool {
        self.name.strip_prefix(word).is_some_and(|rest| rest.starts_with('-'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_is_known_by_the_word_before_its_number() {
        let held = |name: &str| HeldBuild { id: Uuid::nil(), org: String::new(), name: name.to_owned() };
        assert!(held("event-7").is_of("event"));
        assert!(!held("events-7").is_of("event") && !held("event").is_of("event"));
    }
}
