//! Waits for the launch parameters where they did not come with the request. The image is built meanwhile.

use engine::prelude::*;

use super::report::refuse;
use super::validate::{Began, with_field_errors};
use crate::model::params::Parameters;
use crate::model::preflight;
use crate::model::record::LaunchRecord;
use crate::model::settings::Launches;
use crate::model::state::LaunchError;
use crate::workflows::launch::Launch;

pub(crate) struct WaitForParameters {
    launches: Arc<Launches>,
}

pub(crate) const NAME: &str = "wait_for_parameters";
/// The server that saved the parameters may have died before it signalled the launch, so it looks by itself once in a while.
const LOOK: Duration = Duration::from_mins(5);

impl WaitForParameters {
    pub(crate) fn new(launches: &Arc<Launches>) -> WaitForParameters {
        WaitForParameters { launches: Arc::clone(launches) }
    }
}

/// Takes over parameters that have come. Answers how long they may still take, and gives the launch up when that time
/// is over.
pub(crate) async fn collect(op: &mut Operation<Launch>) -> Result<Option<Duration>, Halt> {
    if !op.params.is_deferred() || op.state.parameters.is_some() {
        return Ok(None);
    }
    if let Some(parameters) = op.record::<Parameters>(&LaunchRecord::parameters_of(op.params.launch)).await? {
        op.state.parameters = Some(parameters);
        return Ok(None);
    }
    let began = op.recall::<Began>()?.map_or(op.now(), |Began(at)| at);
    let ttl = op.params.profile.parameters_ttl();
    let left = began.plus(ttl).since(op.now());
    if !left.is_zero() {
        return Ok(Some(left));
    }
    op.state.abandoned = true;
    let message = format!("the launch parameters did not come within {ttl:?}");
    let error = LaunchError::new(NAME, "timeout", message);
    Err(refuse(op, error.hinting("the image is kept: launch it when the parameters are known")))
}

#[async_trait]
impl Step<Launch> for WaitForParameters {
    named!(NAME, "Waiting for the launch parameters");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn run(&self, op: &mut Operation<Launch>) -> Outcome {
        if op.state.has_done(NAME) {
            return done();
        }
        if let Some(left) = collect(op).await? {
            let key = LaunchRecord::parameters_of(op.params.launch);
            return wait_for(key, left.min(LOOK), "the launch parameters have not come yet");
        }
        if let Some(parameters) = &op.state.parameters {
            let image = op.state.image.as_ref();
            if let Err(field_errors) = preflight::check(&self.launches, &op.params, parameters, image) {
                return Err(refuse(op, with_field_errors(NAME, &field_errors)));
            }
        }
        done()
    }
}
