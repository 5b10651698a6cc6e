//! Google Cloud, against the sandbox: every answer lost, bulk calls that fail inside, and projects of others.

mod failures;
mod fixture;
mod launches;
mod lists;
mod ownership;
mod sdk;
mod undo;
mod vectors;
