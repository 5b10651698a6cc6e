//! `POST /reservations/aws` and the same for the other providers.

use crate::api::types::NewParameters;
use crate::model::accept;
use crate::model::cloud::ProviderKind;
use crate::model::form::LaunchForm;
use crate::model::params::RequestedImage;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use uuid::Uuid;

use super::super::LaunchState;
use super::super::launches::create::idempotency_key;
use super::super::launches::find::find;
use super::super::principal::TenantPrincipal;
use super::super::rights::Verb;
use super::wire;
use server::audit::about;
use server::http::Failure;
use server::http::body::JsonBody;

/// Writes the endpoint of one provider: in the document of the clients each is an operation with a body of its own.
macro_rules! create {
    ($(#[$doc:meta])+ $name:ident $kind:ident $path:tt $id:tt $request:ident $reservation:ident) => {
        $(#[$doc])+
        #[utoipa::path(
            post, path = $path, tag = "reservations", operation_id = $id,
            params(("Idempotency-Key" = Option<String>, Header,
                    description = "The same key means the same launch.")),
            request_body = wire::$request,
            responses(
                (status = OK, body = wire::$reservation, description = "It is accepted."),
                (status = BAD_REQUEST, description = "What is wrong, field by field."),
                (status = NOT_FOUND, description = "There is no such key, source or image."),
                (status = CONFLICT, description = "The key was used for something else."),
                (status = TOO_MANY_REQUESTS, description = "Too many at once."),
            )
        )]
        pub(in crate::api) async fn $name(
            State(shared): State<LaunchState>,
            principal: TenantPrincipal,
            headers: HeaderMap,
            JsonBody(new): JsonBody<wire::$request>,
        ) -> Result<Response, Failure> {
            let image = image(&new.image_id);
            create(&shared, &principal, &headers, ProviderKind::$kind, image, Some(new.into())).await
        }
    };
}

create!(
    /// Launches an image in AWS.
    ///
    /// An image that is still building is waited for.
    create_aws_reservation Aws "/reservations/aws" "createAwsReservation" AwsRequest AwsReservation
);
create!(
    /// Launches an image in Azure.
    create_azure_reservation Azure "/reservations/azure" "createAzureReservation" AzureRequest AzureReservation
);
create!(
    /// Launches an image in GCP.
    create_gcp_reservation Gcp "/reservations/gcp" "createGCPReservation" GcpRequest GcpReservation
);

/// Launches nothing, to see whether launches work.
///
/// A body is not read.
#[utoipa::path(
    post, path = "/reservations/noop", tag = "reservations", operation_id = "createNoopReservation",
    params(("Idempotency-Key" = Option<String>, Header, description = "The same key means the same launch.")),
    responses(
        (status = OK, body = wire::NoopReservation, description = "It is accepted."),
        (status = CONFLICT, description = "The key was used for something else."),
        (status = TOO_MANY_REQUESTS, description = "Too many at once."),
    )
)]
pub(in crate::api) async fn create_noop_reservation(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    create(&shared, &principal, &headers, ProviderKind::Noop, RequestedImage::None, None).await
}

async fn create(
    shared: &LaunchState,
    principal: &TenantPrincipal,
    headers: &HeaderMap,
    provider: ProviderKind,
    image: RequestedImage,
    parameters: Option<NewParameters>,
) -> Result<Response, Failure> {
    let form = LaunchForm { provider, image, parameters, profile: None };
    let (launches, engine, who) = (&shared.api_parts.launches, &shared.app.engine, &principal.owner);
    let key = idempotency_key(headers)?;
    let accepted = accept::launch(launches, engine, who, principal.identity.as_ref(), &form, key).await?;
    let found = find(shared, principal, &accepted.launch.to_string(), Verb::Write).await?;
    Ok((about(&accepted.launch), Json(wire::ProviderReservation::from(&found.view))).into_response())
}

/// A UUID is a compose; whatever else there is belongs to the cloud.
fn image(text: &str) -> RequestedImage {
    match (text, Uuid::try_parse(text)) {
        ("", _) => RequestedImage::None,
        (_, Ok(id)) => RequestedImage::Compose { id },
        (id, Err(_)) => RequestedImage::Cloud { id: id.to_owned() },
    }
}
