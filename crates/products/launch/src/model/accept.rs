//! How a launch comes in: looked up, checked, and accepted in one commit together with its record. Answered by the
//! number under which clients find it again.

use api::Code;
use cloud::ProviderKind;
use engine::secret::{ExposeSecret, Sealed, Sealer};
use engine::store::{Expect, ResourceQuery, ResourceRow};
use engine::{Alongside, Engine, OperationId, Resource, Submission, SubmitError};
use http::StatusCode;
use identity::CallerIdentity;
use serde_json::Value;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::admit;
use super::form::LaunchForm;
use super::numbers::fresh_id;
use super::params::{Asked, AskedImage, AskedParameters, ImageChoice, Params, Requester};
use super::preflight::{ImageFacts, build};
use super::record::{ACTIVE_OF, LaunchRecord};
use super::rejection::{Flaw, Rejection};
use super::resolve::{Desk, Findings};
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
    who: &Requester,
    identity: Option<&CallerIdentity>,
    form: &LaunchForm,
    idempotency_key: Option<&str>,
) -> Result<AcceptedLaunch, Rejection> {
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
    let desk = Desk { launches, engine, who };
    check_room(&desk, form.provider).await?;
    let (asked, mut findings) = look_up(&desk, identity, form, id).await?;
    let tenant = who.tenant();
    let params = admit::params(asked, &engine.sealer(&tenant, &resource));
    findings.add(params.as_ref().err().cloned().unwrap_or_default());
    findings.verdict(StatusCode::BAD_REQUEST)?;
    let params = params.map_err(|flaws| Rejection::flawed(StatusCode::BAD_REQUEST, flaws))?;
    let portrait = LaunchRecord::accepted(&params).portrait().map_err(|error| internal(&error))?;
    let along = Alongside { subject: Some((Expect::Absent, Some(portrait))), ..Alongside::default() };
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
async fn check_room(desk: &Desk<'_>, provider: ProviderKind) -> Result<(), Rejection> {
    let Desk { launches, engine, who } = *desk;
    if !launches.providers.contains_key(&provider) {
        let known: Vec<&str> = launches.providers.keys().map(|kind| kind.as_str()).collect();
        let message = format!("this server cannot launch at {provider}");
        let hint = if known.is_empty() { "configure a provider".into() } else { known.join(", ") };
        return Err(Rejection::new(Code::ProviderNotConfigured, message)
            .status(StatusCode::BAD_REQUEST)
            .at("provider")
            .hint(hint));
    }
    launches.intake.enter(&who.org, provider, engine.now()).map_err(|after| {
        Rejection::new(Code::TooFast, "launches come in too fast")
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
        return Err(Rejection::new(Code::TooManyLaunches, message).hint(hint).after(FULL_COME_BACK));
    }
    Ok(())
}

/// When to come back while too many launches are under way.
const FULL_COME_BACK: std::time::Duration = std::time::Duration::from_secs(30);

/// Finds everything that the form names, and everything that is wrong with it.
async fn look_up(
    desk: &Desk<'_>,
    identity: Option<&CallerIdentity>,
    form: &LaunchForm,
    id: Uuid,
) -> Result<(Asked, Findings), Rejection> {
    let provider = form.provider;
    let mut findings = Findings::default();
    let mut builder_org = None;
    let facts = match &form.image {
        AskedImage::Compose { id } if provider != ProviderKind::Noop => {
            let caller = desk.builder_identity(identity)?;
            builder_org = caller.org;
            desk.compose(&caller.identity, provider, *id, &mut findings).await?
        }
        AskedImage::Build { request } => {
            let caller = desk.builder_identity(identity)?;
            builder_org = caller.org;
            // What is wrong with the request itself is told by `admit`, together with the rest.
            match build::read(provider, request) {
                Ok(facts) => {
                    desk.distribution(&caller.identity, &facts, &mut findings).await?;
                    ImageFacts::of_request(provider, &facts)
                }
                Err(_) => ImageFacts::default(),
            }
        }
        AskedImage::None | AskedImage::Cloud { .. } | AskedImage::Compose { .. } => ImageFacts::default(),
    };
    let parameters = match &form.parameters {
        Some(parameters) if provider != ProviderKind::Noop => {
            Some(desk.parameters(provider, &facts, parameters, &mut findings).await?)
        }
        _ => None,
    };
    findings.add(needs_template(form, parameters.as_ref()));
    let asked = Asked {
        launch: id,
        requester: desk.who.clone(),
        identity: identity.map(|identity| identity.expose_secret().to_owned()),
        builder_org,
        provider,
        image: form.image.clone(),
        parameters,
        profile: form.profile.clone().unwrap_or_else(|| desk.launches.settings.profile.clone()),
    };
    Ok((asked, findings))
}

/// Without an image only a template can say what to start.
fn needs_template(form: &LaunchForm, parameters: Option<&AskedParameters>) -> Option<Flaw> {
    let has_none = form.image == AskedImage::None && form.provider != ProviderKind::Noop;
    let has_template = parameters.is_some_and(|asked| asked.plain.launch_template_id.is_some());
    (has_none && parameters.is_some() && !has_template).then(|| {
        Flaw::new("image_id", "is missing").hint("name an image, or a launch template that names one")
    })
}

/// The answer to a request that came before.
async fn repeated(
    engine: &Engine,
    who: &Requester,
    form: &LaunchForm,
    launch: Uuid,
    row: &ResourceRow,
) -> Result<AcceptedLaunch, Rejection> {
    let missing = || internal("a launch has no operation any longer");
    let operation = row.operation.filter(|_| row.tenant == who.tenant()).ok_or_else(missing)?;
    // What was asked is forgotten before the record is; then the key alone must do.
    if let Some(inspection) = engine.inspect(operation).await? {
        let params: Params =
            serde_json::from_str(&inspection.shown.params).map_err(|error| internal(&error.to_string()))?;
        if !means(form, &params, &engine.sealer(&row.tenant, &row.name)) {
            return Err(Rejection::key_reused());
        }
    }
    Ok(AcceptedLaunch { launch, number: row.number, operation, repeated: true })
}

/// Whether the form asks for what was saved. A profile that is not named means any.
fn means(form: &LaunchForm, params: &Params, sealer: &Sealer) -> bool {
    let open = |sealed: &Sealed| sealer.open(sealed).map(|secret| secret.expose_secret().to_owned()).ok();
    let same_image = match (&form.image, &params.image) {
        (AskedImage::None, ImageChoice::None) => true,
        (AskedImage::Cloud { id }, ImageChoice::Cloud { id: saved }) => id == saved,
        (AskedImage::Compose { id }, ImageChoice::Compose { id: saved }) => id == saved,
        (AskedImage::Build { request }, ImageChoice::Build(build)) => open(&build.request)
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
fn derived_id(who: &Requester, key: &str) -> Result<Uuid, Rejection> {
    let length = key.chars().count();
    if !(1..=KEY_CHARS_MAX).contains(&length) || key.chars().any(char::is_control) {
        let message = format!("must have 1 to {KEY_CHARS_MAX} characters and no control characters");
        return Err(Rejection::invalid("Idempotency-Key", message));
    }
    let digest = Sha256::new().chain_update("launch\0").chain_update(&who.org).chain_update("\0");
    let digest = digest.chain_update(key).finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    Ok(uuid::Builder::from_custom_bytes(bytes).into_uuid())
}

fn internal(error: &str) -> Rejection {
    tracing::error!(error, "a launch could not be accepted");
    Rejection::new(Code::Internal, "the launch could not be accepted; the reason is in the log")
}
