//! Reservations: launches for clients of the hosted service.

pub(crate) mod create;
pub(crate) mod get;
pub(crate) mod list;
mod requests;
pub(crate) mod typed;
pub mod wire;
