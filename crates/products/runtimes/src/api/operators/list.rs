//! `GET /runtimes`

use std::collections::BTreeMap;

use crate::model::Binding;
use axum::Json;
use axum::extract::State;
use engine::store::ResourceQuery;
use engine::{Engine, Resource};

use super::Shared;
use super::{ExistingInstance, filter, show};
use crate::api::types;
use server::ToWire;
use server::http::Failure;
use server::paging::cursor_after;
use server::query::{Query, not_allowed};

const SIZE_MAX: u16 = 100;
/// Bindings that one answer shows; an instance has ten at most.
const BINDINGS_MAX: usize = 1000;

/// Service instances with their runtimes, oldest first.
#[utoipa::path(
    get, path = "/runtimes", tag = "runtimes", operation_id = "list_runtimes",
    params(types::RuntimeQuery),
    responses((status = OK, body = types::RuntimePage, description = "One page."))
)]
pub(crate) async fn list_runtimes(
    State(app): State<Shared>,
    mut query: Query,
) -> Result<Json<types::RuntimePage>, Failure> {
    let mut wanted = filter::filters(&mut query)?;
    let with_bindings = filter::flag(&mut query, "bindings")?.unwrap_or(false);
    if let Some(detail) = query.text("op_detail")?.filter(|detail| detail != "last") {
        return Err(not_allowed("op_detail", &detail, "last; /runtimes/{id}/operations shows all"));
    }
    let size = filter::page(&mut query, &mut wanted, SIZE_MAX)?;
    query.finish()?;
    let page = app.engine.resources(&wanted).await?;
    let next = page.rows.get(size).and(page.rows.get(size - 1)).map(|last| cursor_after(last.number));
    // A record that cannot be read is in the log, and does not hide the others.
    let found = page.rows.into_iter().take(size).filter_map(|row| ExistingInstance::read(row).ok());
    let mut data: Vec<types::Runtime> =
        found.map(|found| show::runtime(&found, Some(&app.catalog))).collect();
    if with_bindings {
        add_bindings(&app.engine, &mut data).await?;
    }
    Ok(Json(types::RuntimePage { count: data.len(), data, total_count: page.total, next }))
}

/// One query for all of them.
pub(crate) async fn add_bindings(engine: &Engine, runtimes: &mut [types::Runtime]) -> Result<(), Failure> {
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
    let mut of: BTreeMap<String, Vec<types::RuntimeBinding>> = BTreeMap::new();
    for row in engine.resources(&query).await?.rows {
        let Ok(binding) = serde_json::from_str::<Binding>(&row.record) else { continue };
        let shown = types::RuntimeBinding {
            id: binding.binding_id,
            created_at: row.created_at.to_wire(),
            expires_at: binding.expires_at.to_wire(),
            kubeconfig_exists: binding.kubeconfig.is_some(),
        };
        of.entry(binding.instance_id).or_default().push(shown);
    }
    for runtime in runtimes {
        runtime.bindings = Some(of.remove(&runtime.instance_id).unwrap_or_default());
    }
    Ok(())
}
