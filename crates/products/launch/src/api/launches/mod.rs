//! The launches API: build an image, launch it, and follow the launch.

pub(crate) mod cancel;
pub(crate) mod create;
pub(crate) mod detach;
pub(crate) mod events;
pub(in crate::api) mod find;
pub(crate) mod get;
mod image;
pub(crate) mod list;
pub(crate) mod parameters;
mod request;
pub(crate) mod retry;
mod shown;
pub(crate) mod terminate;
pub(in crate::api) mod wait;
