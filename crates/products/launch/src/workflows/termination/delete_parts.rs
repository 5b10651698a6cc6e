//! Deletes what the launch made beside the instance, in clouds where it does not go by itself. What other instances of the
//! launch need stays until the last of them is gone.

use cloud::{CloudAccount, InstanceRequest};
use engine::prelude::*;

use super::Terminate;
use crate::model::numbers;
use crate::model::record::LaunchRecord;
use crate::model::settings::{LaunchSettings, Launches};
use crate::model::sources::SourceError;
use crate::workflows::launch::instance_request;

pub(crate) struct DeleteParts {
    launches: Arc<Launches>,
}

impl DeleteParts {
    pub(crate) fn new(launches: &Arc<Launches>) -> DeleteParts {
        DeleteParts { launches: Arc::clone(launches) }
    }

    /// What the launch asked for, as far as names follow from it. Nothing where the launch is forgotten, or was made by
    /// a release that did not say.
    async fn request(&self, op: &Operation<Terminate>) -> Result<Option<InstanceRequest>, Halt> {
        let row = self.launches.store.resource(&LaunchRecord::resource(op.params.launch)).await;
        let row = row.map_err(SourceError::from)?.filter(|row| row.kind == LaunchRecord::KIND);
        let Some(row) = row else { return Ok(None) };
        let record: LaunchRecord = numbers::read(&row).map_err(SourceError::from)?;
        let Some((tag, parameters)) = record.state.launch_tag.zip(record.parameters) else { return Ok(None) };
        Ok(Some(instance_request::of(&parameters, tag)))
    }
}

#[async_trait]
impl Step<Terminate> for DeleteParts {
    named!("delete_parts", "Deleting what belongs to the instance");

    fn driver(&self) -> Option<&'static str> {
        Some("cloud")
    }

    fn retries(&self) -> Option<RetryPolicy> {
        let LaunchSettings { retry_first: first, undo_patience: budget, .. } = self.launches.settings;
        Some(RetryPolicy { first, max: first * 30, budget })
    }

    async fn run(&self, op: &mut Operation<Terminate>) -> Outcome {
        let Some(request) = self.request(op).await? else { return done() };
        let params = &op.params;
        let Some(provider) = self.launches.providers.get(&params.provider) else { return done() };
        let account = self.launches.accounts.get(&params.owner, &params.source_id).await?;
        let Some(account) = account else { return done() };
        let session = op.id.to_string();
        let cloud_account = CloudAccount { account: &account, region: &params.region, session: &session };
        let left = provider.sweep(&cloud_account, &request).await?;
        let others = provider.find(&cloud_account, &request).await?;
        if left.is_empty() || others.iter().any(|one| !one.state.is_gone()) {
            return done();
        }
        wait(self.launches.settings.instance_poll, format!("{} parts are being deleted", left.len()))
    }
}
