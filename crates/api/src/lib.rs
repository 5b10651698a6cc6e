//! The contract between the server and its clients, once: the types of the platform, errors, their formats, their
//! codes with a page each, and the client.
//!
//! This crate depends on no other crate of the workspace.

pub mod client;
mod code;
mod error;
mod format;
mod permission;
mod schema;
pub mod types;

pub use code::Code;
pub use error::{Error, FieldError, Parts};
pub use format::{Cognit, CognitBody, Format, Insights, InsightsBody, Osb, OsbBody, Problem, ProblemBody};
pub use permission::Permission;
pub use schema::json_schema;
