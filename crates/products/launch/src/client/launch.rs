//! What clients of the API ask of a launch and of an image.

use cloud::{ProviderKind, ssh_command};

use crate::api::images::Image;
use crate::api::types::{Instance, InstanceDetail, Launch, LaunchImage, Step};
use crate::model::profile::Detach;

impl Launch {
    pub(crate) fn has_succeeded(&self) -> bool {
        matches!(self.state.as_str(), "succeeded" | "succeeded_with_warnings")
    }

    /// Whether it is cancelled when no window watches it any more.
    pub(crate) fn ends_with_its_window(&self) -> bool {
        self.profile.detach == Detach::Cancel && self.instances.is_empty()
    }

    /// A parameter as text, if it says something.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        let values = self.parameters.as_ref()?.values(name);
        (!values.is_empty()).then(|| values.join(", "))
    }

    /// What is launched, in a few words.
    pub(crate) fn image(&self) -> Option<String> {
        match self.image.clone() {
            LaunchImage::None => None,
            LaunchImage::Cloud { id } => Some(id),
            LaunchImage::Compose { id } => Some(format!("build {id}")),
            LaunchImage::Build { distribution, image_name, architecture, .. } => {
                let names = [distribution, Some(architecture), image_name];
                Some(names.into_iter().flatten().collect::<Vec<_>>().join(" "))
            }
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
        ssh_command(&self.provider, instance.detail.public()?)
    }
}

impl Step {
    pub(crate) fn is_under_way(&self) -> bool {
        matches!(self.state.as_str(), "running" | "waiting" | "retrying" | "compensating")
    }
}

impl InstanceDetail {
    /// The address by which it is reached from outside.
    pub(crate) fn public(&self) -> Option<&str> {
        self.public_ipv4.as_deref().or(self.public_dns.as_deref())
    }
}

impl Image {
    pub(crate) fn is_ready(&self) -> bool {
        self.status.as_deref() == Some("success")
    }

    /// Whether this provider can start it.
    pub(crate) fn is_for(&self, provider: &str) -> bool {
        let provider = provider.parse::<ProviderKind>();
        let kinds = provider.map_or(&[][..], |provider| provider.spec().build.image_types);
        self.image_type.as_deref().is_some_and(|kind| kinds.contains(&kind))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Value, json};

    use crate::model::profile::ProfileName;

    /// A launch with these members instead of the usual ones.
    pub(crate) fn launch(more: &Value) -> crate::client::LaunchDetails {
        let mut body = json!({
            "id": "00000000-0000-4000-8000-000000000001", "reservation_id": 7, "provider": "aws",
            "state": "succeeded", "is_over": true, "created_at": "2026-01-01T00:00:00Z",
            "image": {"kind": "cloud", "id": "ami-1"}, "parameters": {"source_id": "", "region": "r", "amount": 2},
            "profile": ProfileName::Wizard.profile(), "steps": [], "instances": [], "warnings": [], "leftovers": [],
        });
        for (key, value) in more.as_object().unwrap() {
            body[key] = value.clone();
        }
        serde_json::from_value(body).unwrap()
    }

    #[test]
    fn parameters_and_images_are_shown_in_a_few_words() {
        let shown = launch(&json!({}));
        assert_eq!((shown.parameter("amount").as_deref(), shown.parameter("name")), (Some("2"), None));
        assert_eq!(shown.image().as_deref(), Some("ami-1"));
        let groups = json!({"parameters": {"source_id": "s", "region": "r", "amount": 1, "subnet": "",
            "security_groups": ["sg-1", "sg-2"], "key": {"pubkey_id": 7, "name": "mine"}}});
        let shown_of = |name: &str| launch(&groups).parameter(name);
        assert_eq!(shown_of("security_groups").as_deref(), Some("sg-1, sg-2"));
        assert_eq!((shown_of("key").as_deref(), shown_of("subnet")), (Some("mine"), None));
        let built =
            launch(&json!({"image": {"kind": "build", "architecture": "arm64", "image_type": "aws"}}));
        assert_eq!(built.image().as_deref(), Some("arm64"));
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
