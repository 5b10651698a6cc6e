//! Access to the cluster of a runtime, and the objects that bindings create there.

use std::sync::Arc;

use engine::secret::SecretString;
use engine::{Halt, Operation, Workflow};
use http_client::DriverError;
use kubernetes::{Cluster, Clusters};
use sha2::{Digest, Sha256};

use super::instance::InstanceRecord;
use crate::backend::{Backend, BackendKind, Backends, ClusterEntry, RuntimeRef};
use crate::clients::Clients;

#[derive(Clone)]
pub struct ClusterAccess {
    backends: Backends,
    clusters: Arc<dyn Clusters>,
}

/// Where the service accounts of bindings live.
pub(crate) const NAMESPACE: &str = "kube-system";

impl ClusterAccess {
    pub fn new(clients: &Clients) -> ClusterAccess {
        ClusterAccess { backends: Backends::new(clients), clusters: Arc::clone(&clients.clusters) }
    }

    /// The back end of the instance that an operation on a binding is about.
    pub(crate) async fn backend<W: Workflow>(
        &self,
        op: &Operation<W>,
        instance_id: &str,
    ) -> Result<&dyn Backend, Halt> {
        let instance = op.record::<InstanceRecord>(&InstanceRecord::resource(instance_id)).await?;
        Ok(match &instance {
            Some(instance) => self.backends.of(instance),
            None => self.backends.get(BackendKind::default()),
        })
    }

    pub(crate) async fn kubeconfig(
        &self,
        backend: &dyn Backend,
        runtime: RuntimeRef<'_>,
    ) -> Result<SecretString, Halt> {
        match backend.kubeconfig(runtime).await? {
            ClusterEntry::Open(kubeconfig) => Ok(kubeconfig),
            ClusterEntry::Gone => Err(Halt::fail("the runtime does not exist any longer")),
        }
    }

    pub(crate) fn open(&self, kubeconfig: &SecretString) -> Result<Arc<dyn Cluster>, DriverError> {
        self.clusters.open(kubeconfig)
    }

    /// Takes the service account of a binding out of the cluster, and its role first: a token works for 10 s more after
    /// its service account is deleted, and not at all without the role. A cluster that is gone has neither.
    pub(crate) async fn remove_account(
        &self,
        backend: &dyn Backend,
        runtime: RuntimeRef<'_>,
        name: &str,
    ) -> Result<(), Halt> {
        let ClusterEntry::Open(kubeconfig) = backend.kubeconfig(runtime).await? else { return Ok(()) };
        let cluster = self.open(&kubeconfig)?;
        cluster.delete_cluster_role_binding(name).await?;
        cluster.delete_service_account(NAMESPACE, name).await?;
        Ok(())
    }
}

/// A name that Kubernetes takes, whatever the id of the binding looks like.
pub(crate) fn account_name(instance_id: &str, binding_id: &str) -> String {
    let digest = Sha256::digest(format!("{instance_id}\n{binding_id}").as_bytes());
    format!("binding-{}", http_client::hex(&digest[..10]))
}
