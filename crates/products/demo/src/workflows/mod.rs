//! The workflows of the demonstration: one folder each, one file per step.

pub mod hello;

use std::sync::Arc;

use engine::EngineBuilder;
use greeter::Greeter;

#[must_use]
pub fn register(builder: EngineBuilder, greeter: &Arc<dyn Greeter>) -> EngineBuilder {
    builder.workflow(hello::plan(greeter))
}
