//! Who has a name. Two rows cannot be written in one commit here, so a claim is made first, counts by itself for a
//! moment, and from then on only together with the key that it names.

use std::time::Duration;

use engine::store::{Expect, ResourceRow};
use engine::{Engine, Resource, Timestamp};
use serde::{Deserialize, Serialize};

use super::{PublicKeyRecord, internal};
use crate::model::api_error::LaunchApiError;
use crate::model::numbers;
use crate::model::params::LaunchOwner;

/// A name belongs to the key of this row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct KeyNameClaim {
    key: String,
    at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gone_at: Option<Timestamp>,
}

impl Resource for KeyNameClaim {
    const KIND: &'static str = "pubkey_name";

    fn labels(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn gone_at(&self) -> Option<Timestamp> {
        self.gone_at
    }
}

/// How long a claim counts without its key: far longer than it takes to write the key.
const SETTLES: Duration = Duration::from_secs(30);

/// What became of a claim.
pub(crate) enum Claimed {
    /// The name is ours as long as no other claim finds our key missing.
    Ours,
    /// Another key has the name.
    Taken,
    /// A client wrote at the same time: look again.
    Changed,
}

/// A name in the hands of one key.
pub(crate) struct Name<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) who: &'a LaunchOwner,
    pub(crate) name: &'a str,
    /// The row of the key.
    pub(crate) key: &'a str,
}

impl Name<'_> {
    fn resource(&self) -> String {
        format!("pubkey-name:{}:{}", self.who.org, self.name)
    }

    async fn look(&self) -> Result<Option<(ResourceRow, KeyNameClaim)>, LaunchApiError> {
        let Some(row) = self.engine.resource(&self.resource()).await? else { return Ok(None) };
        let claim = numbers::read(&row)?;
        Ok(Some((row, claim)))
    }

    /// Claims the name for the key.
    pub(crate) async fn take(&self) -> Result<Claimed, LaunchApiError> {
        let held = self.look().await?;
        let other = held.as_ref().map(|(_, claim)| claim).filter(|claim| claim.key != self.key);
        if let Some(other) = other {
            let is_fresh = other.gone_at.is_none() && self.engine.now().since(other.at) < SETTLES;
            if is_fresh || self.is_held_by(&other.key).await? {
                return Ok(Claimed::Taken);
            }
        }
        let expect = held.as_ref().map_or(Expect::Absent, |(row, _)| Expect::Version(row.version));
        let claim = KeyNameClaim { key: self.key.to_owned(), at: self.engine.now(), gone_at: None };
        if !self.write(&claim, expect).await? {
            return Ok(Claimed::Changed);
        }
        // The operation that had claimed it may have written its key since we looked, after a very long pause.
        if let Some((_, before)) = held.filter(|(_, claim)| claim.key != self.key)
            && self.is_held_by(&before.key).await?
        {
            if let Some((row, _)) = self.look().await?.filter(|(_, claim)| claim.key == self.key) {
                self.write(&before, Expect::Version(row.version)).await?;
            }
            return Ok(Claimed::Taken);
        }
        Ok(Claimed::Ours)
    }

    /// Whether the claim still names this key. Asked once the key is written: from then on it is not taken away.
    pub(crate) async fn is_ours(&self) -> Result<bool, LaunchApiError> {
        Ok(self.look().await?.is_some_and(|(_, claim)| claim.key == self.key))
    }

    /// Gives the name back. That another key has it by now is no error.
    pub(crate) async fn release(&self) -> Result<(), LaunchApiError> {
        if let Some((row, claim)) = self.look().await?.filter(|(_, claim)| claim.key == self.key) {
            let gone = KeyNameClaim { gone_at: Some(self.engine.now()), ..claim };
            self.write(&gone, Expect::Version(row.version)).await?;
        }
        Ok(())
    }

    /// Whether this key exists and has the name.
    async fn is_held_by(&self, key: &str) -> Result<bool, LaunchApiError> {
        let Some(row) = self.engine.resource(key).await?.filter(|row| row.gone_at.is_none()) else {
            return Ok(false);
        };
        Ok(numbers::read::<PublicKeyRecord>(&row)?.name == self.name)
    }

    async fn write(&self, claim: &KeyNameClaim, expect: Expect) -> Result<bool, LaunchApiError> {
        let record_update = claim.record_update().map_err(internal)?;
        let (name, tenant) = (self.resource(), self.who.tenant());
        Ok(self.engine.write_resource(&name, &tenant, expect, Some(record_update)).await?)
    }
}
