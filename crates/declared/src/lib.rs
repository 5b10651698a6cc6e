//! Workflows that are declared at run time: a file or a request names the steps, and each step is a signed HTTP call.
//!
//! A [`Declaration`] is read and checked whole before anything of it is used. [`Declarations`] keeps them in the
//! database, in versions, and gives each to the engine as a plan. `files` reads a folder of them.

mod condition;
mod declaration;
mod declarations;
mod fields;
pub mod files;
mod gates;
mod kept;
mod params;
mod plan;
mod record;
mod step;
mod template;

pub use declaration::{
    DECLARATION_BYTES_MAX, Declaration, SecretSource, StepDeclaration, Wrong, check_workflow_name,
};
pub use declarations::{
    Declarations, DeclareError, Declared, PlannedCall, SIGNAL_BYTES_MAX, SIGNALS_MAX, Saved,
};
pub use external_step::{Reach, StepClient};
pub use plan::{DeclaredWorkflow, Front, compile};
pub use record::{Head, Source, VersionLine, VersionRecord};
