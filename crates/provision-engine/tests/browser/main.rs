//! The console in a real browser, against the real program.
#![expect(clippy::unwrap_used, reason = "a test may fail wherever it stands")]

mod actions;
mod axe;
mod browser;
mod clouds;
mod crash;
mod crawl;
mod faults;
mod fixture;
mod identity_provider;
mod key_file;
mod keyboard;
mod keys;
mod launching;
mod lists;
mod live;
mod many;
mod mouse;
mod operations;
mod own_workflow;
mod page_driver;
mod pages;
mod pictures;
mod profiles;
mod rights;
mod serverless;
mod signing_in;
#[path = "../cli/stage.rs"]
#[expect(dead_code, reason = "the tests of the command line use the rest")]
mod stage;
mod sub_path;
mod wire;
mod without_script;
mod wizard;
