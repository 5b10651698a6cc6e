//! The console in a real browser, against the real program.
#![expect(clippy::unwrap_used, reason = "a test may fail wherever it stands")]

mod axe;
mod browser;
mod house;
mod pages;
mod person;
mod pictures;
#[path = "../cli/stage.rs"]
#[expect(dead_code, reason = "the tests of the command line use the rest")]
mod stage;
mod wire;
