//! The change is made: the record says so from now on.

use engine::prelude::*;
use serde_json::Value;

use super::Update;
use crate::model::instance::ActionKind;
use crate::model::settings::RuntimesSettings;

pub(crate) struct Keep {
    pub(crate) runtimes: Arc<RuntimesSettings>,
}

#[async_trait]
impl Step<Update> for Keep {
    named!("keep", "Saving the new parameters");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn run(&self, op: &mut Operation<Update>) -> Outcome {
        let plan = match &op.params.plan_id {
            Some(id) => Some(self.runtimes.plan(id).map_err(Halt::fail)?),
            None => None,
        };
        let (parameters, context) = (op.params.parameters.clone(), op.params.context.clone());
        // A new context may have moved the instance to another account.
        let moved = |key: &str| op.input.context.get(key).and_then(Value::as_str).map(str::to_owned);
        let (account, subaccount) = (moved("globalaccount_id"), moved("subaccount_id"));
        let (version, now) = (op.params.maintenance_version.clone(), op.now());
        let instance = op.input.change(|instance| {
            if let Some(plan) = plan {
                instance.note(ActionKind::PlanUpdate, &instance.plan_id.clone(), &plan.id, now);
                (instance.plan_id, instance.plan) = (plan.id.clone(), plan.name.clone());
            }
            if let Some(parameters) = parameters {
                instance.parameters = parameters;
            }
            if let Some(context) = context {
                instance.context = context;
                let account = account.unwrap_or_else(|| instance.account.clone());
                instance.note(ActionKind::SubaccountMovement, &instance.account.clone(), &account, now);
                instance.account = account;
                instance.subaccount = subaccount.unwrap_or_else(|| instance.subaccount.clone());
            }
            if version.is_some() {
                instance.maintenance_version = version;
            }
        })?;
        op.set_record(&instance)?;
        done()
    }
}
