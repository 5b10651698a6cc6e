//! How an operation comes in: checked, sealed, and accepted in one commit together with what goes along with it.

use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::Engine;
use crate::engine_context::Lease;
use crate::event::{Body, Event, PlanVersion};
use crate::ids::OperationId;
use crate::phase::{Phase, PhaseVerb};
use crate::registry::{AdmittedParams, AnyPlan, sealing_context};
use crate::secret::Sealer;
use crate::store::{
    Claimed, ControlRequest, Create, Expect, Idempotency, Receipt, RecordUpdate, ResourceWrite, StoreError,
    Write,
};
use crate::worker::Worker;
use crate::workflow::Workflow;

/// An operation to begin, with params that are checked and sealed.
pub struct Submission<'a, W: Workflow> {
    pub tenant: &'a str,
    pub resource: Option<&'a str>,
    /// What people call that which it works on: lists show it and find it. Without it the params may give one.
    pub name: Option<&'a str>,
    /// Secrets in them are sealed with [`Engine::sealer`] for the same tenant and resource.
    pub params: &'a W::Params,
    /// Who asks, for the journal.
    pub by: &'a str,
    /// The same key from the same caller means the same operation, where the params are the same too. Sealed values never
    /// are, so a key is for params without them.
    pub idempotency_key: Option<&'a str>,
    /// Wait for a busy resource instead of being refused.
    pub queue: bool,
    pub along: RecordWrites,
}

impl<'a, W: Workflow> Submission<'a, W> {
    /// On no resource, and without a key.
    pub fn new(tenant: &'a str, by: &'a str, params: &'a W::Params) -> Submission<'a, W> {
        let (resource, name, idempotency_key, along) = (None, None, None, RecordWrites::default());
        Submission { tenant, resource, name, params, by, idempotency_key, queue: false, along }
    }
}

/// The same for a workflow that is known by its name alone, with params as a client sent them.
#[derive(Debug, Clone)]
pub struct Command {
    pub workflow: String,
    pub tenant: String,
    pub resource: Option<String>,
    /// What people call that which it works on: lists show it and find it. It is cut where it is too long. Without it the
    /// params may give one.
    pub name: Option<String>,
    pub params: Value,
    /// Who asks, for the journal.
    pub by: String,
    /// The same key from the same caller means the same operation.
    pub idempotency_key: Option<String>,
    /// Wait for a busy resource instead of being refused.
    pub queue: bool,
}

/// What becomes true in the same moment in which an operation is accepted.
#[derive(Debug, Clone, Default)]
pub struct RecordWrites {
    /// The record of the operation's resource: what the writer saw, and what it looks like from now on.
    pub subject: Option<(Expect, Option<RecordUpdate>)>,
    /// Another resource by its name: what the writer saw, and what it looks like from now on. Its version goes up.
    pub beside: Option<(String, Expect, Option<RecordUpdate>)>,
    /// An operation on the same resource that is cancelled for this one, and why.
    pub supersedes: Option<(OperationId, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcceptedOperation {
    pub id: OperationId,
    /// The operation was there already: the same key was used before.
    pub repeated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    #[error("there is no workflow {name:?}; known are {known}")]
    UnknownWorkflow { name: String, known: String },
    #[error("{0}")]
    Invalid(String),
    #[error("operation {operation} is working on this resource")]
    Busy { operation: OperationId },
    #[error("this idempotency key was used for another request")]
    KeyReused,
    /// Look at it again and decide anew.
    #[error("the resource has changed in the meantime")]
    Changed,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a signal was not taken.
#[derive(Debug, thiserror::Error)]
pub enum SignalError {
    #[error("{signals} signals with {bytes} bytes are unread")]
    TooMany { signals: u64, bytes: u64 },
    #[error(transparent)]
    Submit(#[from] SubmitError),
}

/// Enough for a resource that is named after two ids of 255 characters each.
const NAME_CHARS_MAX: usize = 600;
const PARAMS_BYTES_MAX: usize = 256 * 1024;
/// A name is for lists; a longer one is cut.
pub const SHOWN_NAME_CHARS_MAX: usize = 200;

impl Engine {
    /// Begins an operation and changes the record of its resource in one commit.
    pub async fn submit<W: Workflow>(
        &self,
        order: Submission<'_, W>,
    ) -> Result<AcceptedOperation, SubmitError> {
        let params = serde_json::to_value(order.params);
        let params = params.map_err(|error| SubmitError::Invalid(error.to_string()))?;
        let admitted = AdmittedParams::of::<W>(order.params);
        let command = Command {
            name: order.name.map(str::to_owned),
            workflow: W::KIND.to_owned(),
            tenant: order.tenant.to_owned(),
            resource: order.resource.map(str::to_owned),
            params,
            by: order.by.to_owned(),
            idempotency_key: order.idempotency_key.map(str::to_owned),
            queue: order.queue,
        };
        self.begin(command, order.along, |_, _, _| admitted).await
    }

    /// Admits what a client sent, and begins the operation.
    pub async fn submit_json(&self, command: Command) -> Result<AcceptedOperation, SubmitError> {
        self.accept(command, RecordWrites::default()).await
    }

    /// The same, and changes the record of its resource in the same commit.
    pub async fn accept(
        &self,
        command: Command,
        along: RecordWrites,
    ) -> Result<AcceptedOperation, SubmitError> {
        self.begin(command, along, |plan, params, sealer| plan.admit(params, sealer)).await
    }

    async fn begin(
        &self,
        command: Command,
        along: RecordWrites,
        admit: impl FnOnce(&dyn AnyPlan, Value, &Sealer) -> Result<AdmittedParams, String>,
    ) -> Result<AcceptedOperation, SubmitError> {
        let engine_context = &self.worker.engine_context;
        let (plan, command) = self.planned(command)?;
        let idempotency = idempotency(&command)?;
        let context = sealing_context(&command.tenant, command.resource.as_deref(), &command.workflow);
        let sealer = Sealer::new(&engine_context.ring, context);
        let AdmittedParams { text: params, name } =
            admit(&*plan, command.params, &sealer).map_err(SubmitError::Invalid)?;
        if params.len() > PARAMS_BYTES_MAX {
            return Err(SubmitError::Invalid(format!("params are larger than {PARAMS_BYTES_MAX} bytes")));
        }
        let (id, now) = (OperationId::new(&*engine_context.clock), engine_context.clock.now());
        // What may have to queue is claimed like any other work once its turn has come.
        let host = self.worker.host().filter(|_| !command.queue);
        let deadline = plan.deadline().min(engine_context.settings.deadline_max);
        let started = plan.opens_with().map(str::to_owned);
        let made_by =
            PlanVersion { release: engine_context.release, plan: plan.digest(), version: plan.version() };
        let supersedes = along.supersedes.map(|(id, reason)| {
            (
                id,
                ControlRequest {
                    verb: PhaseVerb::Cancel,
                    by: command.by.clone(),
                    reason,
                    at: now,
                    number: 0,
                },
            )
        });
        let event = Event {
            seq: 1,
            at: now,
            body: Body::Created { by: command.by, started, made_by: Some(made_by) },
        };
        let write = |name, expect, record_update| {
            let tenant = command.tenant.clone();
            ResourceWrite { name, tenant, expect, record_update, at: now }
        };
        let subject = along.subject.zip(command.resource.clone());
        let subject = subject.map(|((expect, record_update), name)| write(name, expect, record_update));
        let beside = along.beside.map(|(name, expect, record_update)| write(name, expect, record_update));
        let create = Create {
            name: command.name.or(name).as_deref().and_then(shown_name),
            id,
            workflow: command.workflow,
            tenant: command.tenant,
            resource: command.resource,
            params,
            created_at: now,
            deadline_at: now.plus(deadline),
            owner: host.as_ref().map(|lease| lease.node),
            event,
            idempotency,
            queue: command.queue,
            subject,
            beside,
            supersedes,
        };
        self.save(create, host).await
    }

    /// Saves a new operation and begins it, here if this node may.
    async fn save(&self, create: Create, host: Option<Arc<Lease>>) -> Result<AcceptedOperation, SubmitError> {
        let mut guard = OwnershipGuard { worker: &self.worker, id: create.id, is_needed: host.is_some() };
        let receipt =
            self.worker.engine_context.store.commit(Write::Create(Box::new(create.clone()))).await?;
        guard.end();
        match receipt {
            Receipt::Repeated(id) => Ok(AcceptedOperation { id, repeated: true }),
            Receipt::KeyReused => Err(SubmitError::KeyReused),
            Receipt::Busy(operation) => Err(SubmitError::Busy { operation }),
            Receipt::Changed => Err(SubmitError::Changed),
            _ => {
                self.worker.engine_context.event_feed.tell(create.id, 1);
                if let Some((other, _)) = &create.supersedes {
                    self.worker.fetch_request(*other);
                }
                let (id, now) = (create.id, create.created_at);
                match host {
                    Some(lease) => self.worker.take_on(first_claim(create), lease),
                    None => self.worker.wake(now),
                }
                Ok(AcceptedOperation { id, repeated: false })
            }
        }
    }

    /// Writes the record of a resource without an operation. `false` when another request has written it since.
    pub async fn write_resource(
        &self,
        name: &str,
        tenant: &str,
        expect: Expect,
        record_update: Option<RecordUpdate>,
    ) -> Result<bool, SubmitError> {
        check_name("resource", name)?;
        let (name, tenant, at) = (name.to_owned(), tenant.to_owned(), self.now());
        let write = ResourceWrite { name, tenant, expect, record_update, at };
        let receipt = self.worker.engine_context.store.commit(Write::Resource(Box::new(write))).await?;
        Ok(receipt != Receipt::Changed)
    }

    /// The plan that the operation begins with, and the command with the resource that the plan names.
    fn planned(&self, command: Command) -> Result<(Arc<dyn AnyPlan>, Command), SubmitError> {
        let plan = self.worker.registry.newest(&command.workflow);
        let plan = plan.ok_or_else(|| self.unknown(&command.workflow))?;
        let command = on_resource(command, &*plan)?;
        Ok((plan, command))
    }

    fn unknown(&self, name: &str) -> SubmitError {
        let known: Vec<String> = self.worker.registry.all().iter().map(|plan| plan.info().workflow).collect();
        SubmitError::UnknownWorkflow {
            name: name.chars().take(NAME_CHARS_MAX).collect(),
            known: known.join(", "),
        }
    }
}

/// A plan that names the resource of its operations takes no other.
fn on_resource(command: Command, plan: &dyn AnyPlan) -> Result<Command, SubmitError> {
    check_name("tenant", &command.tenant)?;
    let command = with_resource(command, plan)?;
    command.resource.as_deref().map_or(Ok(()), |resource| check_name("resource", resource))?;
    Ok(command)
}

fn with_resource(command: Command, plan: &dyn AnyPlan) -> Result<Command, SubmitError> {
    let named = plan.resource(&command.tenant, &command.params).map_err(SubmitError::Invalid)?;
    match (named, &command.resource) {
        (Some(named), Some(given)) if named != *given => {
            Err(SubmitError::Invalid(format!("resource is {named:?} for these params; leave resource out")))
        }
        (Some(named), _) => Ok(Command { resource: Some(named), ..command }),
        (None, _) => Ok(command),
    }
}

/// Until the answer is here, the operation may be in the store with us as its owner. If the submit
/// fails or its future is dropped, the worker must take it or release it.
struct OwnershipGuard<'a> {
    worker: &'a Worker,
    id: OperationId,
    is_needed: bool,
}

impl OwnershipGuard<'_> {
    fn end(&mut self) {
        self.is_needed = false;
    }
}

impl Drop for OwnershipGuard<'_> {
    fn drop(&mut self) {
        if self.is_needed {
            self.worker.mark_unconfirmed(self.id);
        }
    }
}

fn first_claim(create: Create) -> Claimed {
    Claimed {
        id: create.id,
        workflow: create.workflow,
        tenant: create.tenant,
        resource: create.resource,
        params: create.params,
        phase: Phase::Running,
        created_at: create.created_at,
        deadline_at: create.deadline_at,
        epoch: 1,
        memory: None,
        events: vec![create.event],
        seq: 1,
        orphaned: false,
        control: None,
        signal: None,
        unreadable: None,
    }
}

pub(super) fn check_name(field: &str, value: &str) -> Result<(), SubmitError> {
    let length = value.chars().count();
    if length == 0 || length > NAME_CHARS_MAX || value.chars().any(char::is_control) {
        let rule = format!("{field} must have 1 to {NAME_CHARS_MAX} characters and no control characters");
        return Err(SubmitError::Invalid(rule));
    }
    Ok(())
}

/// A name as it is saved: one line, and no longer than lists have room for.
fn shown_name(name: &str) -> Option<String> {
    let line: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let shown: String = line.trim().chars().take(SHOWN_NAME_CHARS_MAX).collect();
    (!shown.is_empty()).then_some(shown)
}

fn idempotency(command: &Command) -> Result<Option<Idempotency>, SubmitError> {
    let Some(key) = &command.idempotency_key else { return Ok(None) };
    check_name("the idempotency key", key)?;
    let asked = serde_json::json!([command.workflow, command.tenant, command.resource, command.params]);
    let digest = Sha256::digest(asked.to_string().as_bytes());
    let digest = digest.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    Ok(Some(Idempotency { scope: command.by.clone(), key: key.clone(), digest }))
}
