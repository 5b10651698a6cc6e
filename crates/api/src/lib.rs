//! The contract between the server and its clients, once: errors, their formats, and their codes with a page each.
//!
//! This crate depends on no other crate of the workspace.

mod code;
mod error;
mod format;

pub use code::Code;
pub use error::{Error, FieldError, Parts};
pub use format::{Cognit, CognitBody, Format, Insights, InsightsBody, Osb, OsbBody, Problem, ProblemBody};
