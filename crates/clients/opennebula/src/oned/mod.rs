//! `oned`, the daemon of OpenNebula: users, documents, templates and VMs.

mod client;
mod documents;
mod machines;
mod object;
mod users;

pub(super) use self::client::Oned;
pub use self::documents::{DocumentFilter, DocumentPage, NebulaDocument, RUNTIME_DOCUMENT};
pub use self::machines::{Capacity, Recovery, VirtualMachine, VmAction, VmTemplate};
pub use self::users::NebulaUser;

/// How it is called in errors.
const ONED: &str = "oned";
