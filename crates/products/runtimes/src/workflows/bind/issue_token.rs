//! Has the cluster issue a token that expires, and keeps the kubeconfig with it, sealed.

use engine::Timestamp;
use engine::prelude::*;
use kubernetes::{Kubeconfig, user_kubeconfig};

use super::Bind;
use crate::model::binding::Binding;
use crate::model::cluster_access::{ClusterAccess, NAMESPACE, account_name};

pub(crate) struct IssueToken {
    pub(crate) access: ClusterAccess,
}

#[async_trait]
impl Step<Bind> for IssueToken {
    named!("issue_token", "Issuing a token");

    fn driver(&self) -> Option<&'static str> {
        Some("kubernetes")
    }

    async fn run(&self, op: &mut Operation<Bind>) -> Outcome {
        let Some(mut binding) = op.subject::<Binding>().await? else {
            return fail("there is no record of this binding; ask for one through the broker");
        };
        if binding.kubeconfig.is_some() {
            return done();
        }
        let params = &op.params;
        let backend = self.access.backend(op, &params.instance_id).await?;
        let runtime = params.runtime();
        let admin = self.access.kubeconfig(backend, runtime).await?;
        let cluster = self.access.open(&admin)?;
        let name = account_name(&params.instance_id, &params.binding_id);
        // A token that is issued twice is only a second one: both end at their time and with the account.
        let issued = cluster.request_token(NAMESPACE, &name, params.expiration_seconds).await?;
        let parsed = Kubeconfig::parse(&admin).map_err(Halt::fail)?;
        binding.kubeconfig = Some(op.seal(&user_kubeconfig(&parsed, &issued.token, &name)));
        let micros = issued.expires_at.unix_timestamp_nanos() / 1000;
        binding.expires_at = Some(Timestamp(i64::try_from(micros).unwrap_or(i64::MAX)));
        op.set_record(&binding)?;
        done()
    }
}
