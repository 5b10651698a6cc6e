//! `GET /orchestrations`

use axum::Json;
use axum::extract::State;
use engine::Resource;
use engine::store::ResourceQuery;
use server::http::Failure;
use server::query::{Query, not_allowed};

use super::{read, shown, wire};
use crate::api::operators::{Shared, filter};
use crate::api::types::Page;
use crate::model::orchestration::{OrchestrationRecord, OrchestrationState};

const SIZE_MAX: u16 = 1000;
pub(super) const SIZE_DEFAULT: u16 = 100;

/// Orchestrations, newest first.
#[utoipa::path(
    get, path = "/orchestrations", tag = "upgrades", operation_id = "list_orchestrations",
    params(wire::OrchestrationQuery),
    responses((status = OK, body = wire::OrchestrationPage, description = "One page."))
)]
pub(crate) async fn list_orchestrations(
    State(app): State<Shared>,
    mut query: Query,
) -> Result<Json<wire::OrchestrationPage>, Failure> {
    let mut wanted = ResourceQuery {
        kind: OrchestrationRecord::KIND.to_owned(),
        also_gone: true,
        newest_first: true,
        ..ResourceQuery::default()
    };
    let states = query.all("state");
    let known = OrchestrationState::ALL.map(OrchestrationState::as_str);
    if let Some(other) = states.iter().find(|state| !known.contains(&state.as_str())) {
        return Err(not_allowed("state", other, &format!("one of {}", known.join(", "))));
    }
    if !states.is_empty() {
        wanted.labels.push(("state".to_owned(), states));
    }
    let size = filter::page_of(&mut query, &mut wanted, SIZE_DEFAULT, SIZE_MAX)?;
    query.finish()?;
    let found = app.engine.resources(&wanted).await?;
    let page = Page::of(found, size, &wanted, |row| read(row).ok().map(|stored| shown(&stored, None)));
    Ok(Json(page.into()))
}
