//! The console: what the engine does, in a browser.
//!
//! It is a client of the doors like any other, in the same process: every page asks the API on behalf of whoever
//! looks, so the API's roles decide what is shown and allowed, and the API's audit log says who did what. Nothing
//! here reads the database or talks to a driver, except for people and their sessions.

mod admin;
mod api;
mod assets;
mod cookie;
mod csrf;
mod desk;
mod fields;
mod flash;
mod home;
mod images;
mod inventory;
mod launch;
mod launches;
mod list;
mod live;
mod me;
mod operations;
mod parts;
mod path;
mod pulse;
mod router;
mod runtimes;
mod serverless;
mod shell;
mod sign_in;
mod theme;
mod trouble;
mod visitor;
mod workflows;
#[cfg(test)]
mod world;

pub use desk::{Console, ConsoleSettings};
pub use router::router;
