//! Every workflow this release knows, with its types put away so that one worker runs them all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::clock::Timestamp;
use crate::event::Release;
use crate::house::{House, Lease, Mailbox};
use crate::memory::Memory;
use crate::operation::{Book, Operation};
use crate::plan::{OnFailure, Plan, StepInfo};
use crate::runner::{Course, Left};
use crate::secret::Sealer;
use crate::store::{Claimed, Hold};
use crate::unknown::Unknown;
use crate::workflow::Workflow;

/// A plan of any workflow.
#[async_trait]
pub(crate) trait AnyPlan: Send + Sync {
    fn info(&self) -> WorkflowInfo;
    fn opens_with(&self) -> Option<&'static str>;
    fn deadline(&self) -> Duration;
    fn admit(&self, asked: Value, sealer: &Sealer) -> Result<String, String>;
    /// A digest of the names of the steps.
    fn digest(&self) -> String;
    /// Whether this release can go on with what is saved; the reason when it cannot.
    fn readable(&self, params: &str, memory: &Memory, release: Release) -> Result<(), String>;
    /// Works on an operation that is readable as a whole; the reason when it is not.
    async fn run(&self, job: Job<'_>) -> Result<Left, String>;
}

/// What people may know about a workflow.
#[derive(Debug, Clone, serde::Serialize)]
pub struct WorkflowInfo {
    pub workflow: &'static str,
    pub about: &'static str,
    pub on_failure: &'static str,
    pub deadline_seconds: u64,
    pub steps: Vec<StepInfo>,
}

/// One operation to work on, and what it needs.
pub(crate) struct Job<'a> {
    pub(crate) house: &'a House,
    pub(crate) lease: &'a Lease,
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) claimed: Claimed,
    pub(crate) memory: Memory,
    pub(crate) row_seq: u32,
    pub(crate) not_before: Option<Timestamp>,
}

#[derive(Default)]
pub(crate) struct Registry(BTreeMap<&'static str, Box<dyn AnyPlan>>);

impl Registry {
    pub(crate) fn add<W: Workflow>(&mut self, plan: Plan<W>) {
        let before = self.0.insert(W::KIND, Box::new(plan));
        assert!(before.is_none(), "the workflow {} is registered twice", W::KIND);
    }

    pub(crate) fn get(&self, workflow: &str) -> Option<&dyn AnyPlan> {
        self.0.get(workflow).map(Box::as_ref)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &dyn AnyPlan> {
        self.0.values().map(Box::as_ref)
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
            workflow: W::KIND,
            about: W::ABOUT,
            on_failure: match self.on_failure {
                OnFailure::Unwind => "unwind",
                OnFailure::Leave => "leave",
            },
            deadline_seconds: W::DEADLINE.as_secs(),
            steps: self.describe(),
        }
    }

    fn opens_with(&self) -> Option<&'static str> {
        self.opens_with()
    }

    fn deadline(&self) -> Duration {
        W::DEADLINE
    }

    fn admit(&self, asked: Value, sealer: &Sealer) -> Result<String, String> {
        let params = W::admit(asked, sealer)?;
        serde_json::to_string(&params).map_err(|error| error.to_string())
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

    async fn run(&self, job: Job<'_>) -> Result<Left, String> {
        let Job { house, lease, mailbox, claimed, memory, row_seq, not_before } = job;
        self.readable(&claimed.params, &memory, house.release)?;
        let (params, state) = decode::<W>(&claimed.params, &memory)?;
        let unknown = Unknown::of(&memory.state, &state);
        let mut memory = memory;
        if memory.state.is_null() {
            // The default state needs no event: every release makes it anew.
            memory.state = serde_json::to_value(&state).unwrap_or_default();
        }
        if let Some(wish) = claimed.wish {
            mailbox.put(wish);
        }
        let context = sealing_context(&claimed.tenant, claimed.resource.as_deref(), W::KIND);
        let adopted = memory.adopted;
        let book = Book {
            memory,
            seq: claimed.seq,
            hold: Hold { id: claimed.id, node: lease.node, epoch: claimed.epoch },
            pending: crate::event::Changes::default(),
            announced: BTreeSet::new(),
            lose_calls: None,
            portrait: None,
            portrayed: None,
            unknown,
            sealer: Sealer::new(&house.ring, context),
            store: Arc::clone(&house.store),
            clock: Arc::clone(&house.clock),
            feed: house.feed.clone(),
        };
        let op = Operation {
            id: claimed.id,
            tenant: claimed.tenant,
            resource: claimed.resource,
            params,
            state,
            input: W::Input::default(),
            book,
        };
        let mut course = Course {
            plan: self,
            house,
            lease,
            mailbox,
            op,
            phase: claimed.phase,
            created_at: claimed.created_at,
            deadline_at: claimed.deadline_at,
            heard: 0,
            not_before,
            row_seq,
            signal: claimed.signal,
            orphaned: claimed.orphaned || adopted,
        };
        Ok(course.drive().await)
    }
}
