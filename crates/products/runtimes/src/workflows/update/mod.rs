//! `runtime.update`: compares what is wanted with what is there, and has the back end change the difference.

mod compare;
mod keep;
mod upgrade_runtime;
mod upgrade_shoot;

use engine::prelude::*;
use engine::secret::Sealer;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa::openapi::schema::{Object, ObjectBuilder, SchemaType, Type};

use crate::clients::Clients;
use crate::model::UPDATE;
use crate::model::instance::seal_json;
use crate::workflows::shared::{
    ChangeRuntime, Initialisation, Input, OnInstance, OverridesFrom, ServiceManagerOverrides, Start,
};

pub struct Update;

/// What is to be. What is `None` stays.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    pub instance_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Sealed>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Sealed>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintenance_version: Option<String>,
}

/// What the steps learned.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct State {
    #[serde(default)]
    pub changes_cluster: bool,
    #[serde(default)]
    pub changes_kyma: bool,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct DesiredRuntime {
    /// The service instance whose runtime changes.
    instance_id: String,
    /// Another plan of the catalog. What is left out stays as it is.
    #[serde(default)]
    plan_id: Option<String>,
    #[serde(default)]
    #[schema(schema_with = parameters_schema)]
    parameters: Option<Map<String, Value>>,
    #[serde(default)]
    #[schema(schema_with = context_schema)]
    context: Option<Map<String, Value>>,
    /// The version of Kyma that the maintenance information names.
    #[serde(default)]
    maintenance_version: Option<String>,
}

fn parameters_schema() -> Object {
    sealed_object("Parameters of the plan. They are sealed.")
}

fn context_schema() -> Object {
    sealed_object("The context of the platform. It is sealed.")
}

fn sealed_object(description: &str) -> Object {
    let kind = SchemaType::from_iter([Type::Object, Type::Null]);
    let builder = ObjectBuilder::new().schema_type(kind).description(Some(description));
    builder.write_only(true).build()
}

impl Workflow for Update {
    const KIND: &'static str = UPDATE;
    const ABOUT: &'static str = "Changes the runtime of a service instance.";
    type Params = Params;
    type State = State;
    type Input = Input;

    fn schema() -> Value {
        api::json_schema::<DesiredRuntime>()
    }

    fn admit(asked: Value, sealer: &Sealer) -> Result<Params, String> {
        let DesiredRuntime { instance_id, plan_id, parameters, context, maintenance_version } =
            engine::parse(asked)?;
        let seal = |map: Option<Map<String, Value>>| map.map(|map| seal_json(&map, sealer));
        let (parameters, context) = (seal(parameters), seal(context));
        Ok(Params { instance_id, plan_id, parameters, context, maintenance_version })
    }
}

impl OnInstance for Update {}

/// The weight of the step that takes the overrides.
pub const UPGRADE_RUNTIME: u16 = 20;

/// The table of steps and weights.
pub fn plan(clients: &Clients) -> Plan<Update> {
    let runtimes = &clients.runtimes;
    let mut plan = Plan::new(OnFailure::Leave)
        .step(1, Start)
        .step(1, Initialisation::new(clients))
        .step(1, compare::Compare::new(clients));
    for source in &clients.override_sources {
        plan = plan.step(2, OverridesFrom { source: Arc::clone(source), runtimes: Arc::clone(runtimes) });
    }
    let change_cluster = ChangeRuntime::<upgrade_shoot::UpgradeShoot>::new(clients);
    let change_kyma = ChangeRuntime::<upgrade_runtime::UpgradeRuntime>::new(clients);
    let plan = plan
        .step(3, ServiceManagerOverrides { runtimes: Arc::clone(runtimes) })
        .step_when(|op| op.state.changes_cluster, 10, change_cluster)
        .step_when(|op| op.state.changes_kyma, UPGRADE_RUNTIME, change_kyma)
        .step(50, keep::Keep { runtimes: Arc::clone(runtimes) });
    clients.external.join(plan)
}
