//! The client of Azure against the sandbox.

mod accounts;
mod certificates;
mod fixture;
mod launches;
mod lost_answers;
mod sdk;
mod shortages;
mod sweeps;
mod wire;
