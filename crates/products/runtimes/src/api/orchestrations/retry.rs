//! `POST /orchestrations/{id}/retry`

use api::Code;
use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use engine::Engine;
use engine::store::ResourceQuery;
use server::audit::about;
use server::http::Failure;
use server::http::body::{self, check_type, parse_object};
use server::query::Name;

use super::wire::{RetryAnswer, RetryBody};
use super::{change, find, uuid_of, wire};
use crate::api::operators::Shared;
use crate::model::orchestration::decide::{OrchestrationVerb, asked};
use crate::model::orchestration::{OrchestrationRecord, RetryRequest, TargetRecord, TargetState};
use crate::workflows::orchestration::of_targets;

const FORM: &str = "application/x-www-form-urlencoded";
/// Ids that one request may name; the record keeps them.
const OPERATIONS_MAX: usize = 500;
const LISTED_MAX: usize = 1000;
const BYTES_MAX: usize = 64 * 1024;

/// Tries failed upgrades again, and goes on with those that a limit of failures held back.
///
/// The body may be left out, be JSON, or a form with `operation-id` and `immediate`.
#[utoipa::path(
    post, path = "/orchestrations/{id}/retry", tag = "upgrades", operation_id = "retry_orchestration",
    params(("id" = String, Path, description = "The id of the orchestration.")),
    request_body = Option<wire::RetryBody>,
    responses(
        (status = ACCEPTED, body = wire::RetryAnswer, description = "They are tried again."),
        (status = NOT_FOUND, description = "There is none: `orchestration-not-found`."),
        (status = CONFLICT, description = "It has not failed: `conflict`; or `resource-changed`."),
    )
)]
pub(crate) async fn retry_orchestration(
    State(app): State<Shared>,
    Name(id): Name,
    request: Request,
) -> Result<impl IntoResponse, Failure> {
    let wanted = read(request).await?;
    if wanted.operations.len() > OPERATIONS_MAX {
        let detail = format!("operations: at most {OPERATIONS_MAX}; none means all that failed");
        return Err(Failure::new(Code::InvalidBody, detail).with("field", "operations"));
    }
    let failed = failed(&app.engine, &find(&app.engine, &id).await?.record).await?;
    let is_wanted = |target: &&TargetRecord| {
        wanted.operations.is_empty() || wanted.operations.contains(&target.id.to_string())
    };
    let retried: Vec<&TargetRecord> = failed.iter().filter(is_wanted).collect();
    let is_failed = |id: &String| failed.iter().any(|target| target.id.to_string() == *id);
    let invalid: Vec<String> = wanted.operations.iter().filter(|id| !is_failed(id)).cloned().collect();
    let has_work = retried.len() + usize::from(wanted.operations.is_empty()) > 0;
    let record = change(&app.engine, &id, |record| {
        let next = asked(record.state, OrchestrationVerb::Retry);
        let next = next.map_err(|why| Failure::new(Code::Conflict, why))?;
        if !has_work {
            return Ok(false);
        }
        record.retry =
            Some(RetryRequest { operations: wanted.operations.clone(), immediate: wanted.immediate });
        if let Some(next) = next {
            record.state = next;
            record.finished_at = None;
            "putting back what failed".clone_into(&mut record.description);
        }
        Ok(true)
    })
    .await?;
    let msg = if has_work { "retry operations are queued for processing" } else { "no operation to retry" };
    let answer = RetryAnswer {
        orchestration_id: uuid_of(&record),
        retry_shoots: retried.iter().map(|target| target.shoot.clone()).collect(),
        old_operations: Vec::new(),
        invalid_operations: invalid,
        msg: msg.to_owned(),
    };
    Ok((StatusCode::ACCEPTED, about(&id), Json(answer)))
}

async fn read(request: Request) -> Result<RetryBody, Failure> {
    let headers = request.headers().clone();
    let bytes = body::read(request, BYTES_MAX).await?;
    if bytes.is_empty() {
        return Ok(RetryBody::default());
    }
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !given.starts_with(FORM) {
        check_type(&headers)?;
        return parse_object(&bytes);
    }
    let mut wanted = RetryBody::default();
    // A form is written like the query of an address.
    let text = String::from_utf8_lossy(&bytes);
    let address = reqwest::Url::parse(&format!("http://form/?{text}"));
    let address = address.map_err(|error| Failure::new(Code::InvalidBody, error))?;
    for (name, value) in address.query_pairs() {
        match &*name {
            "operation-id" => wanted.operations.push(value.into_owned()),
            "immediate" => wanted.immediate = value == "true",
            _ => {}
        }
    }
    Ok(wanted)
}

async fn failed(engine: &Engine, record: &OrchestrationRecord) -> Result<Vec<TargetRecord>, Failure> {
    let label = TargetRecord::progress(&record.id, TargetState::Failed);
    let query = ResourceQuery {
        labels: vec![("progress".to_owned(), vec![label])],
        also_gone: true,
        limit: LISTED_MAX,
        ..of_targets()
    };
    let rows = engine.resources(&query).await?.rows;
    Ok(rows.iter().filter_map(|row| serde_json::from_str(&row.record).ok()).collect())
}
