//! The spec of a runtime, as its resource definition has it. What is `None` is left out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How many nodes may be added or missing during a change of workers: a number, or a text such as `25%`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CountOrPercent {
    Count(u32),
    Percent(String),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeSpec {
    pub shoot: ShootSpec,
    pub security: SecuritySpec,
    /// Only `true` is ever written, because it cannot be taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit_log_access_enabled: Option<bool>,
}

impl RuntimeSpec {
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("texts, numbers, lists and maps of texts can be written as JSON")
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShootSpec {
    pub name: String,
    pub purpose: String,
    pub platform_region: String,
    pub region: String,
    /// The name of a `CredentialsBinding`. The field kept its name from before there were such.
    pub secret_binding_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub licence_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enforce_seed_location: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enable_nvidia_openshell: Option<bool>,
    pub kubernetes: ShootKubernetes,
    pub provider: ProviderSpec,
    pub networking: NetworkingSpec,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<ControlPlaneSpec>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShootKubernetes {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(default, rename = "kubeAPIServer", skip_serializing_if = "Option::is_none")]
    pub kube_api_server: Option<KubeApiServer>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KubeApiServer {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub additional_oidc_config: Option<Vec<OidcIssuer>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acl: Option<AccessControlList>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OidcIssuer {
    #[serde(default, rename = "clientID", skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    #[serde(default, rename = "issuerURL", skip_serializing_if = "Option::is_none")]
    pub issuer_url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups_claim: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups_prefix: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username_claim: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username_prefix: Option<String>,
    #[serde(default, rename = "signingAlgs", skip_serializing_if = "Option::is_none")]
    pub signing_algorithms: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_claims: Option<BTreeMap<String, String>>,
    /// In base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwks: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_bundle: Option<String>,
}

/// Who reaches the API server of the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessControlList {
    #[serde(rename = "allowedCIDRs")]
    pub allowed_cidrs: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderSpec {
    /// `aws`, `azure`, `gcp`, `openstack`, `alicloud` or `gdch`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Infrastructure Manager wants exactly one.
    pub workers: Vec<WorkerPool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub additional_workers: Option<Vec<WorkerPool>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerPool {
    pub name: String,
    pub machine: WorkerMachine,
    pub minimum: u32,
    pub maximum: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<CountOrPercent>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<CountOrPercent>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<WorkerVolume>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<WorkerTaint>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cri: Option<WorkerCri>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<WorkerKubernetes>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerMachine {
    #[serde(rename = "type")]
    pub kind: String,
    /// Without one Infrastructure Manager takes its default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<WorkerImage>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerImage {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerVolume {
    /// Such as `80Gi`.
    pub size: String,
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerTaint {
    pub key: String,
    pub effect: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerCri {
    pub name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub container_runtimes: Vec<ContainerRuntime>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerRuntime {
    #[serde(rename = "type")]
    pub kind: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerKubernetes {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubelet: Option<WorkerKubelet>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerKubelet {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_pods: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NetworkingSpec {
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    pub nodes: String,
    pub pods: String,
    pub services: String,
    /// Only when a runtime is made, and only for aws and gcp.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dual_stack: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneSpec {
    pub high_availability: HighAvailability,
}

impl ControlPlaneSpec {
    /// `node` or `zone`.
    pub fn tolerating(kind: impl Into<String>) -> ControlPlaneSpec {
        let failure_tolerance = FailureTolerance { kind: kind.into() };
        ControlPlaneSpec { high_availability: HighAvailability { failure_tolerance } }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HighAvailability {
    pub failure_tolerance: FailureTolerance,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureTolerance {
    #[serde(rename = "type")]
    pub kind: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecuritySpec {
    pub administrators: Vec<String>,
    pub networking: SecurityNetworking,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecurityNetworking {
    pub filter: NetworkFilter,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkFilter {
    pub egress: FilterSwitch,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingress: Option<FilterSwitch>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilterSwitch {
    pub enabled: bool,
}

impl SecuritySpec {
    pub fn new(administrators: Vec<String>, egress: bool, ingress: Option<bool>) -> SecuritySpec {
        let ingress = ingress.map(|enabled| FilterSwitch { enabled });
        let filter = NetworkFilter { egress: FilterSwitch { enabled: egress }, ingress };
        SecuritySpec { administrators, networking: SecurityNetworking { filter } }
    }
}
