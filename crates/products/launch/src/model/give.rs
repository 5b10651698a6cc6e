//! Parameters that come later than the request. The first valid ones count; the same again are welcome, others are
//! not.

use std::time::Duration;

use api::Code;
use cloud::ProviderKind;
use engine::store::{Expect, ResourceRow};
use engine::{Engine, Phase, Resource};
use http::StatusCode;
use serde_json::Value;
use uuid::Uuid;

use super::numbers;
use super::params::{ImageChoice, Parameters, Params, Requester};
use super::preflight::ImageFacts;
use super::record::LaunchRecord;
use super::rejection::Rejection;
use super::resolve::{Desk, Findings};
use super::settings::Launches;
use super::state::State;
use crate::api::types::NewParameters;

/// When nobody can need them any longer: no operation takes longer than 30 days.
const KEPT_FOR: Duration = Duration::from_hours(24 * 31);

pub async fn parameters(
    launches: &Launches,
    engine: &Engine,
    who: &Requester,
    launch: Uuid,
    form: &NewParameters,
) -> Result<(), Rejection> {
    let desk = Desk { launches, engine, who };
    let (row, waiting) = waiting(&desk, launch).await?;
    let name = LaunchRecord::parameters_of(launch);
    let sealer = engine.sealer(&row.tenant, &row.name);
    if let Some(first) = engine.resource(&name).await? {
        same_again(&waiting, &first, form, &sealer)?;
        return tell(engine, &name).await;
    }
    if waiting.is_over {
        return Err(over());
    }
    let mut findings = Findings::default();
    let image = waiting.image(&desk, &sealer, &mut findings).await?;
    let asked = desk.parameters(waiting.params.provider, &image, form, &mut findings).await?;
    findings.verdict(StatusCode::UNPROCESSABLE_ENTITY)?;
    let mut portrait = asked.sealed(&sealer).portrait().map_err(|error| internal(&error))?;
    // Nobody deletes it: it is a tombstone from the beginning, which goes when the launch is long over.
    portrait.gone_at = Some(engine.now().plus(KEPT_FOR));
    if !engine.write_resource(&name, &row.tenant, Expect::Absent, Some(portrait)).await? {
        let first =
            engine.resource(&name).await?.ok_or_else(|| internal("parameters were there and are gone"))?;
        same_again(&waiting, &first, form, &sealer)?;
    }
    tell(engine, &name).await
}

/// Also when they are there already: whoever wrote them may have died before the launch was told.
async fn tell(engine: &Engine, name: &str) -> Result<(), Rejection> {
    engine.signal(name, Value::Null).await?;
    Ok(())
}

/// A launch that waits for its parameters, or did.
struct Waiting {
    params: Params,
    state: State,
    is_over: bool,
}

/// The launch, if it is one that parameters may come for.
async fn waiting(desk: &Desk<'_>, launch: Uuid) -> Result<(ResourceRow, Waiting), Rejection> {
    let missing = || Rejection::not_found("such launch");
    let row = desk.engine.resource(&LaunchRecord::resource(launch)).await?;
    let row = row.filter(|row| row.tenant == desk.who.tenant() && row.kind == LaunchRecord::KIND);
    let row = row.ok_or_else(missing)?;
    let operation = row.operation.ok_or_else(missing)?;
    let inspection = desk.engine.inspect(operation).await?.ok_or_else(over)?;
    let params: Params =
        serde_json::from_str(&inspection.shown.params).map_err(|error| internal(&error.to_string()))?;
    if params.parameters.is_some() || params.provider == ProviderKind::Noop {
        return Err(Rejection::conflict("the parameters of this launch came with its request"));
    }
    let state = serde_json::from_value(inspection.memory.state).unwrap_or_default();
    let phase = inspection.shown.summary.phase;
    let is_over = phase.is_final() || matches!(phase, Phase::Undoing | Phase::Stuck);
    Ok((row, Waiting { params, state, is_over }))
}

impl Waiting {
    /// All that is known about the image by now.
    async fn image(
        &self,
        desk: &Desk<'_>,
        sealer: &engine::secret::Sealer,
        findings: &mut Findings,
    ) -> Result<ImageFacts, Rejection> {
        let provider = self.params.provider;
        let facts = match &self.params.image {
            ImageChoice::Compose { id } => {
                let identity = desk.launches.saved_identity(&self.params, |sealed| sealer.open(sealed));
                let identity = identity.map_err(|error| internal(&error.to_string()))?;
                desk.compose(&identity, provider, *id, findings).await?
            }
            image => ImageFacts::of(provider, image),
        };
        Ok(self.state.image.as_ref().map_or(facts.clone(), |image| facts.known_as(image)))
    }
}
fn same_again(
    waiting: &Waiting,
    first: &ResourceRow,
    form: &NewParameters,
    sealer: &engine::secret::Sealer,
) -> Result<(), Rejection> {
    let first: Parameters = numbers::read(first)?;
    let is_same = first.opened(sealer).is_some_and(|first| form.means(waiting.params.provider, &first));
    if is_same {
        return Ok(());
    }
    let message = "this launch has its parameters already";
    Err(Rejection::new(Code::ParametersGiven, message).hint("cancel this launch and ask for another one"))
}

fn over() -> Rejection {
    Rejection::new(Code::LaunchOver, "this launch is over").hint("ask for another one")
}

fn internal(error: &str) -> Rejection {
    tracing::error!(error, "parameters could not be taken");
    Rejection::new(Code::Internal, "the parameters could not be taken; the reason is in the log")
}
