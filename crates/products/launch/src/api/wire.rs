//! What clients send and get. The names are those of the hosted service; what it does not know comes beside them.

use crate::model::catalog::TypeEntry;
use crate::model::cloud::ProviderKind;
use crate::model::{public_keys, source_access, sources_api};
pub use api::{FieldError as Flaw, InsightsBody as Error};
use cloud::UploadTarget;
use cloud::spec::UploadValue;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// Where a page is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Metadata {
    /// How many there are on all pages.
    pub total: u64,
    pub links: Links,
}

/// The pages beside this one; empty where there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Links {
    pub previous: String,
    pub next: String,
}

/// A page of sources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = v1::ListSourceResponse)]
pub struct SourceList {
    pub data: Vec<Source>,
    pub metadata: Metadata,
}

/// An account in a cloud.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = v1::SourceResponse)]
pub struct Source {
    pub id: String,
    pub name: String,
    /// Empty where it has none.
    pub uid: String,
    /// `aws`, `azure` or `gcp`.
    pub provider: String,
    /// `available`, `unavailable` and others; empty if it was never checked.
    pub status: String,
    /// The number of the provider at the Sources API, for older clients.
    #[schema(deprecated, example = "1")]
    pub source_type_id: String,
}

impl From<sources_api::Source> for Source {
    fn from(source: sources_api::Source) -> Source {
        Source {
            id: source.id,
            name: source.name,
            uid: source.uid.unwrap_or_default(),
            provider: source.provider.to_string(),
            status: source.status.unwrap_or_default(),
            source_type_id: source.type_id.unwrap_or_else(|| type_id(source.provider).to_owned()),
        }
    }
}

/// The number of a source that is kept here, as the hosted service counts them.
fn type_id(provider: ProviderKind) -> &'static str {
    provider.spec().source.as_ref().map_or("", |source| source.type_id)
}

/// A source to be kept. A source of AWS has a role or keys, one of Azure a subscription, one of GCP a project.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct NewSource {
    pub name: String,
    /// `aws`, `azure` or `gcp`.
    pub provider: String,
    /// The role to take in the account.
    #[schema(example = "arn:aws:iam::123456789012:role/launcher")]
    pub arn: Option<String>,
    /// The external id that the role demands.
    pub external_id: Option<String>,
    pub access_key_id: Option<String>,
    pub secret_access_key: Option<String>,
    pub subscription_id: Option<String>,
    pub project_id: Option<String>,
}

/// Whom an image is to be shared with; the others are null.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = v1::SourceUploadInfoResponse)]
pub struct UploadInfo {
    pub provider: String,
    pub aws: Option<AwsAccount>,
    pub azure: Option<AzureAccount>,
    pub gcp: Option<GcpAccount>,
    /// The `options` of an upload request that puts an image where this account can start it.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub upload_options: Map<String, Value>,
    /// The only region where such an image, or the one that was named, can be launched. Nothing where every region will do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AwsAccount {
    pub account_id: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AzureAccount {
    /// Empty where it is not known.
    pub tenant_id: String,
    pub subscription_id: String,
    pub resource_groups: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GcpAccount {}

impl From<source_access::UploadInfo> for UploadInfo {
    fn from(info: source_access::UploadInfo) -> UploadInfo {
        let source_access::UploadInfo { provider, target, region } = info;
        let options = (provider.spec().build.upload)(&target).into_iter();
        let options = options.map(|(name, value)| {
            let value = match value {
                UploadValue::Text(text) => text.into(),
                UploadValue::List(list) => list.into(),
            };
            (name.to_owned(), value)
        });
        let upload_options = options.collect();
        let is = |kind: ProviderKind| provider == kind;
        let UploadTarget { account_id, tenant_id, resource_groups, .. } = target;
        UploadInfo {
            provider: provider.to_string(),
            aws: is(ProviderKind::Aws).then(|| AwsAccount { account_id: account_id.clone() }),
            azure: is(ProviderKind::Azure).then(|| AzureAccount {
                tenant_id: tenant_id.unwrap_or_default(),
                subscription_id: account_id,
                resource_groups,
            }),
            gcp: is(ProviderKind::Gcp).then_some(GcpAccount {}),
            upload_options,
            region,
        }
    }
}

/// A page of launch templates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = v1::ListLaunchTemplateResponse)]
pub struct TemplateList {
    pub data: Vec<Template>,
    pub metadata: TokenMetadata,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = v1::LaunchTemplatesResponse)]
pub struct Template {
    pub id: String,
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenMetadata {
    pub links: TokenLinks,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenLinks {
    /// Always empty: a cloud has no way back.
    pub previous: String,
    /// Empty on the last page.
    pub next: String,
}

/// The permissions of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Validity {
    pub valid: bool,
    /// Actions that are forbidden.
    pub missing_entities: Vec<String>,
    /// Actions that are needed as well, and cannot be tried without doing them.
    pub unproven_entities: Vec<String>,
}

/// A source to be looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = v1::AvailabilityStatusRequest)]
pub struct Availability {
    pub source_id: String,
}

/// A page of public keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = v1::ListPubkeyResponse)]
pub struct PublicKeyList {
    pub data: Vec<PublicKeyResponse>,
    pub metadata: Metadata,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = v1::PubkeyResponse)]
pub struct PublicKeyResponse {
    pub id: i64,
    pub name: String,
    /// As it was sent.
    pub body: String,
    #[serde(rename = "type")]
    #[schema(example = "ssh-ed25519")]
    pub kind: String,
    /// SHA-256 of the key, in base64.
    pub fingerprint: String,
    /// MD5 of the key, with colons.
    pub fingerprint_legacy: String,
}

impl From<public_keys::StoredPublicKey> for PublicKeyResponse {
    fn from(key: public_keys::StoredPublicKey) -> PublicKeyResponse {
        let public_keys::PublicKeyRecord { name, body, kind, fingerprint, fingerprint_legacy, .. } =
            key.record;
        PublicKeyResponse { id: key.number, name, body, kind, fingerprint, fingerprint_legacy }
    }
}

/// A public key to be kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = v1::PubkeyRequest)]
pub struct NewPublicKey {
    pub name: String,
    /// One line of OpenSSH: type, base64 and, if there is one, a comment.
    pub body: String,
}

/// It is done, and this was not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Warnings {
    pub warnings: Vec<String>,
}

/// The instance types of a region were taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Refreshed {
    pub types: usize,
}

/// The instance types of one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = v1::ListInstaceTypeResponse)]
pub struct InstanceTypes {
    pub data: Vec<InstanceType>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = v1::InstanceTypeResponse)]
pub struct InstanceType {
    #[schema(example = "t3.small")]
    pub name: String,
    pub vcpus: u32,
    pub cores: u32,
    pub memory_mib: u64,
    pub storage_gb: u64,
    /// Whether our images are known to run there.
    pub supported: bool,
    /// `x86_64` or `arm64`.
    pub architecture: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub azure: Option<Generations>,
}

/// Which generations of instances a type of Azure can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Generations {
    pub gen_v1: bool,
    pub gen_v2: bool,
}

impl From<&TypeEntry> for InstanceType {
    fn from(entry: &TypeEntry) -> InstanceType {
        InstanceType {
            name: entry.name.clone(),
            vcpus: entry.vcpus,
            cores: entry.cores,
            memory_mib: entry.memory_mib,
            storage_gb: entry.storage_gb,
            supported: entry.is_supported(),
            architecture: entry.architecture.as_str().to_owned(),
            azure: entry.azure.map(|azure| Generations { gen_v1: azure.gen_v1, gen_v2: azure.gen_v2 }),
        }
    }
}
