//! The types that all clouds share.

use std::time::Duration;

use engine::secret::SecretString;
use serde::{Deserialize, Serialize};

use crate::{Category, CloudError, ProviderKind};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Architecture {
    #[serde(rename = "x86_64")]
    X86_64,
    #[serde(rename = "arm64", alias = "aarch64")]
    Arm64,
}

impl Architecture {
    /// As clouds and the instance catalogue write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Architecture::X86_64 => "x86_64",
            Architecture::Arm64 => "arm64",
        }
    }

    /// As the Image Builder writes it.
    pub fn of_builder(self) -> &'static str {
        match self {
            Architecture::X86_64 => "x86_64",
            Architecture::Arm64 => "aarch64",
        }
    }
}

/// An account in a cloud, and how we get in.
#[derive(Debug, Clone)]
pub struct Account {
    /// The organisation on whose behalf the account is used.
    pub org: String,
    /// The id of the source that it came from.
    pub source: String,
    pub provider: ProviderKind,
    pub access: Access,
}

#[derive(Debug, Clone)]
pub enum Access {
    /// A role that our own credentials may take.
    Role { arn: String, external_id: Option<SecretString> },
    /// Credentials of the account itself.
    Keys { id: String, secret: SecretString },
    /// A name alone: of a subscription or a project, or of nothing at all.
    Name(String),
}

/// Where a call goes, and on whose behalf.
#[derive(Debug, Clone, Copy)]
pub struct CloudAccount<'a> {
    pub account: &'a Account,
    pub region: &'a str,
    /// The name of the session in the account's own records: that of the operation.
    pub session: &'a str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloudIdentity {
    pub account_id: String,
    /// What we are called there.
    pub name: String,
}

/// Where images that are built for an account go, and who must be allowed to start them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UploadTarget {
    pub account_id: String,
    /// The tenant of the account, in clouds that have them.
    pub tenant_id: Option<String>,
    /// The groups that an image can be put into, in clouds that have them.
    pub resource_groups: Vec<String>,
    /// Where images start that are put into the first of these groups.
    pub region: Option<String>,
    /// Who we are to the Image Builder's own account, in clouds where images stay there and are shared.
    pub principal: Option<String>,
}

/// What an account lets us do, as far as that can be found out without doing it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Permissions {
    /// What it forbids.
    pub missing: Vec<String>,
    /// What we need as well and cannot try without doing it.
    pub unproven: Vec<String>,
}

impl Permissions {
    pub fn is_valid(&self) -> bool {
        self.missing.is_empty()
    }

    /// Only a refusal counts against the account; that something is not there or makes no sense does not.
    pub fn note<T>(&mut self, action: &str, answer: Result<T, CloudError>) -> Result<(), CloudError> {
        match answer {
            Err(error) if error.is(Category::Permission) => self.missing.push(action.to_owned()),
            Err(error) if error.may_heal() => return Err(error),
            Ok(_) | Err(_) => {}
        }
        Ok(())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceType {
    pub name: String,
    pub vcpus: u32,
    pub cores: u32,
    pub memory_mib: u64,
    pub storage_gb: u64,
    pub architecture: Architecture,
    /// The generations of images that start on it, as the cloud writes them; nothing where all do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generations: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub limit: u32,
    pub token: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchTemplate {
    pub id: String,
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Templates {
    pub items: Vec<LaunchTemplate>,
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloudImage {
    pub id: String,
    pub architecture: Option<Architecture>,
    pub is_available: bool,
    /// The only region where it starts. Nothing where it starts in all of them, or in the one that was asked.
    pub region: Option<String>,
    /// What an instance type must support to start it, where types differ in that.
    pub generation: Option<String>,
}

/// A public key in the forms by which clouds know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprints {
    /// All texts under which a cloud may list it.
    pub any_of: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyMaterial {
    /// One line: type and base64, no comment.
    pub line: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloudKey {
    pub id: String,
    pub name: String,
    /// The mark of the caller who uploaded it, if it was one of us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "mark")]
    pub launch_tag: Option<String>,
}

/// What to make. The same for every try of the same token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceRequest {
    /// What the names of the instances begin with.
    pub name: Option<String>,
    pub image: Option<String>,
    pub instance_type: Option<String>,
    pub template: Option<String>,
    /// Fewer than this many are not made at all.
    pub least: u32,
    pub most: u32,
    /// A key pair of the account, in clouds that have them.
    pub key_name: Option<String>,
    /// The key itself, for clouds that put it into the instance.
    pub key: Option<KeyMaterial>,
    /// Text for the first start, not encoded yet.
    pub user_data: Option<String>,
    pub subnet: Option<String>,
    pub security_groups: Vec<String>,
    /// Where everything is made, in clouds that have resource groups. Nothing: in a group of its own.
    pub resource_group: Option<String>,
    pub tags: Vec<(String, String)>,
    /// A tag of its own by which everything of one launch is found again.
    pub launch_tag: String,
}

impl InstanceRequest {
    /// One instance of nothing yet.
    pub fn new(launch_tag: impl Into<String>) -> InstanceRequest {
        InstanceRequest {
            name: None,
            image: None,
            instance_type: None,
            template: None,
            least: 1,
            most: 1,
            key_name: None,
            key: None,
            user_data: None,
            subnet: None,
            security_groups: Vec::new(),
            resource_group: None,
            tags: Vec::new(),
            launch_tag: launch_tag.into(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    /// The cloud's own name for the call.
    pub reservation: Option<String>,
    /// All of them, between `least` and `most`, once nothing is to be asked again.
    pub instances: Vec<CloudInstance>,
    /// The cloud is still making them: the same call with the same token, after this time, says more.
    pub again: Option<Duration>,
}

/// What belongs to a launch and is no instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub kind: PartKind,
    pub id: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    Nic,
    PublicIp,
    Disk,
    SecurityGroup,
    Network,
    ResourceGroup,
}

impl PartKind {
    pub const ALL: [PartKind; 6] = [
        PartKind::Nic,
        PartKind::PublicIp,
        PartKind::Disk,
        PartKind::SecurityGroup,
        PartKind::Network,
        PartKind::ResourceGroup,
    ];

    /// Whether it is made before its instance, so that one that never came leaves it behind. A disk comes with the
    /// instance, and one that is free goes with the first sweep.
    pub fn precedes_instance(self) -> bool {
        matches!(self, PartKind::Nic | PartKind::PublicIp)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            PartKind::Nic => "nic",
            PartKind::PublicIp => "public_ip",
            PartKind::Disk => "disk",
            PartKind::SecurityGroup => "nsg",
            PartKind::Network => "network",
            PartKind::ResourceGroup => "group",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloudInstance {
    pub id: String,
    pub state: InstanceState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_dns: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_ipv4: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_ipv4: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_ipv6: Option<String>,
    /// Why it is in this state, in the cloud's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl CloudInstance {
    /// One that the cloud does not know any longer: it has been gone for a while.
    pub fn forgotten(id: &str) -> CloudInstance {
        CloudInstance {
            id: id.to_owned(),
            state: InstanceState::Terminated,
            public_dns: None,
            public_ipv4: None,
            private_ipv4: None,
            private_ipv6: None,
            reason: Some("the cloud does not know it any longer".to_owned()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InstanceState {
    Pending,
    Running,
    Stopping,
    Stopped,
    ShuttingDown,
    Terminated,
}

impl InstanceState {
    /// It is gone, or on its way.
    pub fn is_gone(self) -> bool {
        matches!(self, InstanceState::ShuttingDown | InstanceState::Terminated)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            InstanceState::Pending => "pending",
            InstanceState::Running => "running",
            InstanceState::Stopping => "stopping",
            InstanceState::Stopped => "stopped",
            InstanceState::ShuttingDown => "shutting_down",
            InstanceState::Terminated => "terminated",
        }
    }
}
