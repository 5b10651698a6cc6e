//! The console: what the engine does, in a browser.
//!
//! It is a client of the doors like any other, in the same process: every page asks the API on behalf of whoever
//! looks, so the API's roles decide what is shown and allowed, and the API's audit log says who did what. Nothing
//! here reads the database or talks to a driver, except for people and their sessions.

mod admin;
mod api;
mod assets;
pub mod confirm;
mod cookie;
mod csrf;
mod desk;
mod fields;
mod flash;
mod home;
pub mod list;
pub mod live;
mod me;
mod operations;
mod pages;
pub mod parts;
pub mod path;
pub mod products;
mod pulse;
mod router;
mod shell;
mod sign_in;
mod theme;
mod trouble;
mod visitor;
mod workflows;
#[cfg(test)]
mod world;

pub use api::{Answer, Api};
pub use csrf::CsrfToken;
pub use desk::{Console, ConsoleSettings, Desk};
pub use fields::Fields;
pub use flash::{Flash, see_other};
pub use pages::{Finder, Offer, Pages, ProductApi};
pub use router::router;
pub use shell::{Section, Shell, html};
pub use trouble::{Flaw, Trouble};
pub use visitor::Visitor;
