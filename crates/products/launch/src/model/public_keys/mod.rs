//! The public keys of an organisation: by number, by fingerprint, by name.
//!
//! A key is a row that is named after its fingerprint, so that one organisation has it once. A name is claimed by a
//! row of its own, which counts as long as the key exists that it names.

mod claim;
mod create;
mod delete;

use api::Code;
use engine::store::ResourceQuery;
use engine::{Engine, Resource, Timestamp};
use serde::{Deserialize, Serialize};

pub use self::create::{create, keep};
pub use self::delete::delete;
use super::api_error::LaunchApiError;
use super::numbers;
use super::params::{KeyChoice, LaunchOwner};

/// One key, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicKeyRecord {
    pub name: String,
    /// As it was sent, with its comment.
    pub body: String,
    /// Type and base64, no comment.
    pub line: String,
    /// Such as `ssh-ed25519`.
    pub kind: String,
    pub fingerprint: String,
    pub fingerprint_legacy: String,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone_at: Option<Timestamp>,
}

impl Resource for PublicKeyRecord {
    const KIND: &'static str = "pubkey";

    fn labels(&self) -> Vec<(&'static str, String)> {
        vec![("fingerprint", self.fingerprint.clone())]
    }

    fn gone_at(&self) -> Option<Timestamp> {
        self.gone_at
    }
}

/// One key, as it is shown. The number stays with the fingerprint: who deletes a key and brings it back finds it
/// under the same number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPublicKey {
    pub number: i64,
    pub record: PublicKeyRecord,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredPublicKeys {
    pub keys: Vec<StoredPublicKey>,
    /// How many there are in all.
    pub total: u64,
}

pub async fn get(engine: &Engine, who: &LaunchOwner, number: i64) -> Result<StoredPublicKey, LaunchApiError> {
    find(engine, who, number).await?.ok_or_else(missing)
}

/// A page, in the order of the numbers or in its reverse.
pub async fn list(
    engine: &Engine,
    who: &LaunchOwner,
    limit: usize,
    offset: usize,
    newest_first: bool,
) -> Result<StoredPublicKeys, LaunchApiError> {
    let query = ResourceQuery {
        kind: PublicKeyRecord::KIND.to_owned(),
        tenant: Some(who.tenant()),
        limit,
        offset,
        newest_first,
        counts: true,
        ..ResourceQuery::default()
    };
    let page = engine.resources(&query).await?;
    let keys =
        numbers::readable(page.rows).map(|(row, record)| StoredPublicKey { number: row.number, record });
    Ok(StoredPublicKeys { keys: keys.collect(), total: page.total.unwrap_or(0) })
}

pub(crate) async fn find(
    engine: &Engine,
    who: &LaunchOwner,
    number: i64,
) -> Result<Option<StoredPublicKey>, LaunchApiError> {
    let row = numbers::row::<PublicKeyRecord>(engine, &who.tenant(), number).await?;
    Ok(row.map(|row| numbers::read(&row)).transpose()?.map(|record| StoredPublicKey { number, record }))
}

impl StoredPublicKey {
    /// What a launch needs of it. The launch does not depend on what becomes of the key.
    pub(crate) fn choice(self) -> KeyChoice {
        KeyChoice { pubkey_id: self.number, name: self.record.name, line: self.record.line }
    }
}

fn resource(who: &LaunchOwner, fingerprint: &str) -> String {
    format!("pubkey:{}:{fingerprint}", who.org)
}

fn missing() -> LaunchApiError {
    LaunchApiError::not_found("such public key").at("pubkey_id")
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn internal(error: String) -> LaunchApiError {
    tracing::error!(error, "saving a public key failed");
    LaunchApiError::new(Code::Internal, "the key could not be saved; the reason is in the log")
}
