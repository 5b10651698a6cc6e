//! The director: the registry of runtimes and their labels.

mod http;
mod queries;
mod token;
mod types;

use std::collections::BTreeMap;

use async_trait::async_trait;
use http_client::{DriverError, ExternalSystem};
use serde_json::Value;

pub use self::http::HttpDirector;
pub use self::token::ClientCredentials;

const SYSTEM: ExternalSystem = ExternalSystem("director");

/// A runtime as the director has it on file.
#[derive(Debug, Clone, PartialEq)]
pub struct DirectorRuntime {
    pub id: String,
    pub name: String,
    pub labels: BTreeMap<String, Value>,
    /// `INITIAL`, `PROVISIONING`, `CONNECTED` or `FAILED`; none while the director has no status.
    pub condition: Option<String>,
}

#[async_trait]
pub trait Director: Send + Sync {
    /// The runtime of this id, if there is one. Changes nothing.
    async fn runtime(&self, tenant: &str, id: &str) -> Result<Option<DirectorRuntime>, DriverError>;

    /// All runtimes of the tenant whose label `key` is `value`. Changes nothing.
    ///
    /// This is how a step finds what an earlier try made: the provisioner registers a runtime with its labels
    /// before it answers.
    async fn runtimes_by_label(
        &self,
        tenant: &str,
        key: &str,
        value: &str,
    ) -> Result<Vec<DirectorRuntime>, DriverError>;

    /// Writes a label. May be called any number of times.
    async fn set_label(
        &self,
        tenant: &str,
        runtime_id: &str,
        key: &str,
        value: &str,
    ) -> Result<(), DriverError>;
}
