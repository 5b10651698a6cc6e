//! `POST /upgrade/cluster` and `POST /upgrade/kyma`

use api::{Code, ProblemBody};
use axum::Extension;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use engine::store::{Expect, ResourceQuery};
use engine::{Engine, Resource, SubmitError};
use server::ToWire;
use server::audit::about;
use server::error;
use server::http::body::JsonBody;
use server::http::{Failure, idempotency_key};
use server::principal::Principal;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::request::{CheckedUpgrade, check};
use super::wire::{self, UpgradeRequest};
use crate::api::operators::{Operators, Shared};
use crate::model::InstanceRecord;
use crate::model::catalog::BackendKind;
use crate::model::orchestration::select::without_place;
use crate::model::orchestration::{Durations, OrchestrationRecord, OrchestrationState, UpgradeKind};
use crate::model::request::{shown_patch, shown_upgrade};
use crate::workflows::orchestration::TENANT;
use crate::workflows::orchestration::chosen;

const PAGE: usize = 500;
/// What a dry run lists.
const LISTED_MAX: usize = 1000;

/// How both upgrades answer.
#[derive(utoipa::IntoResponses)]
#[expect(dead_code, reason = "it describes the answers of the endpoints that use it")]
enum UpgradeResponses {
    /// It begins.
    #[response(status = ACCEPTED)]
    Started(wire::StartedOrchestration),
    /// With `dryRun`: the targets and what would be sent. Nothing has changed.
    #[response(status = OK)]
    Preview(wire::UpgradePreview),
    /// No target is included, or a member is wrong: `invalid-body`.
    #[response(status = BAD_REQUEST, content_type = "application/problem+json")]
    Wrong(ProblemBody),
}

/// Upgrades Kubernetes and the nodes of many runtimes.
///
/// With the header `Idempotency-Key` the same request can be sent again.
#[utoipa::path(
    post, path = "/upgrade/cluster", tag = "upgrades", operation_id = "upgrade_cluster",
    request_body = UpgradeRequest, responses(UpgradeResponses)
)]
pub(crate) async fn upgrade_cluster(
    State(app): State<Shared>,
    Extension(caller): Extension<Principal>,
    headers: HeaderMap,
    JsonBody(asked): JsonBody<UpgradeRequest>,
) -> Result<Response, Failure> {
    start(&app, &caller, &headers, UpgradeKind::Cluster, asked).await
}

/// Upgrades Kyma on many runtimes.
///
/// Runtimes of Infrastructure Manager have no such upgrade: they are skipped, and where no other one fits, the request is
/// refused. With the header `Idempotency-Key` the same request can be sent again.
#[utoipa::path(
    post, path = "/upgrade/kyma", tag = "upgrades", operation_id = "upgrade_kyma",
    request_body = UpgradeRequest,
    responses(
        UpgradeResponses,
        (status = UNPROCESSABLE_ENTITY,
         description = "All runtimes that fit are of a back end without this upgrade: `invalid-command`."),
    )
)]
pub(crate) async fn upgrade_kyma(
    State(app): State<Shared>,
    Extension(caller): Extension<Principal>,
    headers: HeaderMap,
    JsonBody(asked): JsonBody<UpgradeRequest>,
) -> Result<Response, Failure> {
    start(&app, &caller, &headers, UpgradeKind::Kyma, asked).await
}

async fn start(
    app: &Operators,
    caller: &Principal,
    headers: &HeaderMap,
    kind: UpgradeKind,
    asked: UpgradeRequest,
) -> Result<Response, Failure> {
    let checked = check(kind, &asked, &app.runtimes)?;
    // Every back end upgrades clusters, so the runtimes need not be looked at before one begins.
    let preview = match (asked.dry_run, kind) {
        (false, UpgradeKind::Cluster) => None,
        _ => Some(preview(app, kind, &checked).await?),
    };
    if let Some(preview) = &preview
        && preview.total_count == 0
        && let Some(skipped) = preview.skipped.first()
    {
        return Err(nothing_to_upgrade(preview.skipped_count, &skipped.reason));
    }
    if asked.dry_run {
        return Ok(Json(preview).into_response());
    }
    let id = match idempotency_key(headers)? {
        Some(key) => keyed(&caller.name, &key),
        None => uuid::Builder::from_random_bytes(rand::random()).into_uuid(),
    };
    let now = app.engine.now();
    let record = OrchestrationRecord {
        id: id.to_string(),
        kind,
        state: OrchestrationState::Pending,
        description: "choosing the runtimes".to_owned(),
        created_by: caller.name.clone(),
        targets: asked.targets,
        change: checked.change,
        strategy: checked.strategy,
        looked_until: None,
        is_resolved: false,
        running: Vec::new(),
        begun: 0,
        failures: 0,
        is_canary_over: false,
        retry: None,
        durations: Durations::default(),
        finished_at: None,
        due_at: Some(now),
    };
    create(&app.engine, &record).await?;
    let skipped_count = preview.map_or(0, |preview| preview.skipped_count);
    let started = wire::StartedOrchestration { orchestration_id: id, skipped_count };
    Ok((StatusCode::ACCEPTED, about(&id), Json(started)).into_response())
}

/// The same key from the same caller means the same orchestration. A key that was used for another request is refused.
async fn create(engine: &Engine, record: &OrchestrationRecord) -> Result<(), Failure> {
    let update = record.record_update().map_err(|_| Failure::internal())?;
    let name = OrchestrationRecord::resource(&record.id);
    let written = engine.write_resource(&name, TENANT, Expect::Absent, Some(update)).await;
    if written.map_err(error::submit)? {
        return Ok(());
    }
    let there = super::find(engine, &record.id).await?.record;
    let is_same = (there.kind, &there.targets, &there.change, &there.strategy)
        == (record.kind, &record.targets, &record.change, &record.strategy);
    if is_same { Ok(()) } else { Err(error::submit(SubmitError::KeyReused)) }
}

fn keyed(caller: &str, key: &str) -> Uuid {
    let digest = Sha256::digest(format!("orchestration\n{caller}\n{key}").as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

fn nothing_to_upgrade(count: usize, reason: &str) -> Failure {
    let detail = format!(
        "targets: none of the {count} runtimes that fit can be upgraded: {reason}. Choose another channel \
         in the Kyma resource on the cluster, or upgrade the cluster with `/upgrade/cluster`"
    );
    Failure::new(Code::InvalidCommand, detail).with("field", "targets")
}

/// Looks at all instances, and writes nothing.
async fn preview(
    app: &Operators,
    kind: UpgradeKind,
    checked: &CheckedUpgrade,
) -> Result<wire::UpgradePreview, Failure> {
    let mut preview = wire::UpgradePreview { dry_run: true, ..wire::UpgradePreview::default() };
    let mut after = None;
    loop {
        let query = ResourceQuery {
            kind: InstanceRecord::KIND.to_owned(),
            after,
            limit: PAGE,
            ..ResourceQuery::default()
        };
        let rows = app.engine.resources(&query).await?.rows;
        for instance in rows.iter().filter_map(|row| chosen(row, &checked.selection)) {
            if let Some(reason) = without_place(kind, &instance) {
                preview.skipped_count += 1;
                if preview.skipped.len() < LISTED_MAX {
                    preview.skipped.push(skipped_target(instance, reason));
                }
                continue;
            }
            preview.total_count += 1;
            if preview.data.len() < LISTED_MAX {
                preview.data.push(preview_target(app, checked, instance));
            }
        }
        after = rows.last().map(|row| row.number);
        if rows.len() < PAGE {
            preview.count = preview.data.len();
            return Ok(preview);
        }
    }
}

fn skipped_target(instance: InstanceRecord, reason: &str) -> wire::SkippedTarget {
    wire::SkippedTarget {
        instance_id: instance.instance_id,
        runtime_id: instance.runtime_id.unwrap_or_default(),
        service_plan_name: instance.plan,
        reason: reason.to_owned(),
    }
}

fn preview_target(
    app: &Operators,
    checked: &CheckedUpgrade,
    instance: InstanceRecord,
) -> wire::UpgradePreviewTarget {
    let now = app.engine.now();
    let earliest = checked.strategy.begins_at.unwrap_or(now).max(now);
    let window = checked.strategy.in_window.then(|| app.runtimes.windows.opening(&instance, earliest));
    let runtime_id = instance.runtime_id.unwrap_or_default();
    wire::UpgradePreviewTarget {
        request: match instance.backend.unwrap_or_default() {
            BackendKind::Provisioner => shown_upgrade(&checked.change, &runtime_id),
            BackendKind::InfrastructureManager => shown_patch(&checked.change, &runtime_id),
        },
        instance_id: instance.instance_id,
        runtime_id,
        global_account_id: instance.account,
        sub_account_id: instance.subaccount,
        service_plan_name: instance.plan,
        region: instance.region,
        shoot_name: instance.shoot,
        begins_at: window.map_or(earliest, |window| window.begin.max(earliest)).to_wire(),
    }
}
