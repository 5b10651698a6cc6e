//! `POST /reservations/{type}`

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use uuid::Uuid;
use workflows::launch::accept;
use workflows::launch::cloud::ProviderKind;
use workflows::launch::form::{LaunchForm, ParametersForm};
use workflows::launch::params::AskedImage;

use super::super::Desk;
use super::super::body::Sent;
use super::super::launches::create::idempotency_key;
use super::super::launches::find::{find, provider};
use super::super::principal::TenantPrincipal;
use super::super::query::Name;
use super::super::refused::Refused;
use super::super::rights::Verb;
use super::wire;
use crate::audit::about;

/// Launches an image.
///
/// An image that is still building is waited for.
#[utoipa::path(
    post, path = "/reservations/{type}", tag = "reservations", operation_id = "create_reservation",
    params(("type" = String, Path, description = "`aws`, `azure`, `gcp` or `noop`."),
           ("Idempotency-Key" = Option<String>, Header, description = "The same key means the same launch.")),
    request_body = wire::NewReservation,
    responses(
        (status = OK, body = wire::ProviderReservation, description = "It is accepted."),
        (status = BAD_REQUEST, body = super::super::wire::Error, description = "What is wrong, field by field."),
        (status = TOO_MANY_REQUESTS, body = super::super::wire::Error, description = "Too many at once."),
    )
)]
pub(in crate::launch) async fn create_reservation(
    State(desk): State<Desk>,
    principal: TenantPrincipal,
    Name(kind): Name,
    headers: HeaderMap,
    Sent(new): Sent<wire::NewReservation>,
) -> Result<impl IntoResponse, Refused> {
    let provider = provider("type", &kind)?;
    let image = image(&new.image_id);
    let parameters = (provider != ProviderKind::Noop).then(|| form(new, provider));
    let form = LaunchForm { provider, image, parameters, profile: None };
    let (launches, engine, who) = (&desk.door.launches, &desk.hall.engine, &principal.requester);
    let accepted = accept::launch(launches, engine, who, &form, idempotency_key(&headers)?).await?;
    let found = find(&desk, &principal, &accepted.launch.to_string(), Verb::Write).await?;
    Ok((about(&accepted.launch), Json(wire::ProviderReservation::from(&found.view))))
}

/// A UUID is a compose; whatever else there is belongs to the cloud.
fn image(text: &str) -> AskedImage {
    match (text, Uuid::try_parse(text)) {
        ("", _) => AskedImage::None,
        (_, Ok(id)) => AskedImage::Compose { id },
        (id, Err(_)) => AskedImage::Cloud { id: id.to_owned() },
    }
}

fn form(new: wire::NewReservation, provider: ProviderKind) -> ParametersForm {
    let (instance_type, region, name) = match provider {
        ProviderKind::Azure => (new.instance_size, new.location, new.name),
        ProviderKind::Gcp => (new.machine_type, new.zone, new.name_pattern),
        ProviderKind::Aws | ProviderKind::Noop => (new.instance_type, new.region, new.name),
    };
    ParametersForm {
        source_id: new.source_id,
        region,
        instance_type,
        launch_template_id: new.launch_template_id,
        // It was never optional for these clients: leaving it out has always meant none.
        amount: Some(new.amount.unwrap_or(0)),
        name,
        pubkey_id: new.pubkey_id,
        poweroff: new.poweroff,
        ..ParametersForm::default()
    }
}
