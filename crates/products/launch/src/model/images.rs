//! The images that an organisation had built, how far they are, and what was launched from them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use engine::store::{ResourceQuery, ResourceRow};
use engine::{Engine, Resource};
use identity::CallerIdentity;
use image_builder::{Compose, ImageBuilder, ListedImages};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::api_error::LaunchApiError;
use super::numbers;
use super::params::LaunchOwner;
use super::record::LaunchRecord;
use super::resolve::{builder_error, no_builder};
use super::settings::Launches;

#[derive(Debug, Clone, Default)]
pub struct ImagesPage {
    /// Newest first, as the Image Builder lists them.
    pub images: Vec<ImageItem>,
    /// How many there are in all.
    pub total: u64,
}

#[derive(Debug, Clone)]
pub struct ImageItem {
    pub listed: ListedImages,
    /// Nothing when the Image Builder did not say so in time.
    pub compose: Option<Compose>,
    /// Oldest first.
    pub launches: Vec<LaunchOfImage>,
}

#[derive(Debug, Clone)]
pub struct LaunchOfImage {
    pub row: ResourceRow,
    pub record: LaunchRecord,
}

/// What the Image Builder gives at most.
pub const LIMIT_MAX: u32 = 100;
/// How long a page waits for the states of all its images.
const STATES_LIMIT: Duration = Duration::from_secs(3);
const ASKED_AT_ONCE: usize = 8;
/// More launches of the images of one page are not shown.
const LAUNCHES_MAX: usize = 1000;

pub async fn page(
    launches: &Launches,
    engine: &Engine,
    who: &LaunchOwner,
    identity: Option<&CallerIdentity>,
    limit: u32,
    offset: u32,
) -> Result<ImagesPage, LaunchApiError> {
    let builder = launches.builder.as_ref().ok_or_else(no_builder)?;
    let caller_identity = launches.builder_identity(who, identity)?.identity;
    let page = builder.page(&caller_identity, limit.clamp(1, LIMIT_MAX), offset).await;
    let (listed, total) = page.map_err(|error| builder_error(&error))?;
    let ids: Vec<Uuid> = listed.iter().map(|image| image.id).collect();
    let mut composes = states(builder, &caller_identity, &ids).await;
    let mut made = made_from(engine, who, &ids).await?;
    let images = listed.into_iter().map(|listed| ImageItem {
        compose: composes.remove(&listed.id),
        launches: made.remove(&listed.id).unwrap_or_default(),
        listed,
    });
    Ok(ImagesPage { images: images.collect(), total })
}

async fn states(
    builder: &ImageBuilder,
    caller_identity: &CallerIdentity,
    ids: &[Uuid],
) -> HashMap<Uuid, Compose> {
    let room = Arc::new(Semaphore::new(ASKED_AT_ONCE));
    let mut asked = JoinSet::new();
    for id in ids.iter().copied() {
        let (builder, caller_identity, room) = (builder.clone(), caller_identity.clone(), Arc::clone(&room));
        asked.spawn(async move {
            let _place = room.acquire_owned().await.ok()?;
            Some((id, builder.status(&caller_identity, id).await.ok()?))
        });
    }
    let mut known = HashMap::new();
    let all = async {
        while let Some(answer) = asked.join_next().await {
            known.extend(answer.ok().flatten());
        }
    };
    // What has not come by then is given up when the set goes.
    let _ = tokio::time::timeout(STATES_LIMIT, all).await;
    known
}

/// The launches of these images, in one query.
async fn made_from(
    engine: &Engine,
    who: &LaunchOwner,
    ids: &[Uuid],
) -> Result<HashMap<Uuid, Vec<LaunchOfImage>>, LaunchApiError> {
    let mut made: HashMap<Uuid, Vec<LaunchOfImage>> = HashMap::new();
    if ids.is_empty() {
        return Ok(made);
    }
    let query = ResourceQuery {
        kind: LaunchRecord::KIND.to_owned(),
        tenant: Some(who.tenant()),
        labels: vec![("compose".to_owned(), ids.iter().map(Uuid::to_string).collect())],
        limit: LAUNCHES_MAX,
        ..ResourceQuery::default()
    };
    for (row, record) in numbers::readable::<LaunchRecord>(engine.resources(&query).await?.rows) {
        if let Some(compose) = record.compose() {
            made.entry(compose).or_default().push(LaunchOfImage { row, record });
        }
    }
    Ok(made)
}
