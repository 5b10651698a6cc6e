//! Parameters that come later than the request. The first valid ones count; the same again are welcome, others are
//! not.

use std::time::Duration;

use api::Code;
use cloud::ProviderKind;
use engine::secret::ExposeSecret;
use engine::store::{Expect, ResourceRow};
use engine::{Engine, Phase, Resource};
use http::StatusCode;
use serde_json::Value;
use uuid::Uuid;

use super::api_error::LaunchApiError;
use super::numbers;
use super::params::{ImageChoice, LaunchOwner, Parameters, Params};
use super::preflight::ImageFacts;
use super::record::LaunchRecord;
use super::resolve::{Findings, Resolver};
use super::settings::Launches;
use super::state::State;
use crate::api::types::NewParameters;

/// When they can no longer be needed: no operation takes longer than 30 days.
const KEPT_FOR: Duration = Duration::from_hours(24 * 31);

pub async fn parameters(
    launches: &Launches,
    engine: &Engine,
    who: &LaunchOwner,
    launch: Uuid,
    form: &NewParameters,
) -> Result<(), LaunchApiError> {
    let shared = Resolver { launches, engine, who };
    let (row, waiting) = waiting(&shared, launch).await?;
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
    let image = waiting.image(&shared, &sealer, &mut findings).await?;
    let asked = shared.parameters(waiting.params.provider, &image, form, &mut findings).await?;
    findings.verdict(StatusCode::UNPROCESSABLE_ENTITY)?;
    let mut record_update = asked.sealed(&sealer).record_update().map_err(|error| internal(&error))?;
    // It is never deleted by a request: it is a tombstone from the beginning, which goes when the launch is long over.
    record_update.gone_at = Some(engine.now().plus(KEPT_FOR));
    if !engine.write_resource(&name, &row.tenant, Expect::Absent, Some(record_update)).await? {
        let first =
            engine.resource(&name).await?.ok_or_else(|| internal("parameters were there and are gone"))?;
        same_again(&waiting, &first, form, &sealer)?;
    }
    tell(engine, &name).await
}

/// Also when they are there already: the server that wrote them may have died before it signalled the launch.
async fn tell(engine: &Engine, name: &str) -> Result<(), LaunchApiError> {
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
async fn waiting(shared: &Resolver<'_>, launch: Uuid) -> Result<(ResourceRow, Waiting), LaunchApiError> {
    let missing = || LaunchApiError::not_found("such launch");
    let row = shared.engine.resource(&LaunchRecord::resource(launch)).await?;
    let row = row.filter(|row| row.tenant == shared.who.tenant() && row.kind == LaunchRecord::KIND);
    let row = row.ok_or_else(missing)?;
    let operation = row.operation.ok_or_else(missing)?;
    let inspection = shared.engine.inspect(operation).await?.ok_or_else(over)?;
    let params: Params =
        serde_json::from_str(&inspection.shown.params).map_err(|error| internal(&error.to_string()))?;
    if params.parameters.is_some() || params.provider == ProviderKind::Noop {
        return Err(LaunchApiError::conflict("the parameters of this launch came with its request"));
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
        shared: &Resolver<'_>,
        sealer: &engine::secret::Sealer,
        findings: &mut Findings,
    ) -> Result<ImageFacts, LaunchApiError> {
        let provider = self.params.provider;
        let facts = match &self.params.image {
            ImageChoice::Compose { id } => {
                let identity = shared.launches.saved_identity(&self.params, |sealed| sealer.open(sealed));
                let identity = identity.map_err(|error| internal(&error.to_string()))?;
                shared.compose(&identity, provider, *id, findings).await?
            }
            ImageChoice::Build(build) => {
                let facts = ImageFacts::of_request(provider, &build.facts());
                let request = sealer.open(&build.request).map_err(|error| internal(&error.to_string()))?;
                let request: Value = serde_json::from_str(request.expose_secret()).unwrap_or_default();
                facts.built_by(provider, &request)
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
) -> Result<(), LaunchApiError> {
    let first: Parameters = numbers::read(first)?;
    let is_same = first.opened(sealer).is_some_and(|first| form.means(waiting.params.provider, &first));
    if is_same {
        return Ok(());
    }
    let message = "this launch has its parameters already";
    Err(LaunchApiError::new(Code::ParametersGiven, message)
        .hint("cancel this launch and ask for another one"))
}

fn over() -> LaunchApiError {
    LaunchApiError::new(Code::LaunchOver, "this launch is over").hint("ask for another one")
}

fn internal(error: &str) -> LaunchApiError {
    tracing::error!(error, "saving launch parameters failed");
    LaunchApiError::new(Code::Internal, "the parameters could not be saved; the reason is in the log")
}
