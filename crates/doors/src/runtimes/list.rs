//! `GET /runtimes`

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use engine::store::ResourceQuery;
use engine::{Engine, Resource};
use workflows::runtime::Binding;

use super::{Found, filter, show};
use crate::hall::Shared;
use crate::http::Failure;
use crate::paging::cursor_after;
use crate::query::{Query, not_allowed};
use crate::wire;

const SIZE_MAX: u16 = 100;
/// Bindings that one answer shows; an instance has ten at most.
const BINDINGS_MAX: usize = 1000;

/// Service instances with their runtimes, oldest first.
#[utoipa::path(
    get, path = "/runtimes", tag = "runtimes", operation_id = "list_runtimes",
    params(wire::RuntimeQuery),
    responses((status = OK, body = wire::RuntimePage, description = "One page."))
)]
pub(crate) async fn list_runtimes(
    State(hall): State<Shared>,
    mut query: Query,
) -> Result<Json<wire::RuntimePage>, Failure> {
    let mut wanted = filter::filters(&mut query)?;
    let with_bindings = filter::flag(&mut query, "bindings")?.unwrap_or(false);
    if let Some(detail) = query.text("op_detail")?.filter(|detail| detail != "last") {
        return Err(not_allowed("op_detail", &detail, "last; /runtimes/{id}/operations shows all"));
    }
    let size = filter::page(&mut query, &mut wanted, SIZE_MAX)?;
    query.finish()?;
    let page = hall.engine.resources(&wanted).await?;
    let next = page.rows.get(size).and(page.rows.get(size - 1)).map(|last| cursor_after(last.number));
    // A record that cannot be read is in the log, and does not hide the others.
    let found = page.rows.into_iter().take(size).filter_map(|row| Found::read(row).ok());
    let mut data: Vec<wire::Runtime> =
        found.map(|found| show::runtime(&found, hall.catalog.as_ref())).collect();
    if with_bindings {
        add_bindings(&hall.engine, &mut data).await?;
    }
    Ok(Json(wire::RuntimePage { count: data.len(), data, total_count: page.total, next }))
}

/// One query for all of them.
pub(super) async fn add_bindings(engine: &Engine, runtimes: &mut [wire::Runtime]) -> Result<(), Failure> {
    let ids: Vec<String> = runtimes.iter().map(|runtime| runtime.instance_id.clone()).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let query = ResourceQuery {
        kind: Binding::KIND.to_owned(),
        labels: vec![("instance_id".to_owned(), ids)],
        limit: BINDINGS_MAX,
        ..ResourceQuery::default()
    };
    let mut of: BTreeMap<String, Vec<wire::RuntimeBinding>> = BTreeMap::new();
    for row in engine.resources(&query).await?.rows {
        let Ok(binding) = serde_json::from_str::<Binding>(&row.record) else { continue };
        let shown = wire::RuntimeBinding {
            id: binding.binding_id,
            created_at: row.created_at.into(),
            expires_at: binding.expires_at.map(wire::Moment::from),
            kubeconfig_exists: binding.kubeconfig.is_some(),
        };
        of.entry(binding.instance_id).or_default().push(shown);
    }
    for runtime in runtimes {
        runtime.bindings = Some(of.remove(&runtime.instance_id).unwrap_or_default());
    }
    Ok(())
}
