//! Wire types of Kubernetes.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::secret::SecretString;
use http_client::{DriverError, shorten};
use serde::Deserialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::{LabelledObject, ObjectKind, SYSTEM, ServiceAccountToken};

/// No `Debug`, because the data may be secret.
#[derive(Deserialize)]
pub(super) struct ListBody {
    #[serde(default)]
    pub(super) metadata: ListMetadata,
    pub(super) items: Option<Vec<ObjectBody>>,
}

#[derive(Deserialize, Default)]
pub(super) struct ListMetadata {
    #[serde(rename = "continue")]
    pub(super) next: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct ObjectBody {
    metadata: ObjectMetadata,
    data: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
struct ObjectMetadata {
    name: String,
    labels: Option<BTreeMap<String, String>>,
}

/// No `Debug`, because the token is a secret.
#[derive(Deserialize)]
pub(super) struct TokenBody {
    status: TokenStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TokenStatus {
    token: String,
    expiration_timestamp: String,
}

impl ObjectBody {
    pub(super) fn read(self, kind: ObjectKind) -> Result<LabelledObject, DriverError> {
        let name = self.metadata.name;
        let data = self.data.unwrap_or_default().into_iter().map(|(key, value)| {
            let value = match kind {
                ObjectKind::ConfigMap => Some(value),
                ObjectKind::Secret => {
                    STANDARD.decode(value).ok().and_then(|bytes| String::from_utf8(bytes).ok())
                }
            };
            let value = value.ok_or_else(|| {
                SYSTEM.broken(format!("key {:?} of secret {:?} is not text", shorten(&key), shorten(&name)))
            })?;
            Ok((key, SecretString::from(value)))
        });
        let data = data.collect::<Result<_, DriverError>>()?;
        Ok(LabelledObject { name, labels: self.metadata.labels.unwrap_or_default(), data })
    }
}

impl TryFrom<TokenBody> for ServiceAccountToken {
    type Error = DriverError;

    fn try_from(body: TokenBody) -> Result<Self, DriverError> {
        let expires_at = OffsetDateTime::parse(&body.status.expiration_timestamp, &Rfc3339)
            .map_err(|_| SYSTEM.broken("it issued a token without a readable end"))?;
        if body.status.token.is_empty() {
            return Err(SYSTEM.broken("it issued an empty token"));
        }
        Ok(ServiceAccountToken { token: body.status.token.into(), expires_at })
    }
}
