//! Launches in our own words: build an image and launch it in one go, and follow that wherever you are.

pub(super) mod cancel;
pub(super) mod create;
pub(super) mod detach;
pub(super) mod events;
pub(in crate::launch) mod find;
pub(super) mod get;
mod image;
pub(super) mod list;
pub(super) mod parameters;
pub(super) mod retry;
pub(super) mod terminate;
pub(in crate::launch) mod wait;
pub mod wire;
