//! `GET /v2/service_instances/{instance_id}/last_operation`

use crate::model::{DEPROVISION, UPDATE};
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use engine::store::ResourceRow;

use super::decide::{Decision, OsbCall, decide};
use super::error;
use super::instance_path::{InstancePath, QueryParams};
use super::progress::OperationProgress;
use super::{BrokerShared, BrokerState, wire};
use server::http::Failure;
use server::principal::Principal;

/// How the last operation on an instance stands.
#[utoipa::path(
    get, path = "/v2/service_instances/{instance_id}/last_operation", tag = "instances",
    operation_id = "last_operation",
    responses(
        (status = OK, body = wire::LastOperation, description = "How it stands.",
         headers(("retry-after" = Option<u64>, description = "Seconds until it is worth asking again."))),
        (status = NOT_FOUND, description = "The instance was never heard of."),
        (status = GONE, description = "The instance was deleted."),
    )
)]
pub(crate) async fn last_operation(
    State(broker): State<BrokerState>,
    instance_path: InstancePath,
    query_params: QueryParams,
    Extension(caller): Extension<Principal>,
) -> Result<Response, Failure> {
    let known = broker.instance(&caller, &instance_path.instance).await?;
    let decision = decide(known.as_ref().map(|known| known.status), OsbCall::LastOperation);
    let Some(known) = known else { return Err(decision.osb_error("service instance")) };
    let mut answer = broker.report(decision, &known.row, &query_params, "service instance").await?;
    if answer.body.state == wire::State::Failed {
        let workflow = answer.workflow.as_str();
        answer.body.instance_usable = [(UPDATE, true), (DEPROVISION, false)]
            .into_iter()
            .find_map(|(of, is_usable)| (of == workflow).then_some(is_usable));
        answer.body.update_repeatable = (workflow == UPDATE).then_some(true);
    }
    Ok(answer.respond(&broker))
}

/// How an operation stands, on its way out.
pub(crate) struct LastOperation {
    body: wire::LastOperation,
    workflow: String,
}

impl LastOperation {
    pub(crate) fn respond(self, broker: &BrokerShared) -> Response {
        let is_open = self.body.state == wire::State::InProgress;
        let mut response = Json(self.body).into_response();
        if is_open {
            let seconds = broker.settings().retry_after.as_secs().max(1);
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl BrokerShared {
    /// Reads at most one operation, or two when one is named that does not exist. The record was read before.
    pub(crate) async fn report(
        &self,
        decision: Decision,
        row: &ResourceRow,
        query_params: &QueryParams,
        what: &str,
    ) -> Result<LastOperation, Failure> {
        if !matches!(decision, Decision::Report | Decision::ReportGone) {
            return Err(decision.osb_error(what));
        }
        let is_gone = decision == Decision::ReportGone;
        let older = self.older(row, query_params.operation.as_deref()).await?;
        // What was skipped is cleaned up by a later operation: the platform still asks for the deletion that it started.
        if let Some(older) = older.filter(|older| !(is_gone && self.settings().gone && older.has_deleted())) {
            return Ok(self.standing(&older));
        }
        if is_gone {
            return self.deleted(what);
        }
        match self.newest(row).await? {
            Some(newest) => Ok(self.standing(&newest)),
            None => Ok(told(wire::State::Succeeded, "nothing was ever asked of it".into(), String::new())),
        }
    }

    fn deleted(&self, what: &str) -> Result<LastOperation, Failure> {
        if self.settings().gone {
            return Err(error::gone(format!("this {what} was deleted")));
        }
        Ok(told(wire::State::Succeeded, format!("the {what} is deleted"), String::new()))
    }

    fn standing(&self, progress: &OperationProgress) -> LastOperation {
        told(progress.state(), self.describe(progress), progress.workflow.clone())
    }
}

fn told(state: wire::State, description: String, workflow: String) -> LastOperation {
    let body = wire::LastOperation { state, description, instance_usable: None, update_repeatable: None };
    LastOperation { body, workflow }
}
