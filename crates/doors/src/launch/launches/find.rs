//! One launch of the caller's organisation, found by either of its names.

use engine::Resource;
use engine::store::ResourceRow;
use tracing::error;
use uuid::Uuid;
use workflows::launch::cloud::ProviderKind;
use workflows::launch::numbers;
use workflows::launch::record::LaunchRecord;
use workflows::launch::status::{Unreadable, View};

use super::super::Counter;
use super::super::principal::TenantPrincipal;
use super::super::rights::{RESERVATION, Verb};
use crate::http::Failure;
use crate::launch::error;

/// The journal of a launch is short; what is beyond this shows steps without their times.
const EVENTS_MAX: usize = 1000;

/// A launch with all that is known about it.
pub(in crate::launch) struct Found {
    pub(in crate::launch) view: View,
    /// The number of its last event: what two looks at it differ in.
    pub(in crate::launch) seq: u32,
}

impl Found {
    /// The name of exactly this version of it.
    pub(in crate::launch) fn etag(&self) -> String {
        // The record may be older than the journal, because they are read one after the other.
        format!("\"launch-{}-{}-{}\"", self.view.number, self.view.version, self.seq)
    }
}

/// The name is an id or a number. What is not there and what belongs to others look the same.
pub(in crate::launch) async fn find(
    desk: &Counter,
    principal: &TenantPrincipal,
    name: &str,
    verb: Verb,
) -> Result<Found, Failure> {
    let row = row(desk, principal, name).await?.ok_or_else(|| error::not_found("launch"))?;
    let view = View::of_row(&row).map_err(unreadable)?;
    principal.must(&format!("{RESERVATION}.{}", view.record.provider), verb)?;
    detailed(desk, view).await
}

async fn row(
    desk: &Counter,
    principal: &TenantPrincipal,
    name: &str,
) -> Result<Option<ResourceRow>, Failure> {
    let tenant = principal.requester.tenant();
    let engine = &desk.hall.engine;
    if let Ok(number) = name.parse::<i64>() {
        return Ok(numbers::row::<LaunchRecord>(engine, &tenant, number).await?);
    }
    let Ok(id) = Uuid::try_parse(name) else { return Ok(None) };
    let row = engine.resource(&LaunchRecord::resource(id)).await?;
    Ok(row.filter(|row| row.tenant == tenant && row.kind == LaunchRecord::KIND))
}

async fn detailed(desk: &Counter, view: View) -> Result<Found, Failure> {
    let engine = &desk.hall.engine;
    let Some(operation) = view.operation else { return Ok(Found { view, seq: 0 }) };
    // The record outlives its operation.
    let Some(inspection) = engine.inspect(operation).await? else { return Ok(Found { view, seq: 0 }) };
    let journal = engine.journal(operation, 0, EVENTS_MAX).await?;
    Ok(Found { seq: inspection.seq, view: view.in_detail(&inspection, &journal) })
}

pub(in crate::launch) fn provider(field: &str, text: &str) -> Result<ProviderKind, Failure> {
    text.parse().map_err(|error: String| error::invalid(field, error))
}

/// A launch in a list. One that cannot be read is in the log, and does not hide the others.
pub(in crate::launch) fn listed(row: &ResourceRow) -> Option<View> {
    View::of_row(row).inspect_err(|why| error!(%why, "launch left out of a list")).ok()
}

#[expect(clippy::needless_pass_by_value, reason = "it is the end of every such error")]
fn unreadable(why: Unreadable) -> Failure {
    error!(%why, "a launch cannot be shown");
    Failure::internal()
}
