//! Records by their number, which is the id that clients know them by, and names for new ones.

use engine::store::{ResourceQuery, ResourceRow, StoreError};
use engine::{Clock, Engine, Resource, WallClock};
use uuid::Uuid;

/// The query whose only row, if it has this number, is the one that is meant.
pub(crate) fn query<R: Resource>(tenant: &str, number: i64) -> ResourceQuery {
    ResourceQuery {
        kind: R::KIND.to_owned(),
        tenant: Some(tenant.to_owned()),
        after: Some(number.saturating_sub(1)),
        limit: 1,
        ..ResourceQuery::default()
    }
}

pub async fn row<R: Resource>(
    engine: &Engine,
    tenant: &str,
    number: i64,
) -> Result<Option<ResourceRow>, StoreError> {
    let page = engine.resources(&query::<R>(tenant, number)).await?;
    Ok(page.rows.into_iter().find(|row| row.number == number))
}

/// A record that this release cannot read is an error of the store, and not a missing one.
pub fn read<R: Resource>(row: &ResourceRow) -> Result<R, StoreError> {
    serde_json::from_str(&row.record)
        .map_err(|error| StoreError::Refused(format!("the record {} cannot be read: {error}", row.name)))
}

/// Those of a list that can be read. One that cannot be is in the log, and does not hide the others.
pub(crate) fn readable<R: Resource>(rows: Vec<ResourceRow>) -> impl Iterator<Item = (ResourceRow, R)> {
    rows.into_iter().filter_map(|row| match read(&row) {
        Ok(record) => Some((row, record)),
        Err(error) => {
            tracing::error!(%error, "record unreadable, left out of the list");
            None
        }
    })
}

/// A name for something new, so that the order of names is the order of creation.
pub(crate) fn fresh_id(engine: &Engine) -> Uuid {
    let millis = u64::try_from(engine.now().millis()).unwrap_or(0);
    let random = (u128::from(WallClock.chance()) << 64) | u128::from(WallClock.chance());
    let mut bytes = [0; 10];
    bytes.copy_from_slice(&random.to_be_bytes()[..10]);
    uuid::Builder::from_unix_timestamp_millis(millis, &bytes).into_uuid()
}
