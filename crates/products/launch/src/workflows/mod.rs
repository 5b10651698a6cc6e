//! The workflows of launches: one folder each, one file per step.

pub mod launch;
pub mod notice;
pub mod public_key_deletion;
pub mod source_check;
pub mod termination;

use std::sync::Arc;

use engine::EngineBuilder;

use self::notice::Notices;
use crate::model::Launches;

#[must_use]
pub fn register(builder: EngineBuilder, launches: &Arc<Launches>, notices: &Notices) -> EngineBuilder {
    builder
        .workflow(launch::plan(launches))
        .workflow(notice::plan(notices))
        .workflow(public_key_deletion::plan(launches))
        .workflow(source_check::plan(launches))
        .workflow(termination::plan(launches))
}
