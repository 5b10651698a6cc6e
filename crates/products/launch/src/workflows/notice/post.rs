//! How a notice is handed over for delivery.

use std::collections::BTreeSet;

use engine::{Command, Engine, SubmitError, Workflow};

use super::Deliver;
use super::channel::Target;
use super::params::Notice;

/// Hands the notice over. From then on it is delivered whatever happens; handed over again, it is delivered once all the
/// same. Each way is an operation of its own, so that one that is blocked does not hold up the other.
///
/// Where nothing is configured, nothing happens.
pub async fn post(engine: &Engine, notice: &Notice) -> Result<(), SubmitError> {
    let steps = engine.workflow(Deliver::KIND).map(|info| info.steps).unwrap_or_default();
    let is_there = |target: &Target| steps.iter().any(|step| step.name == target.step());
    let targets = || Target::ALL.into_iter().filter(is_there).filter(|target| notice.goes_to(*target));
    let parts = notice.parts();
    for (notice, target) in parts.iter().flat_map(|part| targets().map(move |target| (part, target))) {
        let notice = Notice { targets: BTreeSet::from([target]), ..notice.clone() };
        let params = serde_json::to_value(&notice)
            .map_err(|error| SubmitError::Invalid(format!("the notice cannot be written: {error}")))?;
        let command = Command {
            name: None,
            workflow: Deliver::KIND.into(),
            tenant: format!("org:{}", notice.org),
            resource: None,
            params,
            by: "notice".into(),
            idempotency_key: Some(format!("{}/{}", notice.id, target.name())),
            queue: false,
        };
        match engine.submit_json(command).await {
            // It was handed over before, in other words. The first ones are on their way.
            Ok(_) | Err(SubmitError::KeyReused) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
