//! Deletes the key pairs one by one. One that is gone already is no error, so a call whose answer was lost is made again.

use cloud::{self, CloudError, CloudKey};
use engine::prelude::*;

use super::uploaded::{UploadedKeyPair, is_needed, uploaded};
use super::{DeletePublicKey, State};
use crate::model::settings::{LaunchSettings, Launches};
use crate::model::sources::SourceError;

pub(crate) struct DeleteKeyPairs {
    launches: Arc<Launches>,
}

/// Why a key pair stays where it is.
enum Stays {
    /// Trying again may help.
    ForNow(String),
    ForGood(String),
}

impl From<SourceError> for Stays {
    fn from(error: SourceError) -> Stays {
        let why = error.to_string();
        match Halt::from(error) {
            Halt::Fail { .. } => Stays::ForGood(why),
            _ => Stays::ForNow(why),
        }
    }
}

impl From<CloudError> for Stays {
    fn from(error: CloudError) -> Stays {
        if error.may_heal() { Stays::ForNow(error.to_string()) } else { Stays::ForGood(error.to_string()) }
    }
}

impl DeleteKeyPairs {
    pub(crate) fn new(launches: &Arc<Launches>) -> DeleteKeyPairs {
        DeleteKeyPairs { launches: Arc::clone(launches) }
    }

    async fn delete(
        &self,
        op: &Operation<DeletePublicKey>,
        uploaded: &UploadedKeyPair,
        key: &CloudKey,
    ) -> Result<(), Stays> {
        let known = self.launches.providers.get(&uploaded.provider);
        let provider = known.ok_or_else(|| Stays::ForGood("its cloud is not configured".into()))?;
        let account = self.launches.accounts.get(&op.params.owner, &uploaded.source).await?;
        let account = account.ok_or_else(|| Stays::ForGood("its source does not exist any longer".into()))?;
        let session = op.id.to_string();
        let there = cloud::CloudAccount { account: &account, region: &uploaded.region, session: &session };
        Ok(provider.delete_key(&there, key).await?)
    }
}

fn warning(uploaded: &UploadedKeyPair, why: &str) -> String {
    let UploadedKeyPair { source, region, name, .. } = uploaded;
    format!("key pair {name:?} stays in {region} of source {source}: {why}")
}

#[async_trait]
impl Step<DeletePublicKey> for DeleteKeyPairs {
    named!("delete_key_pairs", "Deleting key pairs");

    fn driver(&self) -> Option<&'static str> {
        Some("cloud")
    }

    fn retries(&self) -> Option<RetryPolicy> {
        let LaunchSettings { retry_first: first, undo_patience: budget, .. } = self.launches.settings;
        Some(RetryPolicy { first, max: first * 30, budget })
    }

    async fn run(&self, op: &mut Operation<DeletePublicKey>) -> Outcome {
        let store = &*self.launches.store;
        let all = uploaded(store, &op.params).await.map_err(SourceError::from)?;
        if !all.is_empty() && is_needed(store, &op.params).await.map_err(SourceError::from)? {
            let kept = "its key pairs stay in the clouds: they may still be needed there".to_owned();
            op.state = State { warnings: vec![kept] };
            return done();
        }
        let (mut warnings, mut again) = (Vec::new(), None);
        for (uploaded, key) in &all {
            let why = match self.delete(op, uploaded, key).await {
                Ok(()) => continue,
                Err(Stays::ForGood(why)) => why,
                Err(Stays::ForNow(why)) => again.insert(why).clone(),
            };
            warnings.push(warning(uploaded, &why));
        }
        op.state = State { warnings };
        again.map_or_else(done, retry)
    }
}
