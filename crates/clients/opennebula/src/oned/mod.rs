//! `oned`, the heart of OpenNebula: users, documents, templates and machines.

mod client;
mod documents;
mod machines;
mod object;
mod users;

pub(super) use self::client::Oned;
pub use self::documents::{Document, Page, RUNTIME_DOCUMENT, Whose};
pub use self::machines::{Action, Capacity, Machine, Recovery, VmTemplate};
pub use self::users::User;

/// How it is called in errors.
const ONED: &str = "oned";
