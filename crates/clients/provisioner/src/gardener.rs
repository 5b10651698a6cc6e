//! The cluster below a runtime, as the provisioner is asked for it. Numbers are GraphQL's `Int`.

use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GardenerConfigInput {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub kubernetes_version: String,
    #[serde(rename = "volumeSizeGB", skip_serializing_if = "Option::is_none")]
    pub volume_size_gb: Option<i32>,
    pub machine_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_image: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_image_version: Option<String>,
    pub region: String,
    pub provider: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub licence_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<String>,
    /// The name of the credentials of the cloud, not the credentials.
    pub target_secret: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_type: Option<String>,
    pub worker_cidr: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods_cidr: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services_cidr: Option<String>,
    pub auto_scaler_min: i32,
    pub auto_scaler_max: i32,
    pub max_surge: i32,
    pub max_unavailable: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_kubernetes_version_auto_update: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_machine_image_version_auto_update: Option<bool>,
    pub provider_specific_config: ProviderSpecificInput,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oidc_config: Option<OidcConfigInput>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns_config: Option<DnsConfigInput>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exposure_class_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shoot_networking_filter_disabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_failure_tolerance: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eu_access: Option<bool>,
    /// The control plane runs in the region of the nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shoot_and_seed_same_region: Option<bool>,
}

/// What changes; None leaves as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GardenerUpgradeInput {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
    #[serde(rename = "volumeSizeGB", skip_serializing_if = "Option::is_none")]
    pub volume_size_gb: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_image: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_image_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_scaler_min: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_scaler_max: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_kubernetes_version_auto_update: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_machine_image_version_auto_update: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_specific_config: Option<ProviderSpecificInput>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oidc_config: Option<OidcConfigInput>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exposure_class_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shoot_networking_filter_disabled: Option<bool>,
}

/// The part that depends on the cloud. The schema has four optional fields of which one is set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum ProviderSpecificInput {
    #[serde(rename = "gcpConfig")]
    Gcp(GcpConfigInput),
    #[serde(rename = "azureConfig")]
    Azure(AzureConfigInput),
    #[serde(rename = "awsConfig")]
    Aws(AwsConfigInput),
    #[serde(rename = "openStackConfig")]
    OpenStack(OpenStackConfigInput),
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct GcpConfigInput {
    pub zones: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AzureConfigInput {
    pub vnet_cidr: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zones: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub azure_zones: Option<Vec<AzureZoneInput>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_nat_gateway: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_connection_timeout_minutes: Option<i32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AzureZoneInput {
    /// Azure numbers its zones.
    pub name: i32,
    pub cidr: String,
}

/// A provisioner of 2020 gets the first of the zones, in the fields that it has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AwsConfigInput {
    pub vpc_cidr: String,
    pub aws_zones: Vec<AwsZoneInput>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AwsZoneInput {
    pub name: String,
    pub public_cidr: String,
    pub internal_cidr: String,
    pub worker_cidr: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenStackConfigInput {
    pub zones: Vec<String>,
    pub floating_pool_name: String,
    pub cloud_profile_name: String,
    pub load_balancer_provider: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OidcConfigInput {
    #[serde(rename = "clientID")]
    pub client_id: String,
    pub groups_claim: String,
    #[serde(rename = "issuerURL")]
    pub issuer_url: String,
    pub signing_algs: Vec<String>,
    pub username_claim: String,
    pub username_prefix: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DnsConfigInput {
    pub domain: String,
    pub providers: Vec<DnsProviderInput>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DnsProviderInput {
    pub domains_include: Vec<String>,
    pub primary: bool,
    pub secret_name: String,
    #[serde(rename = "type")]
    pub kind: String,
}
