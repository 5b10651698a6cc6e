//! The client of Azure against the sandbox.

mod accounts;
pub(crate) mod certificates;
mod fixture;
mod launches;
mod lost_answers;
mod sandbox_answers;
mod sdk;
mod shortages;
mod sweeps;
mod vectors;
mod wire;
