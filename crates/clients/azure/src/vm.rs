//! What Azure says about an instance.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use cloud::{CloudError, CloudInstance, InstanceState};
use http_client::shorten;
use serde::Deserialize;

use super::error::of_state;
use super::ids::ResourceId;
use super::resource::is_tagged;

/// The guest did not report in time, and the instance runs.
const OS_TIMEOUT: &str = "OSProvisioningTimedOut";

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Vm {
    #[serde(default)]
    tags: Option<BTreeMap<String, String>>,
    #[serde(default)]
    properties: VmProperties,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct VmProperties {
    #[serde(default)]
    provisioning_state: String,
    #[serde(default)]
    instance_view: Option<InstanceView>,
    #[serde(default)]
    network_profile: Option<NetworkProfile>,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct InstanceView {
    #[serde(default)]
    statuses: Vec<VmStatus>,
}

#[derive(Debug, Clone, Deserialize)]
struct VmStatus {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NetworkProfile {
    #[serde(default)]
    network_interfaces: Vec<NicReference>,
}

#[derive(Debug, Clone, Deserialize)]
struct NicReference {
    id: String,
    #[serde(default)]
    properties: Option<NicReferenceProperties>,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct NicReferenceProperties {
    #[serde(default)]
    primary: Option<bool>,
}

/// Where an instance stands on its way from the call to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum VmStage {
    Creating,
    Ready,
    /// Azure gave up on it. It exists, and so do its disk and its address.
    Failed(CloudError),
    Leaving,
}

impl Vm {
    pub(super) fn is_of(&self, launch_tag: &str) -> bool {
        is_tagged(self.tags.as_ref(), launch_tag)
    }

    fn is_in(&self, state: &str) -> bool {
        self.properties.provisioning_state.eq_ignore_ascii_case(state)
    }

    fn statuses(&self) -> impl Iterator<Item = &VmStatus> {
        self.properties.instance_view.iter().flat_map(|view| &view.statuses)
    }

    fn power(&self) -> Option<&str> {
        self.statuses().find_map(|status| status.code.strip_prefix("PowerState/"))
    }

    /// The code and the words of a failure, where the instance view names them.
    fn failure(&self) -> (&str, &str) {
        let failed = self.statuses().find_map(|status| {
            let code = status.code.strip_prefix("ProvisioningState/failed")?;
            Some((code.trim_start_matches('/'), status.message.as_deref().unwrap_or_default()))
        });
        failed.unwrap_or_default()
    }

    pub(super) fn stage(&self) -> VmStage {
        if self.is_in("Deleting") {
            return VmStage::Leaving;
        }
        if self.is_in("Succeeded") {
            return VmStage::Ready;
        }
        if self.is_in("Failed") || self.is_in("Canceled") {
            let (code, message) = self.failure();
            if code == OS_TIMEOUT {
                return VmStage::Ready;
            }
            let message = if message.is_empty() { "Azure could not start the instance" } else { message };
            return VmStage::Failed(of_state(code, message));
        }
        VmStage::Creating
    }

    fn state(&self) -> InstanceState {
        match self.stage() {
            VmStage::Leaving => InstanceState::ShuttingDown,
            VmStage::Failed(_) => InstanceState::Stopped,
            VmStage::Creating | VmStage::Ready => match self.power() {
                Some("running") => InstanceState::Running,
                Some("stopping" | "deallocating") => InstanceState::Stopping,
                Some("stopped" | "deallocated") => InstanceState::Stopped,
                _ => InstanceState::Pending,
            },
        }
    }

    /// Without addresses, which its network interface has.
    pub(super) fn instance(&self, id: &ResourceId) -> CloudInstance {
        let reason = (self.is_in("Failed") || self.is_in("Canceled")).then(|| {
            let (code, message) = self.failure();
            shorten(format!("{code}: {message}").trim_start_matches(": "))
        });
        CloudInstance {
            id: id.to_string(),
            state: self.state(),
            public_dns: None,
            public_ipv4: None,
            private_ipv4: None,
            private_ipv6: None,
            reason,
        }
    }

    /// The id of its first network interface, as Azure writes it.
    pub(super) fn nic(&self) -> Option<&str> {
        let nics = &self.properties.network_profile.as_ref()?.network_interfaces;
        let is_primary = |nic: &&NicReference| {
            nic.properties.as_ref().and_then(|properties| properties.primary).unwrap_or(false)
        };
        nics.iter().find(is_primary).or_else(|| nics.first()).map(|nic| nic.id.as_str())
    }
}

/// A network interface with its public address expanded.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Nic {
    properties: NicProperties,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NicProperties {
    #[serde(default)]
    ip_configurations: Vec<IpConfiguration>,
}

#[derive(Debug, Clone, Deserialize)]
struct IpConfiguration {
    #[serde(default)]
    properties: IpProperties,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct IpProperties {
    #[serde(rename = "privateIPAddress", default)]
    private_address: Option<String>,
    #[serde(rename = "publicIPAddress", default)]
    public: Option<PublicIp>,
}

#[derive(Debug, Clone, Deserialize)]
struct PublicIp {
    #[serde(default)]
    properties: PublicIpProperties,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct PublicIpProperties {
    #[serde(rename = "ipAddress", default)]
    address: Option<String>,
    #[serde(rename = "dnsSettings", default)]
    dns: Option<DnsSettings>,
}

#[derive(Debug, Clone, Deserialize)]
struct DnsSettings {
    #[serde(default)]
    fqdn: Option<String>,
}

impl Nic {
    /// Writes its addresses into the instance.
    pub(super) fn complete(&self, instance: &mut CloudInstance) {
        let Some(first) = self.properties.ip_configurations.first() else { return };
        let is_plain = |text: &&String| text.len() <= 255 && text.bytes().all(|byte| byte.is_ascii_graphic());
        instance.private_ipv4 = first.properties.private_address.as_ref().filter(is_plain).cloned();
        let Some(public) = &first.properties.public else { return };
        instance.public_ipv4 = public.properties.address.as_ref().filter(is_plain).cloned();
        let dns = public.properties.dns.as_ref().and_then(|dns| dns.fqdn.as_ref());
        instance.public_dns = dns.filter(is_plain).cloned();
    }
}
