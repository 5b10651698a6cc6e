//! The workflows of runtimes: one folder each, one file per step.

pub mod bind;
pub mod deprovision;
pub mod external;
pub mod orchestration;
pub mod provision;
pub mod shared;
pub mod unbind;
pub mod update;
pub mod upgrade;

use engine::EngineBuilder;

use crate::clients::Clients;

#[must_use]
pub fn register(builder: EngineBuilder, clients: &Clients) -> EngineBuilder {
    builder
        .workflow(provision::plan(clients))
        .workflow(update::plan(clients))
        .workflow(upgrade::plan(clients))
        .workflow(deprovision::plan(clients))
        .workflow(bind::plan(clients))
        .workflow(unbind::plan(clients))
}
