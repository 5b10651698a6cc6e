//! Serverless runtimes: functions that a device asks for, each a machine of a OneFlow service in OpenNebula.
//!
//! OpenNebula's document pool is the state of record. A document comes first and goes last, and carries the token
//! of the operation that made it, as the name of its service does.

mod choose;
mod contents;
pub mod create;
pub mod delete;
pub mod errand;
mod function;
pub mod json;
mod limit;
mod marks;
pub mod orphans;
pub mod refusal;
mod removal;
mod report;
mod runtime;
mod settings;
pub mod spec;
mod state;
pub mod sweep;
pub mod update;
pub mod view;

pub use drivers::opennebula::{BadCredentials, Credentials};
pub use errand::{Errand, Input};
pub use function::{Asked, Role};
pub use refusal::Refusal;
pub use runtime::Runtime;
pub use settings::{ResizeMode, Serverless, ServerlessSettings, SrAuth};
pub use spec::Spec;
pub use state::RuntimeState;

pub const CREATE: &str = "serverless.create";
pub const UPDATE: &str = "serverless.update";
pub const DELETE: &str = "serverless.delete";
