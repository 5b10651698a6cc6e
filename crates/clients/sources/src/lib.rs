//! Sources: the cloud accounts of an organisation, and the credentials for them.

mod http;
mod wire;

use cloud::{Account, ProviderKind};
use http_client::ExternalSystem;
use serde::{Deserialize, Serialize};

pub use self::http::SourcesApi;

const SYSTEM: ExternalSystem = ExternalSystem("sources");

/// An account in a cloud, by the name that the organisation gave it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    pub id: String,
    pub name: String,
    pub uid: Option<String>,
    pub provider: ProviderKind,
    /// The number of its kind at the Sources API, where it is kept there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub type_id: Option<String>,
    /// `available`, `unavailable`, `in_progress` or `partially_available`, if it was ever checked.
    pub status: Option<String>,
}

/// How a source lets us in.
#[derive(Debug, Clone)]
pub struct Link {
    pub account: Account,
    /// The thing in Sources that our findings about the source are reported for.
    pub application: Option<String>,
}
