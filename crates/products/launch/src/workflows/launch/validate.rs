//! Checks the request again, because the configuration may have changed since it was accepted.

use engine::Timestamp;
use engine::prelude::*;

use super::report::refuse;
use crate::model::api_error::{Flaw, sentence};
use crate::model::preflight;
use crate::model::settings::Launches;
use crate::model::state::LaunchError;
use crate::workflows::launch::Launch;

pub(crate) struct Validate {
    launches: Arc<Launches>,
}

const NAME: &str = "validate";

/// When the launch began. Times that count from there are the same in every pass.
#[derive(Serialize, Deserialize)]
pub(crate) struct Began(pub(crate) Timestamp);

impl Fact for Began {
    const KEY: &'static str = "validate.began";
}

impl Validate {
    pub(crate) fn new(launches: &Arc<Launches>) -> Validate {
        Validate { launches: Arc::clone(launches) }
    }

    fn missing(&self, op: &Operation<Launch>) -> Option<String> {
        let provider = op.params.provider;
        if !self.launches.providers.contains_key(&provider) {
            return Some(format!("{provider} is not configured here"));
        }
        let has_builder = self.launches.builder.is_some();
        (op.params.shape().has_compose() && !has_builder)
            .then(|| "no Image Builder is configured here".to_owned())
    }
}

#[async_trait]
impl Step<Launch> for Validate {
    named!(NAME, "Validating the request");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn run(&self, op: &mut Operation<Launch>) -> Outcome {
        if op.state.has_done(NAME) {
            return done();
        }
        if op.recall::<Began>()?.is_none() {
            op.remember(&Began(op.now()))?;
        }
        if let Some(missing) = self.missing(op) {
            let error = LaunchError::new(NAME, "validation", missing);
            return Err(refuse(op, error.hinting("configure it, then try again")));
        }
        if let Some(parameters) = &op.params.parameters
            && let Err(field_errors) = preflight::check(&self.launches, &op.params, parameters, None)
        {
            return Err(refuse(op, with_field_errors(NAME, &field_errors)));
        }
        done()
    }
}

pub(crate) fn with_field_errors(step: &str, field_errors: &[Flaw]) -> LaunchError {
    let error = LaunchError::new(step, "validation", sentence(field_errors));
    match field_errors.iter().find_map(|field_error| field_error.hint.clone()) {
        Some(hint) => error.hinting(hint),
        None => error,
    }
}
