//! The real program, as people and scripts use it.
#![expect(clippy::unwrap_used, reason = "a test may fail wherever it stands")]

mod access;
mod background;
mod crashes;
mod demo;
mod guide;
mod instances;
mod kills;
mod operations;
mod postgres;
mod runtimes;
mod serving;
mod stage;
mod words;
