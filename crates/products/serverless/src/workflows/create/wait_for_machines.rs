//! Waits until every role has its VM, and not until they run: the caller gets the address at once.

use std::collections::BTreeMap;

use engine::prelude::*;
use opennebula::{FlowService, NebulaErrorKind as Kind};
use serde_json::Value;

use super::Create;
use crate::model::caller_credentials::credentials;
use crate::model::function::FunctionRole;
use crate::model::json::{Json, Members};
use crate::model::limit::watched;
use crate::model::report::{OPENNEBULA, brisk, refuse, stop};
use crate::model::runtime_error::RuntimeError;
use crate::model::settings::Serverless;
use crate::model::view::first_node;

pub(crate) struct WaitForMachines {
    serverless: Arc<Serverless>,
}

/// Since when the service has been looked at. What came before it took its time from others.
const WATCHED: &str = "wait_for_machines.watched";

impl WaitForMachines {
    pub(crate) fn new(serverless: &Arc<Serverless>) -> WaitForMachines {
        WaitForMachines { serverless: Arc::clone(serverless) }
    }
}

#[async_trait]
impl Step<Create> for WaitForMachines {
    named!("wait_for_machines", "Waiting for the VMs");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn driver(&self) -> Option<&'static str> {
        Some(OPENNEBULA)
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(brisk(&self.serverless.settings))
    }

    async fn run(&self, op: &mut Operation<Create>) -> Outcome {
        if op.state.machines.is_some() {
            return done();
        }
        let id = *op.need("the service", |state| state.service.as_ref())?;
        let credentials = credentials(op).await?;
        let service = match self.serverless.nebula.service(&credentials, id).await {
            Ok(service) => service,
            Err(error) => {
                let text = format!("Failed to read Serverless Runtime Service {id}");
                if error.is(Kind::NotFound) {
                    let runtime_error = RuntimeError { status: 500, ..RuntimeError::of(text, &error) };
                    return Err(refuse(op, runtime_error));
                }
                return Err(stop(op, &text, error));
            }
        };
        if service.has_failed() {
            let error = format!("Serverless Runtime Service {id} entered FAILED state after creation");
            return Err(refuse(op, RuntimeError::new(500, error, log(&service))));
        }
        if let Some(machines) = machines(&service) {
            op.state.machines = Some(machines);
            return done();
        }
        let going_on_for = watched(op, &self.serverless.settings, WATCHED)?.time;
        if going_on_for >= self.serverless.settings.timeout {
            let error = format!("OpenNebula did not create VMs for the Serverless Runtime Service {id}");
            let runtime_error =
                RuntimeError::new(504, error, format!("the service is {}", service.state_name()));
            return Err(refuse(op, runtime_error));
        }
        let reason = format!("service {id} is {} and has no VMs yet", service.state_name());
        wait(self.serverless.settings.pause(going_on_for), reason)
    }
}

/// The first VM of every role, once all roles have theirs. A role that comes after others gets it later.
fn machines(service: &FlowService) -> Option<BTreeMap<FunctionRole, i32>> {
    let is_there = |name: &str| service.roles.iter().any(|role| role.name == name && !role.nodes.is_empty());
    let is_complete = service.roles.iter().all(|role| {
        let wanted = usize::try_from(role.cardinality).unwrap_or(usize::MAX);
        let comes_later = role.nodes.is_empty() && role.parents.iter().any(|parent| is_there(parent));
        comes_later || (!role.nodes.is_empty() && role.nodes.len() >= wanted)
    });
    let node = |role| first_node(service, role).map(|id| (role, id));
    let machines: BTreeMap<FunctionRole, i32> = FunctionRole::ALL.into_iter().filter_map(node).collect();
    (is_complete && !machines.is_empty()).then_some(machines)
}

/// What OneFlow wrote about the service, line by line.
fn log(service: &FlowService) -> Json {
    let Value::Array(lines) = &service.log else { return Json::from(service.state_name()) };
    let line = |line: &Value| {
        let mut members = Members::default();
        for name in ["timestamp", "severity", "message"] {
            if let Some(value) = line.get(name) {
                members.set(name, Json::from(value.clone()));
            }
        }
        Json::Object(members)
    };
    Json::List(lines.iter().map(line).collect())
}
