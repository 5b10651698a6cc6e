//! Sees to it that the account has the public key. A key that is there is used, no matter which client uploaded it; one that this
//! launch uploaded goes when the launch fails, unless another launch uses it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cloud::{Category, CloudError, CloudKey, Fingerprints};
use engine::prelude::*;
use engine::store::ResourceQuery;

use super::instance_request::launch_tag;
use super::reach::{Reach, parameters, reach};
use super::report::{healed, later, refuse, settle, steady, stop};
use super::written_record::set_record;
use crate::model::params::KeyChoice;
use crate::model::public_key::PublicKey;
use crate::model::record::LaunchRecord;
use crate::model::settings::Launches;
use crate::model::state::{KeyState, LaunchError, Leftover};
use crate::workflows::launch::Launch;

pub(crate) struct UploadPublicKey {
    launches: Arc<Launches>,
}

pub(crate) const NAME: &str = "upload_public_key";
const CALL: &str = "upload_public_key.called";
/// So many names are tried when others have taken them.
const NAMES_MAX: u32 = 5;
/// AWS takes no longer name; there must be room for what we add.
const NAME_CHARS_MAX: usize = 200;

impl UploadPublicKey {
    pub(crate) fn new(launches: &Arc<Launches>) -> UploadPublicKey {
        UploadPublicKey { launches: Arc::clone(launches) }
    }

    /// Uploads the key under the first name that is free.
    async fn upload(
        &self,
        reach: &Reach,
        choice: &KeyChoice,
        key: &PublicKey,
        launch_tag: &str,
    ) -> Result<CloudKey, CloudError> {
        let mut taken = CloudError::new(Category::Duplicate, "", "all names for the key are taken");
        for number in 1..=NAMES_MAX {
            let name = name_of(choice, key, number);
            match reach.provider.upload_key(&reach.cloud_account(), &name, &key.material(), launch_tag).await
            {
                Err(error) if error.is(Category::Duplicate) => {
                    // Another client may have uploaded this very key a moment ago.
                    let found =
                        reach.provider.find_key(&reach.cloud_account(), &key.aws_fingerprints()).await?;
                    if let Some(found) = found {
                        return Ok(found);
                    }
                    taken = error;
                }
                answer => return answer,
            }
        }
        Err(taken)
    }

    /// Whether another launch uses the key, or is about to.
    async fn is_shared(&self, op: &Operation<Launch>, claim: &str) -> Result<bool, CloudError> {
        let query = ResourceQuery {
            kind: LaunchRecord::KIND.to_owned(),
            labels: vec![("key".to_owned(), vec![claim.to_owned()])],
            limit: 2,
            ..ResourceQuery::default()
        };
        let page = self.launches.store.resources(&query).await;
        let page = page.map_err(|error| CloudError::new(Category::Network, "", error.to_string()))?;
        Ok(page.rows.iter().any(|row| Some(&row.name) != op.resource.as_ref()))
    }

    /// The key pair that this launch uploaded, if there is one.
    async fn ours(
        &self,
        op: &Operation<Launch>,
        reach: &Reach,
        fingerprints: &Fingerprints,
    ) -> Result<Option<CloudKey>, CloudError> {
        if let Some(state) = op.state.key.as_ref().filter(|state| state.uploaded) {
            return Ok(Some(state.key.clone()));
        }
        let found = reach.provider.find_key(&reach.cloud_account(), fingerprints).await?;
        Ok(found.filter(|key| key.launch_tag.as_deref() == Some(&launch_tag(op))))
    }

    /// Deletes the key pair if no other client needs it. Answers whether it is settled that nothing of ours is there.
    async fn take_back(&self, op: &mut Operation<Launch>, key: &PublicKey) -> Result<bool, CloudError> {
        let reach = reach(&self.launches, op).await?;
        let Some(found) = self.ours(op, &reach, &key.aws_fingerprints()).await? else { return Ok(false) };
        let claim = op.state.key_claim.clone().unwrap_or_default();
        if !self.is_shared(op, &claim).await? {
            op.state.key = Some(KeyState { key: found.clone(), uploaded: true });
            reach.provider.delete_key(&reach.cloud_account(), &found).await?;
        }
        Ok(true)
    }
}

/// What others look for: it is the same for all launches that may use this key pair.
fn claim_of(reach: &Reach, key: &PublicKey) -> String {
    format!("{}/{}/{}", reach.cloud_account().account.source, reach.region, key.fingerprint())
}

/// As its owner calls it, with a piece of the key so that names are rarely taken.
fn name_of(choice: &KeyChoice, key: &PublicKey, number: u32) -> String {
    let plain = |c: char| if c.is_ascii_graphic() { c } else { '-' };
    let name: String = choice.name.chars().take(NAME_CHARS_MAX).map(plain).collect();
    let digest = STANDARD.decode(key.fingerprint_bare()).unwrap_or_default();
    let short = digest.iter().take(4).fold(0, |short, byte| short << 8 | u32::from(*byte));
    let short = format!("{short:08x}");
    if number == 1 { format!("{name}-{short}") } else { format!("{name}-{short}-{number}") }
}

/// The key that lets people in, where one was chosen.
fn key_of(op: &mut Operation<Launch>) -> Result<Option<(KeyChoice, PublicKey)>, Halt> {
    let Some(choice) = parameters(op)?.key.clone() else { return Ok(None) };
    match PublicKey::parse(&choice.line) {
        Ok(key) => Ok(Some((choice, key))),
        Err(error) => Err(refuse(op, LaunchError::new(NAME, "validation", error.to_string()))),
    }
}

#[async_trait]
impl Step<Launch> for UploadPublicKey {
    named!(NAME, "Uploading the public key");

    fn driver(&self) -> Option<&'static str> {
        Some("cloud")
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(steady(&self.launches.settings))
    }

    async fn run(&self, op: &mut Operation<Launch>) -> Outcome {
        if op.state.key.is_some() {
            return done();
        }
        let Some((choice, key)) = key_of(op)? else { return done() };
        let reach = reach(&self.launches, op).await.map_err(|error| stop(op, NAME, error))?;
        // A launch that looks whether the key is in use must see this record before this launch sees the key.
        op.state.key_claim = Some(claim_of(&reach, &key));
        set_record(op)?;
        let launch_tag = launch_tag(op);
        let call = async {
            match reach.provider.find_key(&reach.cloud_account(), &key.aws_fingerprints()).await? {
                Some(found) => Ok(found),
                None => self.upload(&reach, &choice, &key, &launch_tag).await,
            }
        };
        match op.attempt(CALL).call(call, CloudError::may_have_happened).await? {
            Ok(found) => {
                let uploaded = found.launch_tag.as_deref() == Some(&launch_tag);
                op.state.key = Some(KeyState { key: found, uploaded });
                done()
            }
            Err(error) => Err(stop(op, NAME, error)),
        }
    }

    async fn undo(&self, op: &mut Operation<Launch>) -> Outcome {
        let unused = op.state.key.as_ref().is_some_and(|state| !state.uploaded);
        if op.calls(CALL)?.is_none() || unused {
            op.state.key_claim = None;
            return done();
        }
        let Some((_, key)) = key_of(op)? else { return done() };
        match self.take_back(op, &key).await {
            Ok(is_settled) => {
                healed(op, NAME)?;
                if !is_settled {
                    settle(op, CALL, &self.launches.settings)?;
                }
            }
            Err(error) => {
                let leftovers = op.state.key.iter().map(|state| Leftover {
                    kind: "key_pair".into(),
                    id: state.key.name.clone(),
                    region: parameters(op).ok().map(|parameters| parameters.region.clone()),
                    note: format!("it could not be deleted: {error}; delete it by hand, or retry"),
                });
                let leftovers = leftovers.collect();
                return Err(later(op, &self.launches.settings, NAME, &error, leftovers)?);
            }
        }
        op.state.cleared("key_pair");
        op.state.key = None;
        op.state.key_claim = None;
        done()
    }
}
