//! Workflows to try the engine with.

pub mod hello;
