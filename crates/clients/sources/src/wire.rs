//! Wire types of Sources, and their conversion.

use std::collections::HashMap;

use cloud::{Access, Account, ProviderKind};
use engine::secret::SecretString;
use http_client::DriverError;
use serde::Deserialize;

use super::{Link, SYSTEM, Source};

const NAME_CHARS_MAX: usize = 2048;

#[derive(Deserialize)]
pub(super) struct SourcePage<T> {
    #[serde(default)]
    pub(super) meta: Meta,
    pub(super) data: Vec<T>,
}

#[derive(Default, Deserialize)]
pub(super) struct Meta {
    #[serde(default)]
    pub(super) count: Option<u64>,
}

/// A kind of source, or a kind of application.
#[derive(Deserialize)]
pub(super) struct TypeBody {
    pub(super) id: String,
    pub(super) name: String,
}

#[derive(Deserialize)]
pub(super) struct SourceBody {
    id: String,
    name: String,
    #[serde(default)]
    uid: Option<String>,
    source_type_id: String,
    #[serde(default)]
    availability_status: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct AuthenticationBody {
    #[serde(default)]
    authtype: Option<String>,
    #[serde(default)]
    username: Option<String>,
    #[serde(default)]
    resource_type: Option<String>,
    #[serde(default)]
    resource_id: Option<String>,
    #[serde(default)]
    extra: Option<Extra>,
}

#[derive(Deserialize)]
struct Extra {
    #[serde(default)]
    external_id: Option<String>,
}

/// The name that Sources has for a cloud.
pub(super) fn cloud_name(provider: ProviderKind) -> Option<&'static str> {
    provider.spec().source.as_ref().map(|source| source.type_name)
}

/// The clouds by the ids that Sources gave their types. All others are of no use for a launch.
pub(super) fn clouds(types: Vec<TypeBody>) -> HashMap<String, ProviderKind> {
    let provider =
        |name: &str| ProviderKind::ALL.into_iter().find(|provider| cloud_name(*provider) == Some(name));
    types.into_iter().filter_map(|one| Some((one.id, provider(&one.name)?))).collect()
}

impl SourceBody {
    pub(super) fn into_source(self, clouds: &HashMap<String, ProviderKind>) -> Option<Source> {
        let provider = *clouds.get(&self.source_type_id)?;
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        let (uid, status) = (given(self.uid), given(self.availability_status));
        Some(Source {
            id: self.id,
            name: self.name,
            uid,
            provider,
            type_id: Some(self.source_type_id),
            status,
        })
    }
}

impl AuthenticationBody {
    /// What lets us in, if this does. A source has others that are meant for other applications.
    pub(super) fn into_link(self, org: &str, source: &str) -> Option<Result<Link, DriverError>> {
        if self.resource_type.as_deref() != Some("Application") {
            return None;
        }
        let authentication = self.authtype.as_deref()?;
        let (provider, spec) = ProviderKind::ALL.into_iter().find_map(|provider| {
            let spec = provider.spec().source.as_ref()?;
            (spec.authentication == authentication).then_some((provider, spec))
        })?;
        let name = self.username.map(|name| name.trim().to_owned()).unwrap_or_default();
        let is_name = (1..=NAME_CHARS_MAX).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_graphic())
            && (!spec.by_role || name.starts_with("arn:"));
        if !is_name {
            let message = format!("source {source} has no usable name in place of {}", spec.account);
            return Some(Err(SYSTEM.broken(message)));
        }
        let access = if spec.by_role {
            let external_id = self.extra.and_then(|extra| extra.external_id);
            Access::Role { arn: name, external_id: external_id.map(SecretString::from) }
        } else {
            Access::Name(name)
        };
        let account = Account { org: org.to_owned(), source: source.to_owned(), provider, access };
        Some(Ok(Link { account, application: self.resource_id }))
    }
}
