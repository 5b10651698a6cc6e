//! `GET /orchestrations/{id}/operations` and `GET /orchestrations/{id}/operations/{operation}`

use api::Code;
use axum::Json;
use axum::extract::{Path, State};
use engine::store::{ResourceQuery, ResourceRow};
use engine::{Engine, OperationId};
use serde_json::{Map, Value};
use server::ToWire;
use server::http::Failure;
use server::query::{Name, Query, check_text, not_allowed};

use super::list::SIZE_DEFAULT;
use super::{find, wire};
use crate::api::operators::{Shared, filter};
use crate::api::types::Page;
use crate::model::orchestration::{OrchestrationRecord, TargetRecord, TargetState};
use crate::model::request::shown_upgrade;
use crate::workflows::orchestration::of_targets;

/// A grid of runtimes shows as many.
const SIZE_MAX: u16 = 1000;

/// The upgrades of the runtimes of an orchestration, in the order in which they were chosen.
#[utoipa::path(
    get, path = "/orchestrations/{id}/operations", tag = "upgrades", operation_id = "list_upgrade_operations",
    params(("id" = String, Path, description = "The id of the orchestration."), wire::OrchestrationQuery),
    responses(
        (status = OK, body = wire::UpgradeOperationPage, description = "One page."),
        (status = NOT_FOUND, description = "There is none: `orchestration-not-found`."),
    )
)]
pub(crate) async fn list_upgrade_operations(
    State(app): State<Shared>,
    Name(id): Name,
    mut query: Query,
) -> Result<Json<wire::UpgradeOperationPage>, Failure> {
    let record = find(&app.engine, &id).await?.record;
    let mut wanted = ResourceQuery { also_gone: true, ..of_targets() };
    let states = query.all("state");
    let known = TargetState::ALL.map(TargetState::as_str);
    if let Some(other) = states.iter().find(|state| !known.contains(&state.as_str())) {
        return Err(not_allowed("state", other, &format!("one of {}", known.join(", "))));
    }
    wanted.labels.push(if states.is_empty() {
        ("orchestration".to_owned(), vec![record.id.clone()])
    } else {
        let of = |state: &String| format!("{}/{state}", record.id);
        ("progress".to_owned(), states.iter().map(of).collect())
    });
    let size = filter::page_of(&mut query, &mut wanted, SIZE_DEFAULT, SIZE_MAX)?;
    query.finish()?;
    let found = app.engine.resources(&wanted).await?;
    let read = |row: ResourceRow| serde_json::from_str::<TargetRecord>(&row.record).ok();
    Ok(Json(Page::of(found, size, &wanted, |row| read(row).map(|target| shown(target, &record))).into()))
}

/// The upgrade of one runtime, with the configuration that is sent. Its secrets are masked.
#[utoipa::path(
    get, path = "/orchestrations/{id}/operations/{operation}", tag = "upgrades",
    operation_id = "get_upgrade_operation",
    params(
        ("id" = String, Path, description = "The id of the orchestration."),
        ("operation" = String, Path, description = "The id of the operation, or of the service instance."),
    ),
    responses(
        (status = OK, body = wire::UpgradeOperation, description = "The upgrade."),
        (status = NOT_FOUND,
         description = "There is none: `orchestration-not-found` or `operation-not-found`."),
    )
)]
pub(crate) async fn get_upgrade_operation(
    State(app): State<Shared>,
    Path((id, operation)): Path<(String, String)>,
    query: Query,
) -> Result<Json<wire::UpgradeOperation>, Failure> {
    query.finish()?;
    check_text("id", &id)?;
    check_text("operation", &operation)?;
    let record = find(&app.engine, &id).await?.record;
    let target = target(&app.engine, &record, &operation).await?.ok_or_else(|| {
        let detail = format!("the orchestration has no operation {operation:?}");
        Failure::new(Code::OperationNotFound, detail)
    })?;
    let request = match target.operation {
        Some(id) => sent(&app.engine, id).await?,
        None => None,
    };
    let request = request.unwrap_or_else(|| shown_upgrade(&record.change, &target.runtime_id));
    let member = |name: &str| request.get(name).cloned();
    Ok(Json(wire::UpgradeOperation {
        cluster_config: member("clusterConfig"),
        kyma_config: member("kymaConfig"),
        ..shown(target, &record)
    }))
}

async fn target(
    engine: &Engine,
    record: &OrchestrationRecord,
    id: &str,
) -> Result<Option<TargetRecord>, Failure> {
    let query = ResourceQuery {
        labels: vec![
            ("operation_id".to_owned(), vec![id.to_owned()]),
            ("orchestration".to_owned(), vec![record.id.clone()]),
        ],
        also_gone: true,
        limit: 1,
        ..of_targets()
    };
    let row = match engine.resources(&query).await?.rows.pop() {
        Some(row) => Some(row),
        None => engine.resource(&TargetRecord::resource(&record.id, id)).await?,
    };
    Ok(row.and_then(|row| serde_json::from_str(&row.record).ok()))
}

/// What the operation has sent, as its steps kept it, with its secrets masked.
async fn sent(engine: &Engine, id: OperationId) -> Result<Option<Value>, Failure> {
    let Some(inspection) = engine.inspect(id).await? else { return Ok(None) };
    let mut configs = Map::new();
    for (key, member) in
        [("upgrade_cluster.request", "clusterConfig"), ("upgrade_kyma.request", "kymaConfig")]
    {
        if let Some(request) = inspection.memory.facts.get(key) {
            let config = request.pointer("/config/gardenerConfig").unwrap_or(request);
            configs.insert(member.to_owned(), config.clone());
        }
    }
    Ok((!configs.is_empty()).then_some(Value::Object(configs)))
}

fn shown(target: TargetRecord, record: &OrchestrationRecord) -> wire::UpgradeOperation {
    wire::UpgradeOperation {
        operation_id: target.id,
        instance_id: target.instance_id,
        runtime_id: target.runtime_id,
        global_account_id: target.account,
        sub_account_id: target.subaccount,
        orchestration_id: record.id.clone(),
        service_plan_id: target.plan_id,
        service_plan_name: target.plan,
        region: target.region,
        dry_run: false,
        shoot_name: target.shoot,
        maintenance_window_begin: target.window.map(|window| window.begin).to_wire(),
        maintenance_window_end: target.window.map(|window| window.end).to_wire(),
        state: target.state,
        description: target.description,
        operation: target.operation.map(|id| id.0),
        cluster_config: None,
        kyma_config: None,
    }
}
