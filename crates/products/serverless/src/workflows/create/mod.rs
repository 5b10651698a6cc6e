//! `serverless.create`: makes the document of a runtime, then its service, and waits until its VMs exist. The
//! document comes first, so that nothing is ever without a trace.

mod allocate_document;
mod end_twins;
mod instantiate_service;
mod mint_login;
mod record_runtime;
mod wait_for_machines;

use std::collections::BTreeMap;

use engine::Settled;
use engine::prelude::*;
use engine::store::RecordUpdate;
use opennebula::{Dialect, NebulaCredentials, NebulaError, ServiceTemplate, TemplateRole};
use utoipa::ToSchema;

use crate::model::caller_credentials::{self, Input};
use crate::model::choose::choose;
use crate::model::contents::Common;
use crate::model::function::FunctionRole;
use crate::model::report::Answers;
use crate::model::runtime_error::RuntimeError;
use crate::model::settings::{Serverless, SrAuth};
use crate::model::spec::Spec;
use crate::model::{CREATE, labels};

pub struct Create;

#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The runtime: the body that the serverless API takes, as a text.
    #[schema(value_type = String)]
    pub spec: Spec,
    /// The service template that stands for its flavours.
    pub template: Chosen,
}

/// The service template that stands for the flavours.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Chosen {
    pub id: i32,
    pub name: String,
    /// In the order of the template.
    roles: Vec<ChosenRole>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
struct ChosenRole {
    name: String,
    vm_template: i32,
    /// Whether it speaks the language of OneFlow 7.
    seven: bool,
}

/// What the steps learned.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct State {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<i32>,
    /// The first VM of every role that has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machines: Option<BTreeMap<FunctionRole, i32>>,
    /// The body of the answer: JSON with its members in their order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "refusal")]
    pub runtime_error: Option<RuntimeError>,
}

impl Workflow for Create {
    const KIND: &'static str = CREATE;
    const ABOUT: &'static str = "Creates a serverless runtime in OpenNebula.";
    const DEADLINE: Duration = Duration::from_hours(1);
    type Params = Params;
    type State = State;
    type Input = Input;

    fn schema() -> serde_json::Value {
        api::json_schema::<Params>()
    }

    fn on_settled(op: &Operation<Create>, rest: &Settled<'_>) -> Option<RecordUpdate> {
        caller_credentials::on_settled(op, rest)
    }
}

impl Answers for Create {
    fn runtime_error(state: &mut State) -> &mut Option<RuntimeError> {
        &mut state.runtime_error
    }
}

/// Finds out whether the runtime can be made, and of what. Reads only; who is not known to OpenNebula ends here.
pub async fn prepare(
    serverless: &Serverless,
    credentials: &NebulaCredentials,
    spec: Spec,
) -> Result<Params, RuntimeError> {
    check_name(&spec)?;
    let template = choose(serverless, credentials, &spec).await?;
    let chosen = Chosen::of(&template)?;
    let params = Params { spec, template: chosen };
    // A login of the right form stands for the real one, which is not needed yet.
    let login = (serverless.settings.sr_auth != SrAuth::None).then(|| credentials.text());
    let contents = params.contents(serverless, credentials, login.as_ref()).await?;
    for role in &params.template.roles {
        if let Some(contents) = contents.get(&role.name) {
            let written =
                if role.seven { contents.to_json().map(drop) } else { contents.to_text().map(drop) };
            written.map_err(|why| RuntimeError::invalid(why.to_string()))?;
        }
    }
    Ok(params)
}

/// OpenNebula writes the name of a document into XML as it is, and refuses what is no XML any longer.
fn check_name(spec: &Spec) -> Result<(), RuntimeError> {
    let name = spec.name.as_deref().unwrap_or_default();
    match ["<", "&", "]]>"].into_iter().find(|part| name.contains(part)) {
        Some(found) => Err(RuntimeError::invalid(format!(
            "The property '#/SERVERLESS_RUNTIME/NAME' has {found}, which OpenNebula does not take: leave it out"
        ))),
        None => Ok(()),
    }
}

impl Params {
    /// What every role adds to its VM template.
    async fn contents(
        &self,
        serverless: &Serverless,
        credentials: &NebulaCredentials,
        login: Option<&SecretString>,
    ) -> Result<BTreeMap<String, opennebula::NebulaTemplate>, RuntimeError> {
        let common = Common {
            settings: &serverless.settings,
            spec: &self.spec,
            service_template: self.template.id,
            login,
        };
        let mut contents = BTreeMap::new();
        for (role, asked) in self.spec.functions() {
            let Some(chosen) = self.template.roles.iter().find(|chosen| chosen.name == role.as_str()) else {
                continue;
            };
            let base = serverless.nebula.vm_template(credentials, chosen.vm_template).await;
            let base = base.map_err(|error| unreadable(role, &error))?;
            let image_size = match serverless.nebula.image_size(credentials, chosen.vm_template).await {
                // Then OpenNebula says by itself what is wrong with the disk.
                Err(error) if !error.may_heal() => None,
                size => size.map_err(|error| unreadable(role, &error))?,
            };
            let made = common.contents((role, chosen.dialect()), asked, (&base, image_size))?;
            contents.insert(role.as_str().to_owned(), made);
        }
        Ok(contents)
    }
}

fn unreadable(role: FunctionRole, error: &NebulaError) -> RuntimeError {
    let mut runtime_error =
        RuntimeError::of(format!("Failed to read VM Template for Function {}", role.as_str()), error);
    // Nothing of the caller's is missing.
    if runtime_error.status == 404 {
        runtime_error.status = 500;
    }
    runtime_error
}

impl ChosenRole {
    fn dialect(&self) -> Dialect {
        if self.seven { Dialect::Seven } else { Dialect::Six }
    }
}

impl Chosen {
    fn of(template: &ServiceTemplate) -> Result<Chosen, RuntimeError> {
        let role = |role: &TemplateRole| {
            let vm_template = role.vm_template.ok_or_else(|| {
                let error = format!("Failed to read VM Template for Function {}", role.name);
                RuntimeError::new(500, error, format!("service template {} names none", template.id))
            })?;
            Ok(ChosenRole { name: role.name.clone(), vm_template, seven: role.dialect == Dialect::Seven })
        };
        let roles = template.roles.iter().map(role).collect::<Result<_, RuntimeError>>()?;
        Ok(Chosen { id: template.id, name: template.name.clone(), roles })
    }

    /// As much of it as OneFlow has to be told.
    fn template(&self) -> ServiceTemplate {
        let role = |role: &ChosenRole| TemplateRole {
            name: role.name.clone(),
            vm_template: Some(role.vm_template),
            dialect: role.dialect(),
            cardinality: 1,
            parents: Vec::new(),
        };
        ServiceTemplate {
            id: self.id,
            uid: 0,
            gid: 0,
            uname: String::new(),
            gname: String::new(),
            name: self.name.clone(),
            deployment: String::new(),
            roles: self.roles.iter().map(role).collect(),
        }
    }
}

/// The name of the runtime, the same in every pass.
fn name_of(op: &Operation<Create>) -> String {
    let spec = &op.params.spec;
    spec.name.clone().unwrap_or_else(|| format!("{}_{}", spec.tuple(), op.id))
}

fn service_name_of(op: &Operation<Create>, document: i32) -> String {
    labels::service_name(document, &op.idempotency_key(labels::LABEL))
}

/// The table of steps and weights.
pub fn plan(serverless: &Arc<Serverless>) -> Plan<Create> {
    let mints = serverless.settings.sr_auth == SrAuth::Token;
    Plan::new(OnFailure::Unwind)
        .step(10, allocate_document::AllocateDocument::new(serverless))
        .step_if(mints, 20, mint_login::MintLogin::new(serverless))
        .step(30, instantiate_service::InstantiateService::new(serverless))
        .step(40, wait_for_machines::WaitForMachines::new(serverless))
        .step_when(end_twins::EndTwins::is_needed, 45, end_twins::EndTwins::new(serverless))
        .step(50, record_runtime::RecordRuntime::new(serverless))
}
