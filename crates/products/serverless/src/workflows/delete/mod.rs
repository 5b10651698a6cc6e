//! `serverless.delete`: marks the document of a runtime, removes its service and its VMs, makes sure that they
//! are gone, and only then forgets them. What is missing already is no obstacle.

mod confirm_gone;
mod delete_document;
mod mark_document;
mod terminate_machines;
mod undeploy_service;

use std::collections::BTreeSet;

use engine::Settled;
use engine::Timestamp;
use engine::prelude::*;
use engine::store::RecordUpdate;
use opennebula::{NebulaCredentials, NebulaError};

use crate::model::caller_credentials::{self, Input};
use crate::model::removal::{Removal, RemovalScope};
use crate::model::report::Answers;
use crate::model::runtime::ServerlessRuntime;
use crate::model::runtime_error::RuntimeError;
use crate::model::settings::Serverless;
use crate::model::{DELETE, labels, view};

pub struct Delete;

#[derive(Debug, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The document of the runtime in OpenNebula.
    pub document: i32,
    /// What its owner calls the runtime, for lists of operations.
    #[serde(skip)]
    pub runtime_name: Option<String>,
    /// The service of the runtime. Nothing where the document names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<i32>,
    /// The VMs that the document names.
    #[serde(default)]
    pub machines: BTreeSet<i32>,
    /// The token of the operation that made the runtime, where it was one of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

/// What the steps learned.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct State {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marked_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<i32>,
    /// Services that carry the same name, because OneFlow made the runtime twice.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    twins: BTreeSet<i32>,
    /// Every VM that was ever seen.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub machines: BTreeSet<i32>,
    /// Whose document it is: the service and the VMs that it names must be that user's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<i32>,
    /// Whether all VMs have been looked for.
    #[serde(default)]
    surveyed: bool,
    #[serde(default)]
    confirmed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "refusal")]
    pub runtime_error: Option<RuntimeError>,
}

impl Workflow for Delete {
    const KIND: &'static str = DELETE;
    const ABOUT: &'static str = "Deletes a serverless runtime from OpenNebula.";
    type Params = Params;
    type State = State;
    type Input = Input;

    fn schema() -> serde_json::Value {
        api::json_schema::<Params>()
    }

    fn operation_name(params: &Params) -> Option<String> {
        params.runtime_name.clone()
    }

    fn on_settled(op: &Operation<Delete>, rest: &Settled<'_>) -> Option<RecordUpdate> {
        caller_credentials::on_settled(op, rest)
    }
}

impl Answers for Delete {
    fn runtime_error(state: &mut State) -> &mut Option<RuntimeError> {
        &mut state.runtime_error
    }
}

/// Finds the runtime. Reads the document and nothing else: whatever else is missing must not keep it alive.
pub async fn prepare(
    serverless: &Serverless,
    credentials: &NebulaCredentials,
    id: i32,
) -> Result<Params, RuntimeError> {
    let document = view::document(serverless, credentials, id).await?;
    let token = labels::token(&document).map(str::to_owned);
    let runtime_name = Some(document.name.clone());
    let Ok(runtime) = ServerlessRuntime::stored(&document) else {
        return Ok(Params { document: id, runtime_name, service: None, machines: BTreeSet::new(), token });
    };
    let machines = runtime.roles().filter_map(|role| runtime.vm_id(role)).collect();
    Ok(Params { document: id, runtime_name, service: runtime.service_id(), machines, token })
}

/// What may be removed. Operations of releases that did not note the owner go on as they began.
fn whose(op: &Operation<Delete>) -> RemovalScope {
    op.state.owner.map_or(RemovalScope::Made, RemovalScope::OwnedBy)
}

/// Everything that has to go.
fn services(op: &Operation<Delete>) -> BTreeSet<i32> {
    op.state.twins.iter().copied().chain(op.state.service).collect()
}

/// The services of the owner that carry the name of the runtime's service.
async fn named(op: &Operation<Delete>, removal: &Removal<'_>) -> Result<BTreeSet<i32>, NebulaError> {
    let (document, Some(token)) = (op.params.document, &op.params.token) else { return Ok(BTreeSet::new()) };
    removal.named(document, &labels::service_name(document, token)).await
}

/// How long the removal has been going on.
fn going_on_for(op: &Operation<Delete>) -> Duration {
    op.state.marked_at.map_or(Duration::ZERO, |at| op.now().since(at))
}

fn failed(op: &Operation<Delete>) -> String {
    match op.state.service {
        Some(service) => format!("Failed to delete Serverless Runtime Service {service}"),
        None => "Failed to delete Serverless Runtime".to_owned(),
    }
}

/// The table of steps and weights.
pub fn plan(serverless: &Arc<Serverless>) -> Plan<Delete> {
    Plan::new(OnFailure::Leave)
        .step(10, mark_document::MarkDocument::new(serverless))
        .step(20, undeploy_service::UndeployService::new(serverless))
        .step(30, terminate_machines::TerminateMachines::new(serverless))
        .step(40, confirm_gone::ConfirmGone::new(serverless))
        .step(50, delete_document::DeleteDocument::new(serverless))
}
