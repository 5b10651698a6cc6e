//! A launch as the door tells about it. Members that we do not know are kept, for scripts that do.

use crate::model::cloud;
use engine::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Launch {
    pub(crate) id: Uuid,
    pub(crate) reservation_id: i64,
    pub(crate) provider: String,
    pub(crate) state: String,
    pub(crate) is_over: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) waits_for: Option<String>,
    pub(crate) created_at: Timestamp,
    #[serde(default)]
    pub(crate) finished_at: Option<Timestamp>,
    #[serde(default)]
    pub(crate) image: Value,
    #[serde(default)]
    profile: Value,
    #[serde(default)]
    pub(crate) parameters: Value,
    #[serde(default)]
    pub(crate) steps: Vec<Step>,
    #[serde(default)]
    pub(crate) instances: Vec<Instance>,
    #[serde(default)]
    pub(crate) warnings: Vec<String>,
    #[serde(default)]
    pub(crate) leftovers: Vec<Leftover>,
    #[serde(default)]
    pub(crate) error: Option<Trouble>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Step {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) state: String,
    pub(crate) attempt: u32,
    #[serde(default)]
    pub(crate) started_at: Option<Timestamp>,
    #[serde(default)]
    pub(crate) finished_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) progress: Option<Progress>,
    #[serde(default)]
    pub(crate) error: Option<String>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Progress {
    pub(crate) done: u32,
    pub(crate) total: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Instance {
    pub(crate) instance_id: String,
    pub(crate) state: String,
    #[serde(default)]
    pub(crate) detail: Addresses,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Addresses {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) public_dns: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) public_ipv4: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) private_ipv4: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) private_ipv6: Option<String>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// Something that could not be taken back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Leftover {
    pub(crate) kind: String,
    pub(crate) id: String,
    pub(crate) note: String,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Trouble {
    pub(crate) message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
    #[serde(default)]
    pub(crate) retryable: bool,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl Launch {
    pub(crate) fn has_succeeded(&self) -> bool {
        matches!(self.state.as_str(), "succeeded" | "succeeded_with_warnings")
    }

    /// Whether it is cancelled when nobody watches it any more.
    pub(crate) fn ends_with_its_window(&self) -> bool {
        self.profile.get("detach").is_some_and(|detach| detach == "cancel") && self.instances.is_empty()
    }

    /// A parameter as text, if it says something.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        word(self.parameters.get(name)?)
    }

    /// What is launched, in a few words.
    pub(crate) fn image(&self) -> Option<String> {
        let member = |name: &str| word(self.image.get(name)?);
        match self.image.get("kind")?.as_str()? {
            "cloud" => member("id"),
            "compose" => Some(format!("build {}", member("id")?)),
            "build" => {
                let names = [member("distribution"), member("architecture"), member("image_name")];
                Some(names.into_iter().flatten().collect::<Vec<_>>().join(" "))
                    .filter(|text| !text.is_empty())
            }
            _ => None,
        }
    }

    /// The step at which the launch is.
    pub(crate) fn current(&self) -> Option<&Step> {
        self.steps.iter().find(|step| step.is_under_way())
    }

    /// One line for each instance that can be reached.
    pub(crate) fn logins(&self) -> impl Iterator<Item = String> {
        self.instances.iter().filter_map(|instance| self.login(instance))
    }

    /// How to log in, ready to be pasted into a shell.
    pub(crate) fn login(&self, instance: &Instance) -> Option<String> {
        cloud::ssh_command(&self.provider, instance.detail.public()?)
    }
}

impl Step {
    pub(crate) fn is_under_way(&self) -> bool {
        matches!(self.state.as_str(), "running" | "waiting" | "retrying" | "compensating")
    }
}

impl Addresses {
    /// The one by which it is reached from outside.
    pub(crate) fn public(&self) -> Option<&str> {
        self.public_ipv4.as_deref().or(self.public_dns.as_deref())
    }
}

fn word(value: &Value) -> Option<String> {
    let text = match value {
        Value::Null => return None,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    /// A launch with these members instead of the usual ones.
    pub(crate) fn launch(more: &Value) -> Launch {
        let mut body = json!({
            "id": "00000000-0000-4000-8000-000000000001", "reservation_id": 7, "provider": "aws",
            "state": "succeeded", "is_over": true, "created_at": "2026-01-01T00:00:00Z",
            "image": {"kind": "cloud", "id": "ami-1"}, "parameters": {"region": "r", "amount": 2},
        });
        for (key, value) in more.as_object().unwrap() {
            body[key] = value.clone();
        }
        serde_json::from_value(body).unwrap()
    }

    #[test]
    fn what_is_not_known_is_kept_for_scripts() {
        let shown = launch(
            &json!({"news": {"a": 1}, "instances": [{"instance_id": "i", "state": "running", "x": 2}]}),
        );
        let again = serde_json::to_value(&shown).unwrap();
        assert_eq!((&again["news"]["a"], &again["instances"][0]["x"]), (&json!(1), &json!(2)));
        assert_eq!((shown.parameter("amount").as_deref(), shown.parameter("name")), (Some("2"), None));
        assert_eq!(shown.image().as_deref(), Some("ami-1"));
    }

    #[test]
    fn only_what_is_the_name_of_a_host_becomes_part_of_a_command() {
        let instance = |address: &str| {
            json!({
                "instance_id": "i", "state": "running", "detail": {"public_ipv4": address},
            })
        };
        let shown = launch(&json!({
            "instances": [instance("10.0.0.1"), instance("$(reboot)"), instance("-oProxyCommand=x"), instance("")],
        }));
        assert_eq!(shown.logins().collect::<Vec<_>>(), ["ssh ec2-user@10.0.0.1"]);
        let elsewhere = launch(&json!({"provider": "gcp", "instances": [
            {"instance_id": "i", "state": "running", "detail": {"public_dns": "a.example"}},
        ]}));
        assert_eq!(elsewhere.logins().collect::<Vec<_>>(), ["ssh gcp-user@a.example"]);
    }
}
