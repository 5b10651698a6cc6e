//! Every workflow this release knows, with its types put away so that one worker runs them all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::clock::Timestamp;
use crate::engine_context::{ControlInbox, EngineContext, Lease};
use crate::event::Release;
use crate::memory::Memory;
use crate::operation::{JournalWriter, Operation};
use crate::plan::{OnFailure, Plan, StepInfo};
use crate::runner::{Execution, RunExit};
use crate::secret::Sealer;
use crate::store::{Claimed, Ownership};
use crate::unknown::Unknown;
use crate::workflow::Workflow;

/// A plan of any workflow.
#[async_trait]
pub(crate) trait AnyPlan: Send + Sync {
    fn info(&self) -> WorkflowInfo;
    fn opens_with(&self) -> Option<&str>;
    fn deadline(&self) -> Duration;
    /// Of a workflow that was declared at run time.
    fn version(&self) -> Option<u32>;
    fn admit(&self, asked: Value, sealer: &Sealer) -> Result<AdmittedParams, String>;
    /// The resource of an operation with these params, where the plan says it.
    fn resource(&self, tenant: &str, asked: &Value) -> Result<Option<String>, String>;
    /// A digest of the names of the steps.
    fn digest(&self) -> String;
    /// Whether this release can go on with what is saved; the reason when it cannot.
    fn readable(&self, params: &str, memory: &Memory, release: Release) -> Result<(), String>;
    /// Works on an operation that is readable as a whole; the reason when it is not.
    async fn run(&self, job: Job<'_>) -> Result<RunExit, String>;
}

/// Params as they are saved, and the name that they give to an operation.
pub(crate) struct AdmittedParams {
    pub(crate) text: String,
    pub(crate) name: Option<String>,
}

impl AdmittedParams {
    pub(crate) fn of<W: Workflow>(params: &W::Params) -> Result<AdmittedParams, String> {
        let text = serde_json::to_string(params).map_err(|error| error.to_string())?;
        Ok(AdmittedParams { text, name: W::operation_name(params) })
    }
}

/// What people may know about a workflow.
#[derive(Debug, Clone)]
pub struct WorkflowInfo {
    pub workflow: String,
    /// Of a workflow that was declared at run time.
    pub version: Option<u32>,
    pub about: String,
    pub on_failure: &'static str,
    pub deadline_seconds: u64,
    /// It serves other operations.
    pub housekeeping: bool,
    pub steps: Vec<StepInfo>,
    /// JSON Schema of the params.
    pub schema: Arc<Value>,
}

/// One operation to work on, and what it needs.
pub(crate) struct Job<'a> {
    pub(crate) engine_context: &'a EngineContext,
    pub(crate) lease: &'a Lease,
    pub(crate) inbox: Arc<ControlInbox>,
    pub(crate) claimed: Claimed,
    pub(crate) memory: Memory,
    pub(crate) row_seq: u32,
    pub(crate) not_before: Option<Timestamp>,
}

#[derive(Default)]
pub(crate) struct Registry {
    compiled: BTreeMap<&'static str, Arc<dyn AnyPlan>>,
    /// What was declared at run time.
    declared: RwLock<BTreeMap<String, Versions>>,
}

/// The versions of one workflow that operations may still need.
#[derive(Default)]
struct Versions {
    /// What new operations begin with.
    offered: Option<u32>,
    plans: BTreeMap<u32, Arc<dyn AnyPlan>>,
}

impl Registry {
    pub(crate) fn add<W: Workflow>(&mut self, plan: Plan<W>) {
        if let Some(version) = plan.version() {
            let workflow = plan.kind().to_owned();
            self.keep(Arc::new(plan));
            return self.offer(&workflow, Some(version), &BTreeSet::from([version]));
        }
        let before = self.compiled.insert(W::KIND, Arc::new(plan));
        assert!(before.is_none(), "the workflow {} is registered twice", W::KIND);
    }

    fn look<T>(&self, look: impl FnOnce(&BTreeMap<String, Versions>) -> T) -> T {
        look(&self.declared.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn change<T>(&self, change: impl FnOnce(&mut BTreeMap<String, Versions>) -> T) -> T {
        change(&mut self.declared.write().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn is_compiled(&self, workflow: &str) -> bool {
        self.compiled.contains_key(workflow)
    }

    /// Keeps a version for its operations. New ones do not begin with it yet.
    pub(crate) fn keep(&self, plan: Arc<dyn AnyPlan>) {
        let Some(version) = plan.version() else { return };
        let workflow = plan.info().workflow;
        self.change(|declared| declared.entry(workflow).or_default().plans.insert(version, plan));
    }

    /// Says which version new operations begin with, and forgets all that are not in `kept`.
    pub(crate) fn offer(&self, workflow: &str, offered: Option<u32>, kept: &BTreeSet<u32>) {
        self.change(|declared| {
            let Some(versions) = declared.get_mut(workflow) else { return };
            versions.offered = offered;
            versions.plans.retain(|version, _| kept.contains(version));
            if versions.plans.is_empty() {
                declared.remove(workflow);
            }
        });
    }

    /// What a new operation begins with.
    pub(crate) fn newest(&self, workflow: &str) -> Option<Arc<dyn AnyPlan>> {
        let declared = || {
            self.look(|declared| {
                let versions = declared.get(workflow)?;
                versions.plans.get(&versions.offered?).cloned()
            })
        };
        self.compiled.get(workflow).cloned().or_else(declared)
    }

    /// What an operation goes on with that began with this version.
    pub(crate) fn version(&self, workflow: &str, version: Option<u32>) -> Option<Arc<dyn AnyPlan>> {
        match version {
            None => self.compiled.get(workflow).cloned(),
            Some(version) => self.look(|declared| declared.get(workflow)?.plans.get(&version).cloned()),
        }
    }

    /// Whether a version that is missing here is newer than all that are known: this process is about to read it.
    pub(crate) fn is_update(&self, workflow: &str, version: u32) -> bool {
        let last = self.look(|declared| {
            declared.get(workflow).and_then(|versions| versions.plans.keys().next_back().copied())
        });
        last.is_none_or(|last| last < version)
    }

    /// What new operations can begin with, by name.
    pub(crate) fn all(&self) -> Vec<Arc<dyn AnyPlan>> {
        let offered = self.look(|declared| {
            let plan = |versions: &Versions| versions.plans.get(&versions.offered?).cloned();
            let named = |(name, versions): (&String, &Versions)| Some((name.clone(), plan(versions)?));
            declared.iter().filter_map(named).collect::<Vec<_>>()
        });
        let compiled = self.compiled.iter().map(|(name, plan)| ((*name).to_owned(), Arc::clone(plan)));
        let all: BTreeMap<_, _> = compiled.chain(offered).collect();
        all.into_values().collect()
    }
}

/// What seals and opens the secrets of everything that happens to one resource.
pub(crate) fn sealing_context(tenant: &str, resource: Option<&str>, workflow: &str) -> String {
    format!("{tenant}\n{}", resource.unwrap_or(workflow))
}

fn decode<W: Workflow>(params: &str, memory: &Memory) -> Result<(W::Params, W::State), String> {
    let params =
        serde_json::from_str(params).map_err(|error| format!("its params cannot be read: {error}"))?;
    let state = if memory.state.is_null() {
        W::State::default()
    } else {
        serde_json::from_value(memory.state.clone())
            .map_err(|error| format!("its state cannot be read: {error}"))?
    };
    Ok((params, state))
}

#[async_trait]
impl<W: Workflow> AnyPlan for Plan<W> {
    fn info(&self) -> WorkflowInfo {
        WorkflowInfo {
            workflow: self.kind().to_owned(),
            version: self.version(),
            about: self.about().to_owned(),
            on_failure: match self.on_failure {
                OnFailure::Unwind => "unwind",
                OnFailure::Leave => "leave",
            },
            deadline_seconds: self.deadline().as_secs(),
            housekeeping: W::HOUSEKEEPING,
            steps: self.describe(),
            schema: self.schema(),
        }
    }

    fn opens_with(&self) -> Option<&str> {
        self.opens_with()
    }

    fn deadline(&self) -> Duration {
        self.deadline()
    }

    fn version(&self) -> Option<u32> {
        self.version()
    }

    fn admit(&self, asked: Value, sealer: &Sealer) -> Result<AdmittedParams, String> {
        AdmittedParams::of::<W>(&self.admit_params(asked, sealer)?)
    }

    fn resource(&self, tenant: &str, asked: &Value) -> Result<Option<String>, String> {
        self.resource(tenant, asked)
    }

    fn digest(&self) -> String {
        let names: Vec<&str> = self.steps.iter().map(|planned| planned.step.name()).collect();
        let digest = Sha256::digest(names.join("\n").as_bytes());
        digest.iter().take(4).fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
    }

    fn readable(&self, params: &str, memory: &Memory, release: Release) -> Result<(), String> {
        decode::<W>(params, memory)?;
        // A step of a newer plan that has not started yet leaves no trace, so the plans are compared.
        if let Some(made_by) = memory.made_by.as_ref().filter(|made_by| made_by.release > release)
            && made_by.plan != self.digest()
        {
            return Err(format!(
                "release {} created it, with other steps than this release has",
                made_by.release
            ));
        }
        let has = |name: &str| self.steps.iter().any(|planned| planned.step.name() == name);
        let gone = || memory.started.iter().filter(|name| !memory.undone.contains(*name) && !has(name));
        if let Some(name) = gone().find(|name| !memory.done.contains(*name)) {
            return Err(format!("it is in the middle of step {name}, which this release does not have"));
        }
        match gone().next() {
            Some(name) if self.on_failure == OnFailure::Unwind => {
                Err(format!("it did step {name}, which this release does not have and could not undo"))
            }
            _ => Ok(()),
        }
    }

    async fn run(&self, job: Job<'_>) -> Result<RunExit, String> {
        let Job { engine_context, lease, inbox, claimed, memory, row_seq, not_before } = job;
        self.readable(&claimed.params, &memory, engine_context.release)?;
        let (params, state) = decode::<W>(&claimed.params, &memory)?;
        let unknown = Unknown::of(&memory.state, &state);
        let mut memory = memory;
        if memory.state.is_null() {
            // The default state needs no event: every release makes it anew.
            memory.state = serde_json::to_value(&state).unwrap_or_default();
        }
        if let Some(control) = claimed.control {
            inbox.put(control);
        }
        let context = sealing_context(&claimed.tenant, claimed.resource.as_deref(), self.kind());
        let adopted = memory.adopted;
        let journal = JournalWriter {
            memory,
            seq: claimed.seq,
            hold: Ownership { id: claimed.id, node: lease.node, epoch: claimed.epoch },
            pending: crate::event::Changes::default(),
            announced: BTreeSet::new(),
            lose_calls: None,
            record_update: None,
            written_record: None,
            unknown,
            sealer: Sealer::new(&engine_context.ring, context),
            store: Arc::clone(&engine_context.store),
            clock: Arc::clone(&engine_context.clock),
            event_feed: engine_context.event_feed.clone(),
        };
        let op = Operation {
            id: claimed.id,
            tenant: claimed.tenant,
            resource: claimed.resource,
            created_at: claimed.created_at,
            deadline_at: claimed.deadline_at,
            params,
            state,
            input: W::Input::default(),
            journal,
        };
        let mut execution = Execution {
            plan: self,
            engine_context,
            lease,
            inbox,
            op,
            phase: claimed.phase,
            created_at: claimed.created_at,
            deadline_at: claimed.deadline_at,
            processed: 0,
            not_before,
            row_seq,
            signal: claimed.signal,
            orphaned: claimed.orphaned || adopted,
        };
        Ok(execution.run_to_exit().await)
    }
}
