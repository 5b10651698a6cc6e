//! Makes the service account of the binding in the cluster, with its role.

use engine::prelude::*;

use super::Bind;
use crate::model::cluster_access::{ClusterAccess, NAMESPACE, account_name};

pub(crate) struct MakeAccount {
    pub(crate) access: ClusterAccess,
    pub(crate) role: String,
}

#[async_trait]
impl Step<Bind> for MakeAccount {
    named!("make_account", "Creating a service account in the cluster");

    fn driver(&self) -> Option<&'static str> {
        Some("kubernetes")
    }

    async fn run(&self, op: &mut Operation<Bind>) -> Outcome {
        let params = &op.params;
        let backend = self.access.backend(op, &params.instance_id).await?;
        let runtime = params.runtime();
        let kubeconfig = self.access.kubeconfig(backend, runtime).await?;
        let cluster = self.access.open(&kubeconfig)?;
        let name = account_name(&params.instance_id, &params.binding_id);
        cluster.ensure_service_account(NAMESPACE, &name).await?;
        cluster.ensure_cluster_role_binding(&name, &self.role, NAMESPACE, &name).await?;
        done()
    }

    async fn undo(&self, op: &mut Operation<Bind>) -> Outcome {
        let params = &op.params;
        let backend = self.access.backend(op, &params.instance_id).await?;
        let runtime = params.runtime();
        let name = account_name(&params.instance_id, &params.binding_id);
        self.access.remove_account(backend, runtime, &name).await?;
        done()
    }
}
