//! Turns everything that the steps before it prepared into one request, and sends it to the back end.
//!
//! The intent is saved before the call, with the id of the runtime where we choose it. Where an intent has no answer,
//! because we died or the connection did, the back end is asked first what came of it. Where it cannot tell, an operator
//! decides, or the configuration.

use engine::UnknownCall;
use engine::prelude::*;
use http_client::DriverError;
use serde_json::Value;

use super::Provision;
use crate::backend::{Backend, Backends, CreatedRuntime, Lookup, NewRuntime, PreparedCall};
use crate::clients::Clients;
use crate::model::instance::InstanceRecord;
use crate::model::parameters::Parameters;
use crate::model::request::RequestInputs;
use crate::model::sent::SentOverrides;
use crate::model::settings::{RuntimesSettings, UnknownOutcome};

pub(crate) struct CreateRuntime {
    backends: Backends,
    runtimes: Arc<RuntimesSettings>,
}

const CALL: &str = "create_runtime.asked";

/// Overrides that no component takes, and fields that this installation of the back end does not have.
#[derive(Serialize, Deserialize)]
struct UnknownComponents(Vec<String>);

impl Fact for UnknownComponents {
    const KEY: &'static str = "create_runtime.unknown_components";
}

/// A person looks at this only now and then.
const ASK_AGAIN: Duration = Duration::from_hours(1);

/// What the request is made of, in a form that nothing else borrows.
struct CreateInputs {
    instance: InstanceRecord,
    parameters: Parameters,
    token: String,
    cloud_account: String,
    licence: Option<String>,
}

impl CreateRuntime {
    pub(crate) fn new(clients: &Clients) -> CreateRuntime {
        CreateRuntime { backends: Backends::new(clients), runtimes: Arc::clone(&clients.runtimes) }
    }

    fn inputs(op: &Operation<Provision>) -> Result<CreateInputs, Halt> {
        Ok(CreateInputs {
            instance: op.input.instance()?.clone(),
            parameters: op.input.parameters.clone(),
            token: op.idempotency_key("create_runtime"),
            licence: op.input.context.get("license_type").and_then(Value::as_str).map(str::to_owned),
            cloud_account: op.need("the account of the cloud", |state| state.cloud_account.as_ref())?.clone(),
        })
    }

    fn prepare<'a>(
        &'a self,
        backend: &'a dyn Backend,
        op: &mut Operation<Provision>,
        inputs: &'a CreateInputs,
    ) -> Result<PreparedCall<'a, CreatedRuntime>, Halt> {
        let overrides = op.input.overrides.take();
        op.remember(&SentOverrides::of(&overrides))?;
        let instance = &inputs.instance;
        let from = RequestInputs {
            runtimes: &self.runtimes,
            plan: self.runtimes.plan(&instance.plan_id).map_err(Halt::fail)?,
            instance,
            parameters: &inputs.parameters,
            cloud_account: &inputs.cloud_account,
            token: &inputs.token,
        };
        let (id, licence) = (instance.runtime_id.as_deref(), inputs.licence.as_deref());
        backend.create(NewRuntime { from, overrides, id, licence })
    }

    /// What came of an earlier call that had no answer: the id of its runtime, or `None` when another call is safe.
    async fn find(
        &self,
        backend: &dyn Backend,
        op: &Operation<Provision>,
        unknown: &UnknownCall,
    ) -> Result<Option<String>, Halt> {
        let token = op.idempotency_key("create_runtime");
        match backend.find_created(op.input.instance()?, Some(&token)).await? {
            Lookup::Found(id) => return Ok(Some(id)),
            Lookup::CallAgain => return Ok(None),
            Lookup::CannotTell => return self.cannot_tell(op, unknown.calls.times),
            Lookup::Absent => {}
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

    fn cannot_tell(&self, op: &Operation<Provision>, times: u32) -> Result<Option<String>, Halt> {
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
        uid: Option<String>,
    ) -> Result<(), Halt> {
        op.state.runtime_id = Some(runtime_id.clone());
        op.state.provisioner_operation = operation;
        let instance: InstanceRecord = op.input.change(|instance| {
            instance.runtime_id = Some(runtime_id);
            instance.runtime_uid = uid;
        })?;
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
        let backend = self.backends.of(op.input.instance()?);
        if let Some(unknown) = op.attempt(CALL).unknown()?
            && let Some(runtime_id) = self.find(backend, op, &unknown).await?
        {
            op.attempt(CALL).adopt()?;
            Self::adopt(op, runtime_id, None, None)?;
            return done();
        }
        let (now, new_id) = (op.now(), backend.new_id());
        // Saved with the intent, before the call: an id that is there already is that of an earlier try.
        let instance = op.input.change(|instance| {
            instance.asked_at = Some(now);
            instance.runtime_id = instance.runtime_id.take().or(new_id);
        })?;
        op.set_record(&instance)?;
        let inputs = Self::inputs(op)?;
        let call = self.prepare(backend, op, &inputs)?;
        let mut left_out = call.left_out;
        if !left_out.is_empty() {
            op.remember(&UnknownComponents(left_out.clone()))?;
        }
        match op.attempt(CALL).call(call.send, |error| !error.is_final()).await? {
            Ok(CreatedRuntime { id: Some(id), operation, uid, left_out: fields }) => {
                if !fields.is_empty() {
                    left_out.extend(fields);
                    op.remember(&UnknownComponents(left_out))?;
                }
                Self::adopt(op, id, operation, uid)?;
                done()
            }
            Ok(CreatedRuntime { operation, .. }) => fail(format!(
                "{} began operation {} without naming the runtime",
                backend.title(),
                operation.unwrap_or_default()
            )),
            Err(error @ DriverError::Refused { .. }) => {
                // An id that we chose stays: an earlier call with it may have been carried out.
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
        let inputs = Self::inputs(op)?;
        let backend = self.backends.of(&inputs.instance);
        let call = self.prepare(backend, op, &inputs)?;
        op.input.request = Some(call.shown);
        Ok(())
    }
}
