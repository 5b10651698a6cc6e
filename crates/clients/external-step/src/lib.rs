//! Services of other people that do one step of a workflow: we ask over HTTP, sign what we ask, and they answer what
//! became of it.
//!
//! There is no call that takes anything back. The step of another workflow does that, such as one of the
//! deprovisioning.

mod http;
mod types;

pub use self::http::ExternalService;
pub use self::types::{About, Answer, Call, Override, Verdict, Whose};
pub use http_client::signature;
