//! The record of a source that is kept here.

use cloud::{Access, Account, ProviderKind};
use engine::secret::{Sealed, SecretError};
use engine::{Resource, Timestamp};
use serde::{Deserialize, Serialize};
use sources::Source;

use super::Sealing;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceRecord {
    pub name: String,
    /// The same for ever, also where numbers are not.
    pub uid: String,
    pub provider: ProviderKind,
    access: SavedAccess,
    /// What the last look at it brought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<Finding>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone_at: Option<Timestamp>,
}

/// Whether a source lets us in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub is_available: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub at: Timestamp,
}

impl Finding {
    /// As lists of sources say it.
    pub fn status(&self) -> &'static str {
        if self.is_available { "available" } else { "unavailable" }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum SavedAccess {
    Role {
        arn: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        external_id: Option<Sealed>,
    },
    Keys {
        id: String,
        secret: Sealed,
    },
    Name {
        name: String,
    },
}

impl Resource for SourceRecord {
    const KIND: &'static str = "source";

    fn labels(&self) -> Vec<(&'static str, String)> {
        vec![("provider", self.provider.as_str().to_owned())]
    }

    fn gone_at(&self) -> Option<Timestamp> {
        self.gone_at
    }
}

impl SourceRecord {
    pub(crate) fn new(
        name: &str,
        uid: &str,
        provider: ProviderKind,
        access: &Access,
        sealing: &Sealing<'_>,
    ) -> Option<SourceRecord> {
        let access = match access {
            Access::Role { arn, external_id: None } => {
                SavedAccess::Role { arn: arn.clone(), external_id: None }
            }
            Access::Role { arn, external_id: Some(external_id) } => {
                SavedAccess::Role { arn: arn.clone(), external_id: Some(sealing.seal(external_id)?) }
            }
            Access::Keys { id, secret } => {
                SavedAccess::Keys { id: id.clone(), secret: sealing.seal(secret)? }
            }
            Access::Name(name) => SavedAccess::Name { name: name.clone() },
        };
        let (name, uid) = (name.to_owned(), uid.to_owned());
        Some(SourceRecord { name, uid, provider, access, finding: None, gone_at: None })
    }

    pub(crate) fn account(&self, org: &str, id: &str, sealing: &Sealing<'_>) -> Result<Account, SecretError> {
        let access = match &self.access {
            SavedAccess::Role { arn, external_id } => Access::Role {
                arn: arn.clone(),
                external_id: external_id.as_ref().map(|sealed| sealing.open(sealed)).transpose()?,
            },
            SavedAccess::Keys { id, secret } => {
                Access::Keys { id: id.clone(), secret: sealing.open(secret)? }
            }
            SavedAccess::Name { name } => Access::Name(name.clone()),
        };
        Ok(Account { org: org.to_owned(), source: id.to_owned(), provider: self.provider, access })
    }

    pub(crate) fn shown(&self, id: String) -> Source {
        Source {
            id,
            name: self.name.clone(),
            uid: Some(self.uid.clone()),
            provider: self.provider,
            type_id: None,
            status: self.finding.as_ref().map(|finding| finding.status().to_owned()),
        }
    }
}
