//! What the provisioner is asked for. Serialising these types masks their secrets; only the driver itself can
//! write them in clear.

use std::collections::BTreeMap;
use std::fmt;

use engine::secret::{ExposeSecret, SecretString};
use http_client::graphql::MASK;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::gardener::{GardenerConfigInput, GardenerUpgradeInput};

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProvisionRuntimeInput {
    pub runtime_input: RuntimeInput,
    pub cluster_config: ClusterConfigInput,
    /// None makes a cluster without Kyma.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kyma_config: Option<KymaConfigInput>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeInput {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterConfigInput {
    pub gardener_config: GardenerConfigInput,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub administrators: Option<Vec<String>>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeRuntimeInput {
    pub kyma_config: KymaConfigInput,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeShootInput {
    pub gardener_config: GardenerUpgradeInput,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub administrators: Option<Vec<String>>,
}

#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KymaConfigInput {
    pub version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<KymaProfile>,
    /// The provisioner installs them in this order.
    pub components: Vec<ComponentConfigurationInput>,
    /// Entries for all components.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub configuration: Vec<ConfigEntryInput>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict_strategy: Option<ConflictStrategy>,
}

#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ComponentConfigurationInput {
    pub component: String,
    pub namespace: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub configuration: Vec<ConfigEntryInput>,
    #[serde(rename = "sourceURL", skip_serializing_if = "Option::is_none")]
    pub source_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict_strategy: Option<ConflictStrategy>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigEntryInput {
    pub key: String,
    pub value: EntryValue,
    /// Tells the provisioner to keep the value in a Secret of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<bool>,
}

#[derive(Clone)]
pub enum EntryValue {
    Plain(String),
    Secret(SecretString),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum KymaProfile {
    Evaluation,
    Production,
}

/// What the provisioner does with an entry that stands already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum ConflictStrategy {
    Merge,
    Replace,
}

impl ProvisionRuntimeInput {
    /// The variables as they go out, with the mask in place of every secret.
    pub fn masked(&self) -> Value {
        json!({ "config": self })
    }

    pub(super) fn wire(&self) -> Value {
        let mut variables = self.masked();
        if let Some(kyma) = &self.kyma_config {
            kyma.expose(&mut variables["config"]["kymaConfig"]);
        }
        variables
    }

    pub(super) fn secrets(&self) -> Vec<&SecretString> {
        self.kyma_config.iter().flat_map(KymaConfigInput::secrets).collect()
    }
}

impl UpgradeRuntimeInput {
    /// The variables as they go out, with the mask in place of every secret. The id of the runtime, which goes
    /// out beside them, is not part of this.
    pub fn masked(&self) -> Value {
        json!({ "config": self })
    }

    pub(super) fn wire(&self, runtime_id: &str) -> Value {
        let mut variables = self.masked();
        variables["id"] = runtime_id.into();
        self.kyma_config.expose(&mut variables["config"]["kymaConfig"]);
        variables
    }

    pub(super) fn secrets(&self) -> Vec<&SecretString> {
        self.kyma_config.secrets().collect()
    }
}

impl KymaConfigInput {
    fn secrets(&self) -> impl Iterator<Item = &SecretString> {
        let lists = self.components.iter().map(|component| &component.configuration);
        lists.chain([&self.configuration]).flatten().filter_map(|entry| match &entry.value {
            EntryValue::Secret(secret) => Some(secret),
            EntryValue::Plain(_) => None,
        })
    }

    /// Writes the secrets into the JSON that serialising `self` gave.
    fn expose(&self, json: &mut Value) {
        for (index, component) in self.components.iter().enumerate() {
            expose(&component.configuration, &mut json["components"][index]);
        }
        expose(&self.configuration, json);
    }
}

fn expose(entries: &[ConfigEntryInput], owner: &mut Value) {
    for (index, entry) in entries.iter().enumerate() {
        if let EntryValue::Secret(secret) = &entry.value {
            owner["configuration"][index]["value"] = secret.expose_secret().into();
        }
    }
}

impl ConfigEntryInput {
    pub fn plain(key: impl Into<String>, value: impl Into<String>) -> ConfigEntryInput {
        ConfigEntryInput { key: key.into(), value: EntryValue::Plain(value.into()), secret: None }
    }

    pub fn secret(key: impl Into<String>, value: SecretString) -> ConfigEntryInput {
        ConfigEntryInput { key: key.into(), value: EntryValue::Secret(value), secret: Some(true) }
    }
}

impl EntryValue {
    fn masked(&self) -> &str {
        match self {
            EntryValue::Plain(text) => text,
            EntryValue::Secret(_) => MASK,
        }
    }
}

impl fmt::Debug for EntryValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.masked(), f)
    }
}

impl Serialize for EntryValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.masked())
    }
}
