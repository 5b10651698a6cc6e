//! One launch of the caller's organisation, by its id or number.

use crate::model::cloud::ProviderKind;
use crate::model::numbers;
use crate::model::record::LaunchRecord;
use crate::model::status::{UnreadableStatus, View};
use engine::Resource;
use engine::store::ResourceRow;
use tracing::error;
use uuid::Uuid;

use super::super::LaunchShared;
use super::super::principal::TenantPrincipal;
use super::super::rights::{RESERVATION, Verb};
use crate::api::error;
use server::http::Failure;

/// The journal of a launch is short; what is beyond this shows steps without their times.
const EVENTS_MAX: usize = 1000;

/// A launch with all that is known about it.
pub(crate) struct LaunchDetail {
    pub(crate) view: View,
    /// The number of its last event: what two looks at it differ in.
    pub(crate) seq: u32,
}

impl LaunchDetail {
    /// The name of exactly this version of it.
    pub(crate) fn etag(&self) -> String {
        // The record may be older than the journal, because they are read one after the other.
        format!("\"launch-{}-{}-{}\"", self.view.number, self.view.version, self.seq)
    }
}

/// The name is an id or a number. What is not there and what belongs to others look the same.
pub(crate) async fn find(
    shared: &LaunchShared,
    principal: &TenantPrincipal,
    name: &str,
    verb: Verb,
) -> Result<LaunchDetail, Failure> {
    let row = row(shared, principal, name).await?.ok_or_else(|| error::not_found("launch"))?;
    let view = View::of_row(&row).map_err(unreadable)?;
    principal.must(&format!("{RESERVATION}.{}", view.record.provider), verb)?;
    detailed(shared, view).await
}

async fn row(
    shared: &LaunchShared,
    principal: &TenantPrincipal,
    name: &str,
) -> Result<Option<ResourceRow>, Failure> {
    let tenant = principal.owner.tenant();
    let engine = &shared.app.engine;
    if let Ok(number) = name.parse::<i64>() {
        return Ok(numbers::row::<LaunchRecord>(engine, &tenant, number).await?);
    }
    let Ok(id) = Uuid::try_parse(name) else { return Ok(None) };
    let row = engine.resource(&LaunchRecord::resource(id)).await?;
    Ok(row.filter(|row| row.tenant == tenant && row.kind == LaunchRecord::KIND))
}

async fn detailed(shared: &LaunchShared, view: View) -> Result<LaunchDetail, Failure> {
    let engine = &shared.app.engine;
    let Some(operation) = view.operation else { return Ok(LaunchDetail { view, seq: 0 }) };
    // The record outlives its operation.
    let Some(inspection) = engine.inspect(operation).await? else { return Ok(LaunchDetail { view, seq: 0 }) };
    let journal = engine.journal(operation, 0, EVENTS_MAX).await?;
    Ok(LaunchDetail { seq: inspection.seq, view: view.in_detail(&inspection, &journal) })
}

pub(crate) fn provider(field: &str, text: &str) -> Result<ProviderKind, Failure> {
    text.parse().map_err(|error: String| error::invalid(field, error))
}

/// A launch in a list. One that cannot be read is in the log, and does not hide the others.
pub(crate) fn listed(row: &ResourceRow) -> Option<View> {
    View::of_row(row).inspect_err(|why| error!(%why, "launch record unreadable, left out of the list")).ok()
}

#[expect(clippy::needless_pass_by_value, reason = "it is the end of every such error")]
fn unreadable(why: UnreadableStatus) -> Failure {
    error!(%why, "launch record unreadable");
    Failure::internal()
}
