//! How a launch comes in: looked up, checked, and accepted in one commit together with its record. Answered by the
//! number under which clients find it again.

use api::Code;
use cloud::ProviderKind;
use engine::secret::{ExposeSecret, Sealed, Sealer};
use engine::store::{Expect, ResourceQuery, ResourceRow};
use engine::{Engine, OperationId, RecordWrites, Resource, Submission, SubmitError};
use http::StatusCode;
use identity::CallerIdentity;
use serde_json::Value;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::admit;
use super::api_error::{Flaw, LaunchApiError};
use super::form::LaunchForm;
use super::numbers::fresh_id;
use super::params::{ImageChoice, LaunchOwner, LaunchRequest, Params, RequestedImage, RequestedParameters};
use super::preflight::{ImageFacts, build};
use super::record::{ACTIVE_OF, LaunchRecord};
use super::resolve::{Findings, Resolver};
use super::settings::Launches;
use crate::workflows::launch::Launch;

/// A launch that will be carried out, whatever happens to this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcceptedLaunch {
    pub launch: Uuid,
    /// The number that clients know it by.
    pub number: i64,
    pub operation: OperationId,
    /// It was there already: the same key was used before.
    pub repeated: bool,
}

const KEY_CHARS_MAX: usize = 255;

/// Accepts a launch. The same key from the same organisation means the same launch. `identity` is the caller's own, where
/// it came with one.
pub async fn launch(
    launches: &Launches,
    engine: &Engine,
    who: &LaunchOwner,
    identity: Option<&CallerIdentity>,
    form: &LaunchForm,
    idempotency_key: Option<&str>,
) -> Result<AcceptedLaunch, LaunchApiError> {
    let id = match idempotency_key {
        Some(key) => derived_id(who, key)?,
        None => fresh_id(engine),
    };
    let resource = LaunchRecord::resource(id);
    if idempotency_key.is_some()
        && let Some(row) = engine.resource(&resource).await?
    {
        return repeated(engine, who, form, id, &row).await;
    }
    let shared = Resolver { launches, engine, who };
    check_room(&shared, form.provider).await?;
    let (asked, mut findings) = look_up(&shared, identity, form, id).await?;
    let tenant = who.tenant();
    let params = admit::params(asked, &engine.sealer(&tenant, &resource));
    findings.add(params.as_ref().err().cloned().unwrap_or_default());
    findings.verdict(StatusCode::BAD_REQUEST)?;
    let params = params
        .map_err(|field_errors| LaunchApiError::with_field_errors(StatusCode::BAD_REQUEST, field_errors))?;
    let record = LaunchRecord::accepted(&params);
    let record_update = record.record_update().map_err(|error| internal(&error))?;
    let along =
        RecordWrites { subject: Some((Expect::Absent, Some(record_update))), ..RecordWrites::default() };
    let by = who.name();
    let order = Submission::<Launch>::new(&tenant, &by, &params);
    let accepted = engine.submit(Submission { resource: Some(&resource), along, ..order }).await;
    let row = engine.resource(&resource).await?;
    match (accepted, row) {
        (Ok(accepted), Some(row)) => Ok(AcceptedLaunch {
            launch: id,
            number: row.number,
            operation: accepted.id,
            repeated: accepted.repeated,
        }),
        // The same request came twice at once.
        (Err(SubmitError::Changed | SubmitError::Busy { .. }), Some(row)) => {
            repeated(engine, who, form, id, &row).await
        }
        (Err(error), _) => Err(error.into()),
        (Ok(_), None) => Err(internal("the record of an accepted launch is missing")),
    }
}

/// How fast launches may come, and how many may be under way.
async fn check_room(shared: &Resolver<'_>, provider: ProviderKind) -> Result<(), LaunchApiError> {
    let Resolver { launches, engine, who } = *shared;
    if !launches.providers.contains_key(&provider) {
        let known: Vec<&str> = launches.providers.keys().map(|kind| kind.as_str()).collect();
        let message = format!("this server cannot launch at {provider}");
        let hint = if known.is_empty() { "configure a provider".into() } else { known.join(", ") };
        return Err(LaunchApiError::new(Code::ProviderNotConfigured, message)
            .status(StatusCode::BAD_REQUEST)
            .at("provider")
            .hint(hint));
    }
    launches.event_rate.enter(&who.org, provider, engine.now()).map_err(|after| {
        LaunchApiError::new(Code::TooFast, "launches come in too fast")
            .hint("wait a moment, then try again")
            .after(after)
    })?;
    let query = ResourceQuery {
        kind: LaunchRecord::KIND.to_owned(),
        labels: vec![(ACTIVE_OF.to_owned(), vec![who.tenant()])],
        limit: 1,
        counts: true,
        ..ResourceQuery::default()
    };
    let active = engine.resources(&query).await?.total.unwrap_or(0);
    let most = launches.settings.active_max;
    if active >= u64::from(most) {
        let message = format!("{active} launches are under way, and an organisation may have {most}");
        let hint = "wait until some are over, or cancel some";
        return Err(LaunchApiError::new(Code::TooManyLaunches, message).hint(hint).after(FULL_COME_BACK));
    }
    Ok(())
}

/// When to come back while too many launches are under way.
const FULL_COME_BACK: std::time::Duration = std::time::Duration::from_secs(30);

/// Finds everything that the form names, and everything that is wrong with it.
async fn look_up(
    shared: &Resolver<'_>,
    identity: Option<&CallerIdentity>,
    form: &LaunchForm,
    id: Uuid,
) -> Result<(LaunchRequest, Findings), LaunchApiError> {
    let provider = form.provider;
    let mut findings = Findings::default();
    let mut builder_org = None;
    let facts = match &form.image {
        RequestedImage::Compose { id } if provider != ProviderKind::Noop => {
            let builder = shared.builder_identity(identity)?;
            builder_org = builder.org;
            shared.compose(&builder.identity, provider, *id, &mut findings).await?
        }
        RequestedImage::Build { request } => {
            let builder = shared.builder_identity(identity)?;
            builder_org = builder.org;
            // What is wrong with the request itself is told by `admit`, together with the rest.
            match build::read(provider, request) {
                Ok(facts) => {
                    shared.distribution(&builder.identity, &facts, &mut findings).await?;
                    ImageFacts::of_request(provider, &facts).built_by(provider, request)
                }
                Err(_) => ImageFacts::default(),
            }
        }
        RequestedImage::Cloud { id } => ImageFacts::of_cloud(id),
        RequestedImage::None | RequestedImage::Compose { .. } => ImageFacts::default(),
    };
    let parameters = match &form.parameters {
        Some(parameters) if provider != ProviderKind::Noop => {
            Some(shared.parameters(provider, &facts, parameters, &mut findings).await?)
        }
        _ => None,
    };
    findings.add(needs_template(form, parameters.as_ref()));
    let asked = LaunchRequest {
        launch: id,
        owner: shared.who.clone(),
        identity: identity.map(|identity| identity.expose_secret().to_owned()),
        builder_org,
        provider,
        image: form.image.clone(),
        parameters,
        profile: form.profile.clone().unwrap_or_else(|| shared.launches.settings.profile.clone()),
    };
    Ok((asked, findings))
}

/// Without an image only a template can say what to start.
fn needs_template(form: &LaunchForm, parameters: Option<&RequestedParameters>) -> Option<Flaw> {
    let has_none = form.image == RequestedImage::None && form.provider != ProviderKind::Noop;
    let has_template = parameters.is_some_and(|asked| asked.plain.launch_template_id.is_some());
    (has_none && parameters.is_some() && !has_template).then(|| {
        Flaw::new("image_id", "is missing").hint("name an image, or a launch template that names one")
    })
}

/// The answer to a request that came before.
async fn repeated(
    engine: &Engine,
    who: &LaunchOwner,
    form: &LaunchForm,
    launch: Uuid,
    row: &ResourceRow,
) -> Result<AcceptedLaunch, LaunchApiError> {
    let missing = || internal("a launch has no operation any longer");
    let operation = row.operation.filter(|_| row.tenant == who.tenant()).ok_or_else(missing)?;
    // What was asked is forgotten before the record is; then the key alone must do.
    if let Some(inspection) = engine.inspect(operation).await? {
        let params: Params =
            serde_json::from_str(&inspection.shown.params).map_err(|error| internal(&error.to_string()))?;
        if !means(form, &params, &engine.sealer(&row.tenant, &row.name)) {
            return Err(LaunchApiError::key_reused());
        }
    }
    Ok(AcceptedLaunch { launch, number: row.number, operation, repeated: true })
}

/// Whether the form asks for what was saved. A profile that is not named means any.
fn means(form: &LaunchForm, params: &Params, sealer: &Sealer) -> bool {
    let open = |sealed: &Sealed| sealer.open(sealed).map(|secret| secret.expose_secret().to_owned()).ok();
    let same_image = match (&form.image, &params.image) {
        (RequestedImage::None, ImageChoice::None) => true,
        (RequestedImage::Cloud { id }, ImageChoice::Cloud { id: saved }) => id == saved,
        (RequestedImage::Compose { id }, ImageChoice::Compose { id: saved }) => id == saved,
        (RequestedImage::Build { request }, ImageChoice::Build(build)) => open(&build.request)
            .is_some_and(|text| serde_json::from_str::<Value>(&text).ok().as_ref() == Some(request)),
        _ => false,
    };
    let asked = form.parameters.as_ref().filter(|_| form.provider != ProviderKind::Noop);
    let same_parameters = match (asked, &params.parameters) {
        (None, None) => true,
        (Some(asked), Some(saved)) => {
            saved.opened(sealer).is_some_and(|saved| asked.means(form.provider, &saved))
        }
        _ => false,
    };
    let same_profile = form.profile.as_ref().is_none_or(|profile| *profile == params.profile);
    form.provider == params.provider && same_image && same_parameters && same_profile
}

/// The same organisation and key give the same launch, in every process.
fn derived_id(who: &LaunchOwner, key: &str) -> Result<Uuid, LaunchApiError> {
    let length = key.chars().count();
    if !(1..=KEY_CHARS_MAX).contains(&length) || key.chars().any(char::is_control) {
        let message = format!("must have 1 to {KEY_CHARS_MAX} characters and no control characters");
        return Err(LaunchApiError::invalid("Idempotency-Key", message));
    }
    let digest = Sha256::new().chain_update("launch\0").chain_update(&who.org).chain_update("\0");
    let digest = digest.chain_update(key).finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    Ok(uuid::Builder::from_custom_bytes(bytes).into_uuid())
}

fn internal(error: &str) -> LaunchApiError {
    tracing::error!(error, "accepting a launch failed");
    LaunchApiError::new(Code::Internal, "the launch could not be accepted; the reason is in the log")
}
