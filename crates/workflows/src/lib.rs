//! Everything this program can provision: one folder per workflow, one file per step.

pub mod demo;
mod drivers;
pub mod overrides;

pub use self::drivers::Drivers;

use engine::EngineBuilder;

/// All workflows in one list: the table of contents of the product.
#[must_use]
pub fn register(builder: EngineBuilder, drivers: &Drivers) -> EngineBuilder {
    builder.workflow(demo::hello::plan(drivers))
}
