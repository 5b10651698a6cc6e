//! Forgetting a key, here and in the accounts to which launches have brought it.

use std::collections::BTreeMap;
use std::time::Duration;

use drivers::cloud::{CloudKey, Place, ProviderKind};
use engine::store::{Expect, ResourceQuery};
use engine::{Engine, Resource};

use super::claim::Name;
use super::{PubkeyRecord, internal, missing, resource};
use crate::launch::numbers;
use crate::launch::params::Requester;
use crate::launch::record::LaunchRecord;
use crate::launch::rejection::Rejection;
use crate::launch::settings::Launches;

/// What became of a key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deleted {
    /// What could not be deleted in a cloud, and why.
    pub warnings: Vec<String>,
}

/// One key pair in one account and region.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Uploaded {
    provider: ProviderKind,
    source: String,
    region: String,
    name: String,
}

/// How long the clouds may take together. What is not done by then stays there, and a warning says so.
const CLOUDS_LIMIT: Duration = Duration::from_secs(20);
const PAGE: usize = 500;
/// Others may write between a look and a write; then we look again.
const LOOKS_MAX: usize = 5;

/// Deletes the key pairs that launches have uploaded, as far as the clouds can be reached, and then the key. A
/// launch under way that needs the key uploads it again.
pub async fn delete(
    launches: &Launches,
    engine: &Engine,
    who: &Requester,
    number: i64,
) -> Result<Deleted, Rejection> {
    let key = super::get(engine, who, number).await?;
    let mut warnings = Vec::new();
    let uploaded = uploaded(engine, who, number).await?;
    if !uploaded.is_empty() {
        if is_used_by_others(engine, who, &key.record.fingerprint).await? {
            warnings.push("its key pairs stay in the clouds: they may still be needed there".to_owned());
        } else {
            warnings.extend(clear(launches, who, uploaded).await);
        }
    }
    bury(engine, who, &key.record).await?;
    Ok(Deleted { warnings })
}

/// Every key pair that a launch of this organisation uploaded for the key.
async fn uploaded(
    engine: &Engine,
    who: &Requester,
    number: i64,
) -> Result<BTreeMap<Uploaded, CloudKey>, Rejection> {
    let mut query = ResourceQuery {
        kind: LaunchRecord::KIND.to_owned(),
        tenant: Some(who.tenant()),
        labels: vec![("pubkey".to_owned(), vec![number.to_string()])],
        limit: PAGE,
        ..ResourceQuery::default()
    };
    let mut found = BTreeMap::new();
    loop {
        let rows = engine.resources(&query).await?.rows;
        let Some(last) = rows.last() else { return Ok(found) };
        query.after = Some(last.number);
        for row in &rows {
            let launch: LaunchRecord = numbers::read(row)?;
            let key = launch.state.key.filter(|key| key.uploaded).map(|key| key.key);
            let Some((key, parameters)) = key.zip(launch.parameters) else { continue };
            let place = Uploaded {
                provider: launch.provider,
                source: parameters.source_id,
                region: parameters.region,
                name: key.name.clone(),
            };
            found.insert(place, key);
        }
    }
}

/// Two organisations may have sources that lead to one account.
async fn is_used_by_others(engine: &Engine, who: &Requester, fingerprint: &str) -> Result<bool, Rejection> {
    let query = ResourceQuery {
        kind: PubkeyRecord::KIND.to_owned(),
        labels: vec![("fingerprint".to_owned(), vec![fingerprint.to_owned()])],
        limit: 2,
        ..ResourceQuery::default()
    };
    let ours = who.tenant();
    Ok(engine.resources(&query).await?.rows.iter().any(|row| row.tenant != ours))
}

/// Deletes what can be reached in time, and tells about the rest.
async fn clear(launches: &Launches, who: &Requester, uploaded: BTreeMap<Uploaded, CloudKey>) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut left: Vec<(Uploaded, CloudKey)> = uploaded.into_iter().rev().collect();
    let all = async {
        while let Some((place, key)) = left.last() {
            if let Err(why) = clear_one(launches, who, place, key).await {
                warnings.push(warning(place, &why));
            }
            left.pop();
        }
    };
    let in_time = tokio::time::timeout(CLOUDS_LIMIT, all).await.is_ok();
    if !in_time {
        warnings
            .extend(left.iter().rev().map(|(place, _)| warning(place, "the clouds did not answer in time")));
    }
    warnings
}

async fn clear_one(
    launches: &Launches,
    who: &Requester,
    place: &Uploaded,
    key: &CloudKey,
) -> Result<(), String> {
    let provider = launches.providers.get(&place.provider).ok_or("its cloud is not configured")?;
    let account = launches.accounts.get(who, &place.source).await.map_err(|error| error.to_string())?;
    let account = account.ok_or("its source does not exist any longer")?;
    let there = Place { account: &account, region: &place.region, session: "delete-pubkey" };
    provider.delete_key(&there, key).await.map_err(|error| error.to_string())
}

fn warning(place: &Uploaded, why: &str) -> String {
    let Uploaded { source, region, name, .. } = place;
    format!("key pair {name:?} stays in {region} of source {source}: {why}")
}

/// Makes a tombstone of the row, and gives the name back.
async fn bury(engine: &Engine, who: &Requester, record: &PubkeyRecord) -> Result<(), Rejection> {
    let row = resource(who, &record.fingerprint);
    let gone = PubkeyRecord { gone_at: Some(engine.now()), ..record.clone() };
    let portrait = gone.portrait().map_err(internal)?;
    for _ in 0..LOOKS_MAX {
        let Some(there) = engine.resource(&row).await?.filter(|there| there.gone_at.is_none()) else {
            return Err(missing());
        };
        let expect = Expect::Version(there.version);
        if engine.write_resource(&row, &who.tenant(), expect, Some(portrait.clone())).await? {
            let name = Name { engine, who, name: &record.name, key: &row };
            return name.release().await;
        }
    }
    Err(Rejection::conflict("somebody else is changing this key; try again"))
}
