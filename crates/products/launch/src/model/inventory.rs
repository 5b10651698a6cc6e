//! The instances that launches have made, one by one, and the launches that are about to make some.
//!
//! A page goes through launches in the order of their creation, or in its reverse. The cursor is the number of its last
//! launch, so no page moves while others are launched.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use cloud::{CloudAccount, CloudInstance, ProviderKind};
use engine::store::{ResourceQuery, ResourceRow};
use engine::{Engine, Resource, Timestamp};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::api_error::LaunchApiError;
use super::numbers;
use super::params::LaunchOwner;
use super::record::LaunchRecord;
use super::settings::Launches;
use super::status::LaunchPhase;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct InventoryPage {
    pub items: Vec<Item>,
    /// Where the next page begins; nothing when this was the last one.
    pub next: Option<i64>,
}

/// One instance, or a launch that has none yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    pub launch: Uuid,
    /// The number that clients know the launch by.
    pub number: i64,
    pub stage: LaunchPhase,
    pub provider: ProviderKind,
    pub name: Option<String>,
    pub source_id: Option<String>,
    pub region: Option<String>,
    pub instance_type: Option<String>,
    pub image: Option<String>,
    pub created_at: Timestamp,
    /// Nothing while the launch is under way.
    pub instance: Option<ObservedInstances>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ObservedInstances {
    pub instance: CloudInstance,
    /// The cloud itself said so for this page. Otherwise it is what the launch saw last.
    pub live: bool,
    pub checked_at: Timestamp,
}

type Labels = Vec<(String, Vec<String>)>;

/// How many launches one page may go through.
pub const LIMIT_MAX: usize = 100;
/// How long a page waits for all clouds together.
const CLOUDS_LIMIT: Duration = Duration::from_secs(2);
/// How many accounts are asked at a time.
const ASKED_AT_ONCE: usize = 8;

/// Which page is wanted.
#[derive(Debug, Clone, Copy)]
pub struct PageQuery {
    /// Instances of all clouds, or of one.
    pub provider: Option<ProviderKind>,
    pub newest_first: bool,
    /// The number of the last launch of the page before.
    pub after: Option<i64>,
    /// How many launches the page goes through at most.
    pub limit: usize,
}

/// A page of launches with all their instances.
pub async fn page(
    launches: &Launches,
    engine: &Engine,
    who: &LaunchOwner,
    wanted: PageQuery,
) -> Result<InventoryPage, LaunchApiError> {
    let limit = wanted.limit.clamp(1, LIMIT_MAX);
    let (made, coming) = labels(wanted.provider);
    let made = rows(engine, who, made, wanted, limit).await?;
    let coming = rows(engine, who, coming, wanted, limit).await?;
    let all: BTreeMap<i64, ResourceRow> =
        made.into_iter().chain(coming).map(|row| (row.number, row)).collect();
    let mut rows: Vec<ResourceRow> =
        if wanted.newest_first { all.into_values().rev().collect() } else { all.into_values().collect() };
    let is_full = rows.len() >= limit;
    rows.truncate(limit);
    let next = rows.last().map(|row| row.number).filter(|_| is_full);
    let readable = numbers::readable(rows);
    let mut items: Vec<Item> = readable.flat_map(|(row, record)| items_of(&row, &record)).collect();
    look(launches, engine, who, &mut items).await;
    Ok(InventoryPage { items, next })
}

/// The labels of the launches with instances, and of those under way that a page shows.
fn labels(provider: Option<ProviderKind>) -> (Labels, Labels) {
    let is = |label: &str, value: &str| (label.to_owned(), vec![value.to_owned()]);
    let wanted = provider.map(|provider| is("provider", provider.as_str()));
    let made = vec![is("instances", "yes")].into_iter().chain(wanted.clone()).collect();
    let coming = [is("on_inventory", "yes"), is("state", "active")].into_iter().chain(wanted).collect();
    (made, coming)
}

/// One instance of a launch, as a page would show it.
pub async fn one(
    launches: &Launches,
    engine: &Engine,
    who: &LaunchOwner,
    row: &ResourceRow,
    instance_id: &str,
) -> Result<Option<Item>, LaunchApiError> {
    let mut items = items_of(row, &numbers::read(row)?);
    items.retain(|item| item.instance.as_ref().is_some_and(|seen| seen.instance.id == instance_id));
    look(launches, engine, who, &mut items).await;
    Ok(items.pop())
}

async fn rows(
    engine: &Engine,
    who: &LaunchOwner,
    labels: Labels,
    PageQuery { newest_first, after, .. }: PageQuery,
    limit: usize,
) -> Result<Vec<ResourceRow>, LaunchApiError> {
    let (kind, tenant) = (LaunchRecord::KIND.to_owned(), Some(who.tenant()));
    let query =
        ResourceQuery { kind, tenant, labels, newest_first, after, limit, ..ResourceQuery::default() };
    Ok(engine.resources(&query).await?.rows)
}

fn items_of(row: &ResourceRow, launch: &LaunchRecord) -> Vec<Item> {
    let parameters = launch.parameters.as_ref();
    let item = |instance: Option<ObservedInstances>| Item {
        launch: launch.launch,
        number: row.number,
        stage: launch.stage,
        provider: launch.provider,
        name: parameters.and_then(|parameters| parameters.name.clone()),
        source_id: parameters.map(|parameters| parameters.source_id.clone()),
        region: parameters.map(|parameters| parameters.region.clone()),
        instance_type: parameters.and_then(|parameters| parameters.instance_type.clone()),
        image: launch.state.image.as_ref().map(|image| image.id.clone()),
        created_at: row.created_at,
        instance,
    };
    if launch.state.instances.is_empty() {
        return vec![item(None)];
    }
    let seen = launch.state.instances.iter().map(|tracked| ObservedInstances {
        instance: tracked.instance.clone(),
        live: false,
        checked_at: tracked.seen_at,
    });
    seen.map(|seen| item(Some(seen))).collect()
}

/// One account in one region.
type Spot = (ProviderKind, String, String);

/// Asks the clouds once for each account and region. Who does not answer in time leaves the page as it is.
async fn look(launches: &Launches, engine: &Engine, who: &LaunchOwner, items: &mut [Item]) {
    let mut wanted: HashMap<Spot, Vec<String>> = HashMap::new();
    for item in items.iter() {
        if let (Some(spot), Some(seen)) = (spot(item), &item.instance) {
            wanted.entry(spot).or_default().push(seen.instance.id.clone());
        }
    }
    let room = Arc::new(Semaphore::new(ASKED_AT_ONCE));
    let mut asked = JoinSet::new();
    for (spot, ids) in wanted {
        let (launches, who, room) = (launches.clone(), who.clone(), Arc::clone(&room));
        asked.spawn(async move {
            let _place = room.acquire_owned().await.ok()?;
            let found = describe(&launches, &who, &spot, &ids).await?;
            Some((spot, found))
        });
    }
    let mut live: HashMap<Spot, HashMap<String, CloudInstance>> = HashMap::new();
    let all = async {
        while let Some(answer) = asked.join_next().await {
            if let Ok(Some((spot, found))) = answer {
                live.insert(spot, found);
            }
        }
    };
    // What has not come by then is given up when the set goes.
    let _ = tokio::time::timeout(CLOUDS_LIMIT, all).await;
    let now = engine.now();
    for item in items {
        let Some(found) = spot(item).and_then(|spot| live.get(&spot)) else { continue };
        if let Some(seen) = &mut item.instance {
            seen.instance = found
                .get(&seen.instance.id)
                .cloned()
                .unwrap_or_else(|| CloudInstance::forgotten(&seen.instance.id));
            (seen.live, seen.checked_at) = (true, now);
        }
    }
}

fn spot(item: &Item) -> Option<Spot> {
    Some((item.provider, item.source_id.clone()?, item.region.clone()?))
}

async fn describe(
    launches: &Launches,
    who: &LaunchOwner,
    (provider, source, region): &Spot,
    ids: &[String],
) -> Option<HashMap<String, CloudInstance>> {
    let provider = launches.providers.get(provider)?;
    let account = launches.accounts.get(who, source).await.ok()??;
    let session = format!("inventory-{}", who.org);
    let cloud_account = CloudAccount { account: &account, region, session: &session };
    let found = provider.describe(&cloud_account, ids).await.ok()?;
    Some(found.into_iter().map(|instance| (instance.id.clone(), instance)).collect())
}
