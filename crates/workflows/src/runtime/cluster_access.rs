//! The way into a runtime's cluster, and the names of what bindings leave there.

use std::sync::Arc;

use drivers::DriverError;
use drivers::kubernetes::{Cluster, Clusters};
use drivers::provisioner::{Caller, Provisioner};
use engine::Halt;
use engine::secret::SecretString;
use sha2::{Digest, Sha256};

use crate::drivers::Drivers;

#[derive(Clone)]
pub(super) struct ClusterAccess {
    provisioner: Arc<dyn Provisioner>,
    clusters: Arc<dyn Clusters>,
}

/// Where the service accounts of bindings live.
pub(super) const NAMESPACE: &str = "kube-system";

impl ClusterAccess {
    pub(super) fn new(drivers: &Drivers) -> ClusterAccess {
        ClusterAccess {
            provisioner: Arc::clone(&drivers.provisioner),
            clusters: Arc::clone(&drivers.clusters),
        }
    }

    /// Asked anew each time: the Provisioner may have rotated it.
    pub(super) async fn kubeconfig(
        &self,
        caller: Caller<'_>,
        runtime_id: &str,
    ) -> Result<SecretString, Halt> {
        let status = self.provisioner.runtime_status(caller, runtime_id).await?;
        let kubeconfig = status.configuration.and_then(|configuration| configuration.kubeconfig);
        kubeconfig.ok_or_else(|| Halt::Retry {
            after: None,
            cause: "the Provisioner has no kubeconfig of the runtime".into(),
        })
    }

    pub(super) fn open(&self, kubeconfig: &SecretString) -> Result<Arc<dyn Cluster>, DriverError> {
        self.clusters.open(kubeconfig)
    }
}

/// A name that Kubernetes takes, whatever the id of the binding looks like.
pub(super) fn account_name(instance_id: &str, binding_id: &str) -> String {
    let digest = Sha256::digest(format!("{instance_id}\n{binding_id}").as_bytes());
    let short = digest[..10].iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    format!("binding-{short}")
}
