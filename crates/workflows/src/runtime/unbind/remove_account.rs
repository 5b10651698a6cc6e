//! Removes the service account of the binding from the cluster, and its role.

use drivers::provisioner::Caller;
use engine::prelude::*;

use super::Unbind;
use crate::runtime::cluster_access::{ClusterAccess, NAMESPACE, account_name};

pub(super) struct RemoveAccount {
    pub(super) access: ClusterAccess,
}

#[async_trait]
impl Step<Unbind> for RemoveAccount {
    fn name(&self) -> &'static str {
        "remove_account"
    }

    fn title(&self) -> &'static str {
        "Removing the service account from the cluster"
    }

    fn driver(&self) -> Option<&'static str> {
        Some("kubernetes")
    }

    async fn run(&self, op: &mut Operation<Unbind>) -> Outcome {
        let params = &op.params;
        let Some(runtime_id) = &params.runtime_id else { return done() };
        let caller = Caller { tenant: &params.account, sub_account: Some(&params.subaccount) };
        let kubeconfig = self.access.kubeconfig(caller, runtime_id).await?;
        let cluster = self.access.open(&kubeconfig)?;
        let name = account_name(&params.instance_id, &params.binding_id);
        cluster.delete_cluster_role_binding(&name).await?;
        cluster.delete_service_account(NAMESPACE, &name).await?;
        done()
    }
}
