//! Asks the account whether it sees the image and would launch it. The last look before something is made.

use cloud::{CloudError, CloudImage};
use engine::prelude::*;

use super::instance_request;
use super::reach::{parameters, reach};
use super::report::{brisk, refuse, stop};
use super::validate::with_field_errors;
use crate::model::preflight;
use crate::model::settings::Launches;
use crate::model::state::{LaunchError, ResolvedImage};
use crate::workflows::launch::Launch;

pub(crate) struct CheckAccount {
    launches: Arc<Launches>,
}

pub(crate) const NAME: &str = "check_account";

impl CheckAccount {
    pub(crate) fn new(launches: &Arc<Launches>) -> CheckAccount {
        CheckAccount { launches: Arc::clone(launches) }
    }

    /// What the account sees of the image, where there is one.
    async fn look(&self, op: &mut Operation<Launch>) -> Result<Option<Option<CloudImage>>, CloudError> {
        let reach = reach(&self.launches, op).await?;
        reach.provider.identity(&reach.cloud_account()).await?;
        match instance_request::image(op) {
            Some(id) => reach.provider.image(&reach.cloud_account(), &id).await.map(Some),
            None => Ok(None),
        }
    }

    async fn dry_run(&self, op: &mut Operation<Launch>) -> Result<(), Halt> {
        let instance_request = instance_request::dry_run(op)?;
        let asked = async {
            let reach = reach(&self.launches, op).await?;
            reach.provider.dry_run(&reach.cloud_account(), &instance_request).await
        };
        asked.await.map_err(|error| stop(op, NAME, error))
    }

    /// Whether the image that the account sees can be launched as asked.
    fn judge(&self, op: &mut Operation<Launch>, image: Option<CloudImage>) -> Result<(), Halt> {
        let name = NAME;
        let Some(image) = image else {
            let (id, region) =
                (instance_request::image(op).unwrap_or_default(), parameters(op)?.region.clone());
            let message = format!("the account does not see image {id} in {region}");
            let error = LaunchError::new(name, "validation", message);
            return Err(refuse(
                op,
                error.hinting("share the image with the account, or choose another region"),
            ));
        };
        if !image.is_available {
            let cause = format!("image {} is not available yet", image.id).into();
            return Err(Halt::Retry { after: None, cause });
        }
        let (known, parameters) = (op.state.image.as_ref(), parameters(op)?);
        let resolved = ResolvedImage {
            id: image.id,
            architecture: image.architecture.or(known.and_then(|known| known.architecture)),
            region: Some(image.region.unwrap_or_else(|| parameters.region.clone())),
            generation: image.generation,
        };
        let fits = preflight::check(&self.launches, &op.params, parameters, Some(&resolved));
        if let Err(field_errors) = fits {
            return Err(refuse(op, with_field_errors(name, &field_errors)));
        }
        op.state.image = Some(resolved);
        Ok(())
    }
}

#[async_trait]
impl Step<Launch> for CheckAccount {
    named!(NAME, "Checking the account and the image");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(brisk(&self.launches.settings))
    }

    async fn run(&self, op: &mut Operation<Launch>) -> Outcome {
        if op.state.has_done(NAME) {
            return done();
        }
        match self.look(op).await {
            Ok(Some(image)) => self.judge(op, image)?,
            Ok(None) => {}
            Err(error) => return Err(stop(op, NAME, error)),
        }
        self.dry_run(op).await?;
        done()
    }
}
