//! Finds out what has to change: the cluster, Kyma on it, both or neither.

use engine::prelude::*;
use serde_json::Value;

use super::Update;
use crate::backend::{Backends, ClusterChange, SavedChange};
use crate::clients::Clients;
use crate::model::parameters::Parameters;
use crate::model::settings::RuntimesSettings;
use crate::workflows::shared::opened;

pub(crate) struct Compare {
    backends: Backends,
    runtimes: Arc<RuntimesSettings>,
}

impl Compare {
    pub(crate) fn new(clients: &Clients) -> Compare {
        Compare { backends: Backends::new(clients), runtimes: Arc::clone(&clients.runtimes) }
    }
}

#[async_trait]
impl Step<Update> for Compare {
    named!("compare", "Comparing desired and actual state");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn run(&self, op: &mut Operation<Update>) -> Outcome {
        let new = wanted(op)?;
        if let Some(context) = &op.params.context {
            op.input.context = opened(op, context)?;
        }
        let instance = op.input.instance()?;
        if instance.suspended {
            // There is no cluster: the next one is made by what is saved.
            (op.state.changes_cluster, op.state.changes_kyma) = (false, false);
            return done();
        }
        let plan = self.runtimes.plan(plan_id(op)?).map_err(Halt::fail)?.on(&instance.provider);
        let old = &op.input.parameters;
        let account = moves_to(op)?;
        let old_plan = instance.plan_id.as_str();
        let change = ClusterChange {
            plan: &plan,
            old_plan,
            old,
            new: &new,
            versions: None,
            account: account.as_deref(),
        };
        let runtime = instance.runtime(instance.runtime_id.as_deref().unwrap_or_default());
        let saved = SavedChange::new(op.now());
        let changes_cluster = self.backends.of(instance).change_cluster(runtime, change, saved)?.is_some();
        let changes_kyma = old.kyma_version != new.kyma_version || old.components != new.components;
        op.state.changes_cluster = changes_cluster;
        op.state.changes_kyma = changes_kyma;
        done()
    }
}

/// The parameters as they are to be.
pub(crate) fn wanted(op: &Operation<Update>) -> Result<Parameters, Halt> {
    match &op.params.parameters {
        Some(sealed) => Parameters::read(&opened(op, sealed)?).map_err(Halt::fail),
        None => Ok(op.input.parameters.clone()),
    }
}

/// The account that the request moves the instance to.
pub(crate) fn moves_to(op: &Operation<Update>) -> Result<Option<String>, Halt> {
    let account = op.input.context.get("globalaccount_id").and_then(Value::as_str);
    let is_new = op.params.context.is_some();
    let old = &op.input.instance()?.account;
    Ok(account.filter(|account| is_new && account != old).map(str::to_owned))
}

/// The plan as it is to be.
pub(crate) fn plan_id(op: &Operation<Update>) -> Result<&str, Halt> {
    Ok(op.params.plan_id.as_ref().unwrap_or(&op.input.instance()?.plan_id))
}
