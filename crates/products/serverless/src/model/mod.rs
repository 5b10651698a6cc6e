//! Serverless runtimes: functions that a device asks for, each a VM of a OneFlow service in OpenNebula.
//!
//! OpenNebula's document pool is the state of record. A document comes first and goes last, and carries the token
//! of the operation that made it, as the name of its service does.

pub mod caller_credentials;
pub mod choose;
pub mod contents;
pub mod fields;
pub mod flavours;
pub mod function;
pub mod json;
pub mod labels;
pub mod limit;
pub mod orphans;
pub mod removal;
pub mod report;
pub mod runtime;
pub mod runtime_error;
pub mod settings;
pub mod spec;
pub mod state;
pub mod sweep;
pub mod view;

pub use caller_credentials::{CallerCredentials, Input};
pub use function::{FunctionRole, FunctionSpec};
pub use opennebula::{BadCredentials, NebulaCredentials};
pub use runtime::ServerlessRuntime;
pub use runtime_error::RuntimeError;
pub use settings::{ResizeMode, Serverless, ServerlessSettings, SrAuth};
pub use spec::Spec;
pub use state::RuntimeState;

pub const CREATE: &str = "serverless.create";
pub const UPDATE: &str = "serverless.update";
pub const DELETE: &str = "serverless.delete";
