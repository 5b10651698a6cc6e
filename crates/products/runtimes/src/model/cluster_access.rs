//! The way into a runtime's cluster, and what bindings leave there.

use std::sync::Arc;

use director::Director;
use engine::Halt;
use engine::secret::SecretString;
use http_client::DriverError;
use kubernetes::{Cluster, Clusters};
use provisioner::{OnBehalfOf, OperationState, OperationType, Provisioner, RuntimeStatus};
use sha2::{Digest, Sha256};

use crate::clients::Clients;
use crate::workflows::shared::is_gone;

#[derive(Clone)]
pub(crate) struct ClusterAccess {
    provisioner: Arc<dyn Provisioner>,
    director: Option<Arc<dyn Director>>,
    clusters: Arc<dyn Clusters>,
}

/// Where the service accounts of bindings live.
pub(crate) const NAMESPACE: &str = "kube-system";

impl ClusterAccess {
    pub(crate) fn new(clients: &Clients) -> ClusterAccess {
        ClusterAccess {
            provisioner: Arc::clone(&clients.provisioner),
            director: clients.director.clone(),
            clusters: Arc::clone(&clients.clusters),
        }
    }

    /// Asked anew each time: the Provisioner may have rotated it.
    pub(crate) async fn kubeconfig(
        &self,
        caller: OnBehalfOf<'_>,
        runtime_id: &str,
    ) -> Result<SecretString, Halt> {
        kubeconfig(self.provisioner.runtime_status(caller, runtime_id).await?)
    }

    pub(crate) fn open(&self, kubeconfig: &SecretString) -> Result<Arc<dyn Cluster>, DriverError> {
        self.clusters.open(kubeconfig)
    }

    /// Takes the service account of a binding out of the cluster, and its role first: a token works for 10 s more after
    /// its service account is deleted, and not at all without the role. A cluster that is gone has neither.
    pub(crate) async fn remove_account(
        &self,
        caller: OnBehalfOf<'_>,
        runtime_id: &str,
        name: &str,
    ) -> Result<(), Halt> {
        let status = match self.provisioner.runtime_status(caller, runtime_id).await {
            Ok(status) if is_removed(&status) => return Ok(()),
            Ok(status) => status,
            Err(DriverError::Broken { .. } | DriverError::Refused { .. })
                if is_gone(self.director.as_deref(), caller.tenant, runtime_id).await? =>
            {
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let cluster = self.open(&kubeconfig(status)?)?;
        cluster.delete_cluster_role_binding(name).await?;
        cluster.delete_service_account(NAMESPACE, name).await?;
        Ok(())
    }
}

fn kubeconfig(status: RuntimeStatus) -> Result<SecretString, Halt> {
    let kubeconfig = status.configuration.and_then(|configuration| configuration.kubeconfig);
    kubeconfig.ok_or_else(|| Halt::Retry {
        after: None,
        cause: "the Provisioner has no kubeconfig of the runtime".into(),
    })
}

fn is_removed(status: &RuntimeStatus) -> bool {
    status.last_operation.as_ref().is_some_and(|last| {
        let removes =
            matches!(last.operation, OperationType::Deprovision | OperationType::DeprovisionNoInstall);
        removes && last.state == OperationState::Succeeded
    })
}

/// A name that Kubernetes takes, whatever the id of the binding looks like.
pub(crate) fn account_name(instance_id: &str, binding_id: &str) -> String {
    let digest = Sha256::digest(format!("{instance_id}\n{binding_id}").as_bytes());
    format!("binding-{}", http_client::hex(&digest[..10]))
}
