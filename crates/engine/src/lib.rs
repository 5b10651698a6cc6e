//! The durable core of provision-engine: what an operation is and how it lives.
//!
//! An **operation** is one durable run of a **workflow** for one resource. A workflow is a table of **steps**
//! with weights, its [`Plan`]. A **pass** walks through the steps from the lowest weight; each step answers with
//! an **outcome**: done, skip, wait, retry or fail. What a step remembers is a **fact**, what a pass puts
//! together and does not save is its **input**. Every change is an **event** in the operation's journal, and the
//! journal is the operation's memory.
//!
//! This crate knows no HTTP, no SQL, no cloud and no clock of its own: the store and the clock come in by trait.

mod access;
mod attempt;
mod budget;
mod clock;
pub mod due;
mod engine;
mod engine_context;
mod event;
mod event_feed;
mod ids;
mod limits;
mod memory;
mod observer;
mod operation;
mod outcome;
pub mod overrides;
mod people;
mod phase;
mod plan;
mod preview;
mod registry;
mod runner;
pub mod secret;
mod step;
pub mod store;
mod unknown;
mod verdict;
mod worker;
mod workflow;

pub use access::{
    AccessStore, AdminChange, AuditRow, Capability, Grant, Role, Scope, TokenRow, grants_text, parse_grants,
};
pub use attempt::{Attempt, Calls, LoseCalls, LostCall, UnknownCall};
pub use budget::{Budget, RetryPolicy};
pub use clock::{Clock, Timestamp, WallClock};
pub use engine::{
    AcceptedOperation, AskError, Command, Engine, EngineBuilder, Inspection, RecordWrites,
    SHOWN_NAME_CHARS_MAX, SignalError, Submission, SubmitError, Unfinishable,
};
pub use engine_context::Settings;
pub use event::{Because, Body, Changes, Event, PlanVersion, Release, masked};
pub use event_feed::EventFeed;
pub use ids::{NodeId, OperationId};
pub use limits::Limits;
pub use memory::{LastError, Memory, StuckAt, UndoReason, Wait};
pub use observer::{Observer, StepResult, Unobserved};
pub use operation::Operation;
pub use outcome::{Abandon, Cause, Done, Halt, Outcome, done, fail, retry, skip, wait, wait_for};
pub use people::{
    DRAFTS_MAX, DraftRow, Organisation, PeopleStore, Proof, ProofKind, SessionRow, UserChange, UserRow,
};
pub use phase::{Phase, PhaseVerb, Turn};
pub use plan::{Admit, Condition, Declared, NameResource, OnFailure, Plan, StepInfo};
pub use preview::DryRun;
pub use registry::WorkflowInfo;
pub use step::{Effect, Step};
pub use workflow::{Fact, Record, Resource, Settled, Workflow, parse};

/// What the file of a step needs.
pub mod prelude {
    pub use std::sync::Arc;
    pub use std::time::Duration;

    pub use async_trait::async_trait;
    pub use serde::{Deserialize, Serialize};

    pub use crate::secret::{ExposeSecret, Sealed, SecretString};
    pub use crate::{
        Effect, Fact, Halt, OnFailure, Operation, Outcome, Plan, Resource, RetryPolicy, Step, Workflow, done,
        fail, named, retry, skip, wait, wait_for,
    };
}
