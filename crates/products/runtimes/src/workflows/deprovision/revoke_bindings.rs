//! Takes the service accounts of bindings out of a cluster whose kubeconfig goes before the cluster does. Their records
//! stay: the platform unbinds them, which finds nothing left to do.

use engine::prelude::*;

use super::Deprovision;
use crate::backend::Backends;
use crate::clients::Clients;
use crate::model::binding::Binding;
use crate::model::cluster_access::{ClusterAccess, account_name};
use crate::model::records::Records;

pub(crate) struct RevokeBindings {
    backends: Backends,
    access: ClusterAccess,
    records: Records,
}

impl RevokeBindings {
    pub(crate) fn new(clients: &Clients) -> RevokeBindings {
        RevokeBindings {
            backends: Backends::new(clients),
            access: ClusterAccess::new(clients),
            records: clients.records.clone(),
        }
    }
}

const BRIEF: RetryPolicy = RetryPolicy {
    first: Duration::from_secs(1),
    max: Duration::from_secs(30),
    budget: Duration::from_mins(5),
};

/// The bindings whose credentials were revoked.
#[derive(Serialize, Deserialize)]
struct Revoked(Vec<String>);

impl Fact for Revoked {
    const KEY: &'static str = "revoke_bindings.revoked";
}

#[async_trait]
impl Step<Deprovision> for RevokeBindings {
    named!("revoke_bindings", "Revoking the credentials of bindings");

    fn driver(&self) -> Option<&'static str> {
        Some("kubernetes")
    }

    /// The cluster may be out of reach for ever: then it goes with its service accounts.
    fn retries(&self) -> Option<RetryPolicy> {
        Some(BRIEF)
    }

    async fn run(&self, op: &mut Operation<Deprovision>) -> Outcome {
        let Some(runtime_id) = op.state.runtime_id.clone() else { return done() };
        let instance = op.input.instance()?.clone();
        let backend = self.backends.of(&instance);
        if !backend.ends_bindings_first() || op.recall::<Revoked>()?.is_some() {
            return done();
        }
        let mut revoked = Vec::new();
        for binding in self.records.labelled::<Binding>("instance_id", &instance.instance_id).await? {
            if binding.runtime_id.as_ref().is_some_and(|id| *id != runtime_id) {
                continue;
            }
            let name = account_name(&instance.instance_id, &binding.binding_id);
            self.access.remove_account(backend, instance.runtime(&runtime_id), &name).await?;
            revoked.push(binding.binding_id);
        }
        op.remember(&Revoked(revoked))?;
        done()
    }
}
