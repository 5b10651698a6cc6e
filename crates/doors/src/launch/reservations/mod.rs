//! Launches as older clients know them.

pub(super) mod create;
pub(super) mod get;
pub(super) mod list;
mod requests;
pub(super) mod typed;
pub mod wire;
