//! The key pairs that launches of an organisation have uploaded for a public key.

use std::collections::BTreeMap;

use cloud::{CloudKey, ProviderKind};
use engine::Resource;
use engine::store::{ResourceQuery, Store, StoreError};

use super::Params;
use crate::model::numbers;
use crate::model::public_keys::PublicKeyRecord;
use crate::model::record::LaunchRecord;

/// One key pair in one account and region.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct UploadedKeyPair {
    pub(crate) provider: ProviderKind,
    pub(crate) source: String,
    pub(crate) region: String,
    pub(crate) name: String,
}

const PAGE: usize = 500;

pub(crate) async fn uploaded(
    store: &dyn Store,
    params: &Params,
) -> Result<BTreeMap<UploadedKeyPair, CloudKey>, StoreError> {
    let mut query = ResourceQuery {
        kind: LaunchRecord::KIND.to_owned(),
        tenant: Some(params.owner.tenant()),
        labels: vec![("pubkey".to_owned(), vec![params.pubkey_id.to_string()])],
        limit: PAGE,
        ..ResourceQuery::default()
    };
    let mut found = BTreeMap::new();
    loop {
        let rows = store.resources(&query).await?.rows;
        let Some(last) = rows.last() else { return Ok(found) };
        query.after = Some(last.number);
        for (_, launch) in numbers::readable::<LaunchRecord>(rows) {
            let key = launch.state.key.filter(|key| key.uploaded).map(|key| key.key);
            let Some((key, parameters)) = key.zip(launch.parameters) else { continue };
            let uploaded = UploadedKeyPair {
                provider: launch.provider,
                source: parameters.source_id,
                region: parameters.region,
                name: key.name.clone(),
            };
            found.insert(uploaded, key);
        }
    }
}

/// Whether the key pairs may still be needed: the key was brought back since, or another organisation has it, whose
/// source may lead to the same account.
pub(crate) async fn is_needed(store: &dyn Store, params: &Params) -> Result<bool, StoreError> {
    let query = ResourceQuery {
        kind: PublicKeyRecord::KIND.to_owned(),
        labels: vec![("fingerprint".to_owned(), vec![params.fingerprint.clone()])],
        limit: 1,
        ..ResourceQuery::default()
    };
    Ok(!store.resources(&query).await?.rows.is_empty())
}
