//! Turns everything that the steps before it prepared into one request, and sends it to the Provisioner.
//!
//! The Provisioner makes a runtime for every call and cannot be searched. So the intent is saved before the call,
//! and where an intent has no answer, because we died or the line did, the Director is asked first what came of
//! it. Without a Director an operator decides, or the configuration.

use director::Director;
use engine::UnknownCall;
use engine::prelude::*;
use http_client::DriverError;
use provisioner::{Provisioner, provision_runtime_query};
use serde_json::{Value, json};

use super::Provision;
use crate::clients::Clients;
use crate::model::instance::InstanceRecord;
use crate::model::request::{self, BuiltRequest, INSTANCE_LABEL, RequestInputs, TOKEN_LABEL};
use crate::model::sent::SentOverrides;
use crate::model::settings::{RuntimesSettings, UnknownOutcome};

pub(crate) struct CreateRuntime {
    provisioner: Arc<dyn Provisioner>,
    director: Option<Arc<dyn Director>>,
    runtimes: Arc<RuntimesSettings>,
}

const CALL: &str = "create_runtime.asked";

/// Overrides that no component takes.
#[derive(Serialize, Deserialize)]
struct UnknownComponents(Vec<String>);

impl Fact for UnknownComponents {
    const KEY: &'static str = "create_runtime.unknown_components";
}

/// A person looks at this only now and then.
const ASK_AGAIN: Duration = Duration::from_hours(1);

impl CreateRuntime {
    pub(crate) fn new(clients: &Clients) -> CreateRuntime {
        CreateRuntime {
            provisioner: Arc::clone(&clients.provisioner),
            director: clients.director.clone(),
            runtimes: Arc::clone(&clients.runtimes),
        }
    }

    fn request(
        &self,
        op: &mut Operation<Provision>,
    ) -> Result<BuiltRequest<provisioner::ProvisionRuntimeInput>, Halt> {
        let overrides = op.input.overrides.take();
        op.remember(&SentOverrides::of(&overrides))?;
        let token = op.idempotency_key("create_runtime");
        let instance = op.input.instance()?;
        let from = RequestInputs {
            runtimes: &self.runtimes,
            plan: self.runtimes.plan(&instance.plan_id).map_err(Halt::fail)?,
            instance,
            parameters: &op.input.parameters,
            cloud_account: op.need("the account of the cloud", |state| state.cloud_account.as_ref())?,
            token: &token,
        };
        Ok(request::provision(&from, overrides))
    }

    /// What came of an earlier call that had no answer: the id of its runtime, or `None` when another call is safe.
    async fn find(&self, op: &Operation<Provision>, unknown: &UnknownCall) -> Result<Option<String>, Halt> {
        let Some(director) = &self.director else { return self.without_director(op, unknown.calls.times) };
        let instance = op.input.instance()?;
        let token = op.idempotency_key("create_runtime");
        let known =
            director.runtimes_by_label(&instance.account, INSTANCE_LABEL, &instance.instance_id).await?;
        let is_ours = |labels: &std::collections::BTreeMap<String, Value>| {
            labels.get(TOKEN_LABEL).and_then(Value::as_str).is_none_or(|label| label == token)
        };
        let found =
            known.into_iter().find(|one| !instance.former_runtimes.contains(&one.id) && is_ours(&one.labels));
        if let Some(found) = found {
            return Ok(Some(found.id));
        }
        let left = unknown.since.plus(self.runtimes.settle).since(op.now());
        if left > Duration::ZERO {
            let page_error =
                unknown.calls.note.as_deref().unwrap_or("the answer of the Provisioner was lost");
            let reason = format!("{page_error}; its Director may still hear of the runtime");
            return wait(left, reason).map(|_| None);
        }
        Ok(None)
    }

    fn without_director(&self, op: &Operation<Provision>, times: u32) -> Result<Option<String>, Halt> {
        if self.runtimes.unknown_outcome == UnknownOutcome::CreateAgain {
            return Ok(None);
        }
        let key = format!("create_runtime:{}:{times}", op.id);
        let answer = op.signalled(&key);
        match (
            answer.and_then(|answer| answer["runtime_id"].as_str()),
            answer.map(|answer| &answer["create"]),
        ) {
            (Some(id), _) => Ok(Some(id.to_owned())),
            (None, Some(Value::Bool(true))) => Ok(None),
            _ => {
                let signal = format!("provision-engine operations signal {key} --payload");
                let reason = format!(
                    "the Provisioner did not answer, and no Director is configured that knows whether there is a \
                     runtime now; look there, then send the signal: `{signal} '{{\"runtime_id\": \"ID\"}}'` if there \
                     is one, or `{signal} '{{\"create\": true}}'` if there is none"
                );
                wait_for(key, ASK_AGAIN, reason).map(|_| None)
            }
        }
    }

    fn adopt(
        op: &mut Operation<Provision>,
        runtime_id: String,
        operation: Option<String>,
    ) -> Result<(), Halt> {
        op.state.runtime_id = Some(runtime_id.clone());
        op.state.provisioner_operation = operation;
        let instance: InstanceRecord = op.input.change(|instance| instance.runtime_id = Some(runtime_id))?;
        op.set_record(&instance)
    }
}

#[async_trait]
impl Step<Provision> for CreateRuntime {
    named!("create_runtime", "Provisioning the runtime");

    fn driver(&self) -> Option<&'static str> {
        Some("provisioner")
    }

    async fn run(&self, op: &mut Operation<Provision>) -> Outcome {
        if op.state.runtime_id.is_some() {
            return done();
        }
        let BuiltRequest { request, unknown_components } = self.request(op)?;
        if !unknown_components.is_empty() {
            op.remember(&UnknownComponents(unknown_components))?;
        }
        if let Some(unknown) = op.attempt(CALL).unknown()?
            && let Some(runtime_id) = self.find(op, &unknown).await?
        {
            op.attempt(CALL).adopt()?;
            Self::adopt(op, runtime_id, None)?;
            return done();
        }
        let now = op.now();
        // Saved with the intent.
        let instance = op.input.change(|instance| instance.asked_at = Some(now))?;
        op.set_record(&instance)?;
        let call = self.provisioner.provision_runtime(instance.caller(), &request);
        match op.attempt(CALL).call(call, |error| !error.is_final()).await? {
            Ok(status) => {
                let runtime_id = status.runtime_id.ok_or_else(|| {
                    Halt::fail(format!(
                        "the Provisioner began operation {} without naming the runtime",
                        status.id
                    ))
                })?;
                Self::adopt(op, runtime_id, Some(status.id))?;
                done()
            }
            Err(error @ DriverError::Refused { .. }) => {
                let instance = op.input.change(|instance| instance.asked_at = None)?;
                op.set_record(&instance)?;
                Err(error.into())
            }
            Err(error) => {
                op.attempt(CALL).note(error.to_string())?;
                Err(error.into())
            }
        }
    }

    /// Shows the request and sends nothing.
    async fn preview(&self, op: &mut Operation<Provision>) -> Result<(), Halt> {
        let BuiltRequest { request, unknown_components } = self.request(op)?;
        let instance = op.input.instance()?;
        let caller = instance.caller();
        op.input.request = Some(json!({
            "headers": {"tenant": caller.tenant, "sub-account": caller.sub_account},
            "query": provision_runtime_query(),
            "variables": request.masked(),
            "unknown_components": unknown_components,
        }));
        Ok(())
    }
}
