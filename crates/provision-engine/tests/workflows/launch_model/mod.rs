//! The desk in front of launches: what it lets in, what it turns away and why, and what it knows.

mod accept;
mod image_events;
mod inventory;
mod key_deletion;
mod keys;
pub(crate) mod office;
mod saved_sources;
mod source_check;
mod sources;
mod submit_parameters;
