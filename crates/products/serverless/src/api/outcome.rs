//! How an operation ended, in the words of who asked for it.

use crate::model::{CREATE, DELETE, RuntimeError, UPDATE};
use api::Error;
use axum::http::StatusCode;
use engine::{Inspection, Phase};
use serde::Deserialize;
use serde_json::Value;

use super::answer::RuntimeResponse;
use super::error;
use super::error::broken;
use super::wire::Action;
use server::http::Failure;

/// What every serverless workflow leaves in its state for who asked.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OperationResult {
    /// The body of the answer.
    runtime: Option<String>,
    #[serde(rename = "refusal")]
    runtime_error: Option<RuntimeError>,
}

impl Action {
    pub(crate) fn of(workflow: &str) -> Option<Action> {
        match workflow {
            CREATE => Some(Action::Create),
            UPDATE => Some(Action::Update),
            DELETE => Some(Action::Delete),
            _ => None,
        }
    }

    /// The error where the workflow left none.
    fn failed(self) -> &'static str {
        match self {
            Action::Create => "Failed to create Serverless Runtime Service",
            Action::Update => "Failed to update Serverless Runtime",
            Action::Delete => "Failed to delete Serverless Runtime Service",
        }
    }
}

/// The answer for an operation that is over, or that cannot go on by itself.
pub(crate) fn answer(found: &Inspection, action: Action) -> Result<RuntimeResponse, Failure> {
    let left = left(found)?;
    if found.shown.summary.phase != Phase::Succeeded {
        return Err(left.runtime_error.map_or_else(|| unexplained(found, action), Failure::from));
    }
    let body = || left.runtime.clone().ok_or_else(|| broken("an operation succeeded and left no runtime"));
    match action {
        Action::Create => {
            let body = body()?;
            let answer = RuntimeResponse::of(StatusCode::CREATED, body.clone()).entry("created");
            Ok(answer.at(&location(&body).ok_or_else(|| broken("a new runtime has no id"))?))
        }
        Action::Update => Ok(RuntimeResponse::of(StatusCode::OK, body()?).entry("updated")),
        Action::Delete => Ok(RuntimeResponse::nothing().entry("deleted")),
    }
}

/// What is known about the failure of an operation that still takes back what it made.
pub(crate) fn runtime_error(found: &Inspection) -> Result<Option<Error>, Failure> {
    Ok(left(found)?.runtime_error.map(Error::from))
}

fn left(found: &Inspection) -> Result<OperationResult, Failure> {
    let state = match &found.memory.state {
        Value::Null => return Ok(OperationResult::default()),
        state => state.clone(),
    };
    serde_json::from_value(state).map_err(|error| broken(&format!("a state cannot be read: {error}")))
}

fn unexplained(found: &Inspection, action: Action) -> Failure {
    let summary = &found.shown.summary;
    let why = summary.reason.clone().unwrap_or_default();
    match (summary.phase, action) {
        (Phase::Cancelled, Action::Update) => error::busy(format!("the update was cancelled: {why}")),
        _ => error::new(StatusCode::INTERNAL_SERVER_ERROR, action.failed(), why),
    }
}

/// The path of the runtime in the body of an answer.
pub(crate) fn location(body: &str) -> Option<String> {
    let body: Value = serde_json::from_str(body).ok()?;
    Some(format!("/serverless-runtimes/{}", body["SERVERLESS_RUNTIME"]["ID"].as_i64()?))
}

#[cfg(test)]
mod tests {
    use engine::store::{OperationDetail, Summary};
    use engine::{Memory, OperationId, Timestamp};
    use serde_json::json;

    use super::*;

    fn inspection(phase: Phase, state: Value) -> Inspection {
        let summary = Summary {
            name: None,
            id: OperationId(uuid::Uuid::nil()),
            workflow: CREATE.into(),
            tenant: "opennebula:a".into(),
            resource: None,
            phase,
            step: None,
            reason: Some("no".into()),
            due_at: None,
            created_at: Timestamp(0),
            deadline_at: Timestamp(0),
            finished_at: None,
            owner: None,
            control: None,
        };
        let shown = OperationDetail { summary, params: String::new(), memory: None, memory_seq: 0 };
        Inspection { shown, memory: Memory { state, ..Memory::default() }, seq: 1, unreadable: None }
    }

    #[track_caller]
    fn check(phase: Phase, action: Action, state: Value, status: u16, error: Option<&str>) {
        let found = inspection(phase, state);
        match (answer(&found, action), error) {
            (Ok(answer), None) => assert_eq!(answer.status(), status),
            (Err(failure), Some(title)) => {
                let error = failure.into_error(error::fault);
                assert_eq!((error.status.as_u16(), error.title.as_ref()), (status, title));
            }
            (Ok(answer), Some(_)) => panic!("{} instead of {status}", answer.status()),
            (Err(failure), None) => panic!("{failure:?} instead of {status}"),
        }
    }

    #[test]
    fn what_an_operation_left_is_the_answer() {
        let runtime = json!({"runtime": r#"{"SERVERLESS_RUNTIME":{"ID":7}}"#, "document": 7});
        check(Phase::Succeeded, Action::Create, runtime.clone(), 201, None);
        check(Phase::Succeeded, Action::Update, runtime, 200, None);
        check(Phase::Succeeded, Action::Delete, Value::Null, 204, None);
        let runtime_error = RuntimeError::new(504, "too slow", "");
        let refused = json!({"refusal": serde_json::to_value(runtime_error).unwrap()});
        for phase in [Phase::Undone, Phase::Failed, Phase::Cancelled, Phase::Stuck] {
            for action in [Action::Create, Action::Update, Action::Delete] {
                check(phase, action, refused.clone(), 504, Some("too slow"));
            }
        }
        // Trouble on the way to a good end is forgotten.
        check(Phase::Succeeded, Action::Delete, refused, 204, None);
    }

    #[test]
    fn an_operation_that_left_no_word_is_explained_by_its_cause() {
        let create = "Failed to create Serverless Runtime Service";
        let delete = "Failed to delete Serverless Runtime Service";
        let busy = "Cannot update Serverless Runtime Function VM FAAS on a transient state";
        check(Phase::Undone, Action::Create, json!({}), 500, Some(create));
        check(Phase::Failed, Action::Delete, Value::Null, 500, Some(delete));
        check(Phase::Cancelled, Action::Update, json!({}), 423, Some(busy));
        check(Phase::Succeeded, Action::Create, json!({}), 500, Some("Internal error"));
        check(Phase::Succeeded, Action::Update, json!({"runtime": 7}), 500, Some("Internal error"));
    }
}
