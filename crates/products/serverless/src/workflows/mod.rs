//! The workflows of serverless runtimes: one folder each, one file per step.

pub mod create;
pub mod delete;
pub mod update;

use std::sync::Arc;

use engine::EngineBuilder;

use crate::model::Serverless;

#[must_use]
pub fn register(builder: EngineBuilder, serverless: &Arc<Serverless>) -> EngineBuilder {
    builder
        .workflow(create::plan(serverless))
        .workflow(update::plan(serverless))
        .workflow(delete::plan(serverless))
}
