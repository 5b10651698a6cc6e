//! A declaration as a plan of the engine.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use engine::secret::{Sealed, SecretString};
use engine::{Declared, Plan, Workflow};
use external_step::StepClient;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::declaration::Declaration;
use crate::gates::Gates;
use crate::step::HttpStep;

/// Every declared workflow; the plan has its name.
pub struct DeclaredWorkflow;

/// Those that are `writeOnly` are sealed.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub struct DeclaredParams(pub(crate) Map<String, Value>);

impl Workflow for DeclaredWorkflow {
    const KIND: &'static str = "declared";
    const ABOUT: &'static str = "A workflow that was declared at run time.";
    type Params = DeclaredParams;
    type State = ();
    type Input = Pass;

    /// The param `name`, where the declaration has one that is not secret.
    fn operation_name(params: &DeclaredParams) -> Option<String> {
        let name = params.0.get("name").and_then(Value::as_str)?;
        Sealed::parse(name).is_err().then(|| name.to_owned())
    }
}

/// What the steps of one pass share, so that not every call reads it again.
#[derive(Default)]
pub struct Pass {
    /// What the steps so far said, by their names.
    pub(crate) facts: BTreeMap<String, Map<String, Value>>,
    /// Made by the first call.
    pub(crate) texts: Option<CallTexts>,
}

/// What all calls of one pass say of their operation.
pub(crate) struct CallTexts {
    pub(crate) id: String,
    pub(crate) created_at: String,
    pub(crate) deadline_at: String,
    pub(crate) signal_url: Option<String>,
    /// Sealed anew for every pass: a service refuses two equal requests of one second as a replay, and within a pass no
    /// two calls are of the same step.
    pub(crate) signal_token: Sealed,
}

/// What all declared steps of a process share.
pub struct Front {
    pub(crate) client: StepClient,
    /// Where services reach this server.
    public_url: RwLock<Option<String>>,
}

impl Front {
    pub fn new(client: StepClient) -> Arc<Front> {
        Arc::new(Front { client, public_url: RwLock::default() })
    }

    /// Says where services reach this server, for signals. What was said first counts.
    pub fn listens_at(&self, url: &str) {
        let mut known = self.public_url.write().unwrap_or_else(PoisonError::into_inner);
        known.get_or_insert_with(|| url.trim_end_matches('/').to_owned());
    }

    pub(crate) fn signal_url(&self, operation: &str) -> Option<String> {
        let url = self.public_url.read().unwrap_or_else(PoisonError::into_inner);
        url.as_ref().map(|url| format!("{url}/operations/{operation}/signals/"))
    }
}

/// The secret that the engine shares with the services of one workflow. A new one counts for all versions at once.
#[derive(Clone)]
pub(crate) struct SharedSecret(Arc<RwLock<SecretString>>);

impl SharedSecret {
    pub(crate) fn new(secret: SecretString) -> SharedSecret {
        SharedSecret(Arc::new(RwLock::new(secret)))
    }

    pub(crate) fn replace(&self, secret: SecretString) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = secret;
    }

    pub(crate) fn get(&self) -> SecretString {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What all versions of one workflow share in a process.
#[derive(Clone)]
pub(crate) struct WorkflowShared {
    pub(crate) secret: SharedSecret,
    pub(crate) gates: Gates,
}

impl WorkflowShared {
    pub(crate) fn new(secret: SecretString) -> WorkflowShared {
        WorkflowShared { secret: SharedSecret::new(secret), gates: Gates::default() }
    }
}

/// What the steps of one version share.
pub(crate) struct DeclaredVersion {
    pub(crate) workflow: Arc<str>,
    pub(crate) version: u32,
    pub(crate) params: Arc<crate::params::Params>,
    pub(crate) front: Arc<Front>,
    pub(crate) shared: WorkflowShared,
    /// The names of all steps, in their order.
    pub(crate) names: Vec<String>,
}

/// The plan of one version. For tests and the declarations of a process.
pub fn compile(
    declaration: Declaration,
    version: u32,
    front: &Arc<Front>,
    secret: SecretString,
) -> Plan<DeclaredWorkflow> {
    plan(declaration, version, front, WorkflowShared::new(secret))
}

pub(crate) fn plan(
    declaration: Declaration,
    version: u32,
    front: &Arc<Front>,
    shared: WorkflowShared,
) -> Plan<DeclaredWorkflow> {
    let Declaration { workflow, title, params, resource, on_failure, deadline, steps, .. } = declaration;
    let workflow: Arc<str> = workflow.into();
    shared.gates.set(version, &steps);
    let shared = Arc::new(DeclaredVersion {
        workflow: Arc::clone(&workflow),
        version,
        params: Arc::clone(&params),
        front: Arc::clone(front),
        shared,
        names: steps.iter().map(|step| step.name.clone()).collect(),
    });
    let (checked, named) = (Arc::clone(&params), Arc::clone(&params));
    let declared = Declared {
        workflow,
        version,
        about: title,
        deadline,
        schema: Arc::clone(&params.schema),
        admit: Box::new(move |asked, sealer| checked.admit(&asked, sealer).map(DeclaredParams)),
        resource: resource.map(|resource| -> engine::NameResource {
            Box::new(move |tenant, asked| resource.fill(tenant, &named.with_defaults(asked)?))
        }),
    };
    steps.into_iter().enumerate().fold(Plan::declared(on_failure, declared), |plan, (index, mut step)| {
        let (weight, is_clean_up) = (step.weight, step.clean_up);
        let when = step
            .when
            .take()
            .map(|when| -> engine::Condition<DeclaredWorkflow> { Box::new(move |op| when.holds(op)) });
        plan.line(weight, Box::new(HttpStep::new(step, index, Arc::clone(&shared))), when, is_clean_up)
    })
}
