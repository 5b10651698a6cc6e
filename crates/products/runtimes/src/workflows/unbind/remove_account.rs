//! Removes the service account of the binding from the cluster, and its role.

use engine::prelude::*;

use super::Unbind;
use crate::backend::RuntimeRef;
use crate::model::cluster_access::{ClusterAccess, account_name};
use crate::model::instance::InstanceRecord;

pub(crate) struct RemoveAccount {
    pub(crate) access: ClusterAccess,
}

#[async_trait]
impl Step<Unbind> for RemoveAccount {
    named!("remove_account", "Removing the service account from the cluster");

    fn driver(&self) -> Option<&'static str> {
        Some("kubernetes")
    }

    async fn run(&self, op: &mut Operation<Unbind>) -> Outcome {
        let params = &op.params;
        let Some(runtime_id) = &params.runtime_id else { return done() };
        // The instance may have lost its cluster since the request: then the account went with it.
        let instance = op.record::<InstanceRecord>(&InstanceRecord::resource(&params.instance_id)).await?;
        if instance.is_none_or(|instance| instance.runtime_id.as_ref() != Some(runtime_id)) {
            return done();
        }
        let backend = self.access.backend(op, &params.instance_id).await?;
        let runtime = RuntimeRef {
            account: &params.account,
            subaccount: &params.subaccount,
            instance_id: &params.instance_id,
            id: runtime_id,
            uid: None,
        };
        let name = account_name(&params.instance_id, &params.binding_id);
        self.access.remove_account(backend, runtime, &name).await?;
        done()
    }
}
