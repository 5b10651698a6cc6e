//! The contract between the server and its clients, once: error codes with their pages.
//!
//! This crate depends on no other crate of the workspace.

mod code;

pub use code::Code;
