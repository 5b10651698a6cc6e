//! Kubernetes clusters: the calls that the engine needs, to the cluster of a kubeconfig.

mod api_server;
mod http;
mod kubeconfig;
mod types;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use engine::secret::SecretString;
use http_client::{DriverError, ExternalSystem};
use time::OffsetDateTime;

pub use self::api_server::{ApiServer, ApiStatus, ApiStatusDetails, api_error, object_name};
pub use self::http::HttpClusters;
pub use self::kubeconfig::{Kubeconfig, user_kubeconfig};

const SYSTEM: ExternalSystem = ExternalSystem("cluster");

/// The kinds that carry data for others to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectKind {
    ConfigMap,
    Secret,
}

#[derive(Debug, Clone)]
pub struct LabelledObject {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    /// Decoded. The data of a `ConfigMap` is kept as carefully as that of a Secret.
    pub data: BTreeMap<String, SecretString>,
}

#[derive(Debug, Clone)]
pub struct ServiceAccountToken {
    pub token: SecretString,
    pub expires_at: OffsetDateTime,
}

pub trait Clusters: Send + Sync {
    /// The cluster of this kubeconfig. Connects only with the first call. A kubeconfig that cannot be used is
    /// refused.
    fn open(&self, kubeconfig: &SecretString) -> Result<Arc<dyn Cluster>, DriverError>;
}

/// Everything may be called any number of times. After an error other than `Refused` a change may be done or
/// not.
#[async_trait]
pub trait Cluster: Send + Sync {
    /// All objects of a namespace with these labels, such as `a=1,b=2`. Changes nothing.
    async fn labelled(
        &self,
        kind: ObjectKind,
        namespace: &str,
        selector: &str,
    ) -> Result<Vec<LabelledObject>, DriverError>;

    /// Makes the service account, unless one of this name stands.
    async fn ensure_service_account(&self, namespace: &str, name: &str) -> Result<(), DriverError>;

    /// Binds a service account to a cluster role, unless a binding of this name stands. What that one binds is
    /// not looked at, so the name has to be of our making.
    async fn ensure_cluster_role_binding(
        &self,
        name: &str,
        cluster_role: &str,
        namespace: &str,
        service_account: &str,
    ) -> Result<(), DriverError>;

    /// A new token for the service account. Every call makes another one, and none can be taken back alone:
    /// they end with their time or with the service account. The cluster may give it another life than asked.
    async fn request_token(
        &self,
        namespace: &str,
        service_account: &str,
        seconds: u32,
    ) -> Result<ServiceAccountToken, DriverError>;

    /// Takes the service account away. Its tokens may work for 10 s more, as long as the service account is bound.
    /// False when there was none.
    async fn delete_service_account(&self, namespace: &str, name: &str) -> Result<bool, DriverError>;

    /// Takes the binding away: from then on no token of its service account has a right. False when there was none.
    async fn delete_cluster_role_binding(&self, name: &str) -> Result<bool, DriverError>;
}
