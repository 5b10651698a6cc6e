//! `GET /runtimes`

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Binding, InstanceRecord};
use axum::Json;
use axum::extract::State;
use engine::store::{OperationQuery, ResourceQuery, Summary};
use engine::{Engine, Resource};

use super::config::RuntimeConfig;
use super::{ExistingInstance, Operators, Shared, filter, show};
use crate::api::types;
use server::ToWire;
use server::http::Failure;
use server::query::{Query, not_allowed};

const SIZE_MAX: u16 = 100;
/// Bindings that one answer shows; an instance has ten at most.
const BINDINGS_MAX: usize = 1000;
/// So many pages of bindings are looked through for the instances that have some.
const BINDING_PAGES_MAX: usize = 100;
/// Of one runtime; `/runtimes/{id}/operations` has the rest.
const OPERATIONS_MAX: usize = 100;

/// Service instances with their runtimes, newest first, or oldest first with `sort=created_at`.
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
    let details = Details::read(&mut query, app.compat_keb)?;
    let with_bindings = filter::flag(&mut query, "with_bindings")?.unwrap_or(false);
    filter::order(&mut query, &mut wanted, app.compat_keb)?;
    let size = filter::page(&mut query, &mut wanted, SIZE_MAX)?;
    query.finish()?;
    if with_bindings {
        let bound = with_live_bindings(&app.engine).await?;
        wanted.names = match std::mem::take(&mut wanted.names) {
            none if none.is_empty() => bound.into_iter().collect(),
            asked => asked.into_iter().filter(|name| bound.contains(name)).collect(),
        };
        if wanted.names.is_empty() {
            let total_count = Some(0);
            return Ok(Json(types::RuntimePage { count: 0, data: Vec::new(), total_count, next: None }));
        }
    }
    // A record that cannot be read is in the log, and does not hide the others.
    let read = |row| ExistingInstance::read(row).ok();
    let found = types::Page::of(app.engine.resources(&wanted).await?, size, &wanted, read);
    let mut operations =
        if details.all_operations { operations(&app.engine, &found.data).await? } else { BTreeMap::new() };
    let mut page = found.map(|found| {
        let mut shown = details.runtime(&app, &found);
        if details.all_operations {
            let operations = operations.remove(&found.row.name).unwrap_or_default();
            show::all_operations(&mut shown, found.instance.suspended, &operations);
        }
        shown
    });
    if details.bindings {
        add_bindings(&app.engine, &mut page.data).await?;
    }
    Ok(Json(page.into()))
}

/// What is shown with each runtime.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the query")]
struct Details {
    bindings: bool,
    all_operations: bool,
    actions: bool,
    runtime: bool,
    kyma: bool,
    cluster: bool,
}

impl Details {
    fn read(query: &mut Query, compat_keb: bool) -> Result<Details, Failure> {
        let all_operations = match query.text("op_detail")?.as_deref() {
            None => compat_keb,
            Some("all") => true,
            Some("last") => false,
            Some(other) => return Err(not_allowed("op_detail", other, "last or all")),
        };
        let mut flag = |name| filter::flag(query, name).map(|flag| flag.unwrap_or(false));
        Ok(Details {
            all_operations,
            bindings: flag("bindings")?,
            actions: flag("actions")?,
            runtime: flag("runtime_config")?,
            kyma: flag("kyma_config")?,
            cluster: flag("cluster_config")?,
        })
    }

    fn runtime(self, app: &Operators, found: &ExistingInstance) -> types::Runtime {
        let mut shown = show::runtime(found, Some(&app.catalog));
        shown.actions = self.actions.then(|| show::actions(found));
        if self.runtime || self.kyma || self.cluster {
            let config = RuntimeConfig::of(app, found);
            shown.runtime_config = config.as_ref().filter(|_| self.runtime).map(RuntimeConfig::runtime);
            shown.kyma_config = config.as_ref().filter(|_| self.kyma).map(RuntimeConfig::kyma);
            shown.cluster_config = config.as_ref().filter(|_| self.cluster).map(RuntimeConfig::cluster);
        }
        shown
    }
}

/// The newest operations of each instance, by its name. One query for all of them, and another one only for those whose
/// share an instance with a very long history took.
async fn operations(
    engine: &Engine,
    found: &[ExistingInstance],
) -> Result<BTreeMap<String, Vec<Summary>>, Failure> {
    let mut names: Vec<String> = found.iter().map(|found| found.row.name.clone()).collect();
    let mut of: BTreeMap<String, Vec<Summary>> = BTreeMap::new();
    while !names.is_empty() {
        let limit = names.len() * OPERATIONS_MAX;
        let query = OperationQuery { resources: names.clone(), limit, ..OperationQuery::default() };
        let listed = engine.list(&query).await?;
        let is_whole = listed.len() < limit;
        let mut round: BTreeMap<String, Vec<Summary>> = BTreeMap::new();
        for summary in listed {
            let Some(name) = summary.resource.clone() else { continue };
            round.entry(name).or_default().push(summary);
        }
        names.retain(|name| !is_whole && round.get(name).is_none_or(|list| list.len() < OPERATIONS_MAX));
        for (name, mut list) in round {
            list.truncate(OPERATIONS_MAX);
            of.insert(name, list);
        }
    }
    Ok(of)
}

/// The names of the instances that have bindings.
async fn with_live_bindings(engine: &Engine) -> Result<BTreeSet<String>, Failure> {
    let mut names = BTreeSet::new();
    let mut query =
        ResourceQuery { kind: Binding::KIND.to_owned(), limit: BINDINGS_MAX, ..ResourceQuery::default() };
    for _ in 0..BINDING_PAGES_MAX {
        let rows = engine.resources(&query).await?.rows;
        query.after = rows.last().map(|row| row.number);
        let has_more = rows.len() == BINDINGS_MAX;
        let bindings = rows.iter().filter_map(|row| serde_json::from_str::<Binding>(&row.record).ok());
        names.extend(bindings.map(|binding| InstanceRecord::resource(&binding.instance_id)));
        if !has_more {
            break;
        }
    }
    Ok(names)
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
