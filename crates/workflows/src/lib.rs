//! Everything this program can provision: one folder per workflow, one file per step.

pub mod demo;
mod drivers;
pub mod due;
pub mod launch;
pub mod notice;
pub mod overrides;
pub mod pubkey_deletion;
pub mod runtime;
pub mod serverless;
pub mod source_check;
pub mod termination;

pub use self::drivers::Drivers;

use engine::EngineBuilder;

/// All workflows in one list: the table of contents of the product.
#[must_use]
pub fn register(builder: EngineBuilder, drivers: &Drivers) -> EngineBuilder {
    builder
        .workflow(demo::hello::plan(drivers))
        .workflow(runtime::provision::plan(drivers))
        .workflow(runtime::update::plan(drivers))
        .workflow(runtime::deprovision::plan(drivers))
        .workflow(runtime::bind::plan(drivers))
        .workflow(runtime::unbind::plan(drivers))
        .workflow(serverless::create::plan(drivers))
        .workflow(serverless::update::plan(drivers))
        .workflow(serverless::delete::plan(drivers))
        .workflow(launch::plan(&drivers.launches))
        .workflow(notice::plan(&drivers.notices))
        .workflow(pubkey_deletion::plan(&drivers.launches))
        .workflow(source_check::plan(&drivers.launches))
        .workflow(termination::plan(&drivers.launches))
}
