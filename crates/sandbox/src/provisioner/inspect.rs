//! What the provisioner received, for tests and for curious people; secret values only on demand.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::Provisioner;
use super::runtimes::{RuntimeTable, SimulatedRuntime};
use crate::answer::CallError;

const LISTED_MAX: usize = 1000;
const MASK: &str = "<secret>";

/// What is not understood is refused, so that a typing error does not widen a question.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListQuery {
    #[serde(default)]
    reveal: bool,
    name: Option<String>,
    instance_id: Option<String>,
    /// The id of the last runtime of the list before.
    after: Option<String>,
    limit: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ShowQuery {
    #[serde(default)]
    reveal: bool,
}

pub(super) async fn list(
    State(provisioner): State<Arc<Provisioner>>,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Json<Value>, CallError> {
    let Query(query) = query?;
    let now = provisioner.clock.now();
    let runtimes = provisioner.settled();
    let is_asked_for = |runtime: &&SimulatedRuntime| {
        query.name.as_ref().is_none_or(|name| runtime.subject.name.as_ref() == Some(name))
            && query.instance_id.as_ref().is_none_or(|id| runtime.subject.instance_id.as_ref() == Some(id))
            && query.after.as_ref().is_none_or(|after| runtime.id > *after)
    };
    let listed =
        runtimes.by_id.values().filter(is_asked_for).take(query.limit.unwrap_or(100).min(LISTED_MAX));
    let bodies: Vec<Value> = listed.map(|runtime| body(&runtimes, runtime, now, query.reveal)).collect();
    Ok(Json(json!({"runtimes": bodies})))
}

pub(super) async fn show(
    State(provisioner): State<Arc<Provisioner>>,
    id: Result<Path<String>, PathRejection>,
    query: Result<Query<ShowQuery>, QueryRejection>,
) -> Result<Json<Value>, CallError> {
    let (Path(id), Query(query)) = (id?, query?);
    let runtimes = provisioner.settled();
    let runtime = runtimes.by_id.get(&id);
    let runtime =
        runtime.ok_or_else(|| CallError::new(StatusCode::NOT_FOUND, "there is no runtime with this id"))?;
    Ok(Json(body(&runtimes, runtime, provisioner.clock.now(), query.reveal)))
}

fn body(runtimes: &RuntimeTable, runtime: &SimulatedRuntime, now: OffsetDateTime, reveal: bool) -> Value {
    let mut input = runtime.input();
    if !reveal {
        mask(&mut input);
    }
    json!({
        "id": runtime.id,
        "name": runtime.subject.name,
        "instance_id": runtime.subject.instance_id,
        "tenant": runtime.tenant(),
        "sub_account": runtime.subject.sub_account,
        "created_at": runtime.created_at.format(&Rfc3339).unwrap_or_default(),
        "is_provisioned": runtime.is_provisioned,
        "is_gone": runtime.is_gone,
        "upgrades": runtime.upgrades,
        "last_operation": runtimes.last_status(runtime, now),
        "input": input,
    })
}

/// Hides the value of every entry that is marked as secret, wherever it is.
fn mask(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(mask),
        Value::Object(fields) => {
            let is_secret = fields.get("secret") == Some(&json!(true));
            if let Some(value) = fields.get_mut("value").filter(|_| is_secret) {
                *value = json!(MASK);
            }
            fields.values_mut().for_each(mask);
        }
        _ => {}
    }
}
