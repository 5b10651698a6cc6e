//! The description of this API, made from the same routes that answer.

use std::sync::LazyLock;
use std::time::Duration;

use api::Insights;
use axum::Json;
use axum::http::HeaderMap;
use axum::response::Response;
use utoipa::OpenApi as _;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{OpenApi, ServerBuilder};

use super::etag::TaggedDocument;
use super::rights::{LaunchRight, Needs, RESERVATION, RIGHTS};
use super::{BASE, router, wire};
use server::http::Failure;
use server::http::openapi::{add_errors, add_paragraph, add_scheme, operations, secure};
use server::http::rights;
use server::principal::permission;

const TOKEN: &str = "token";
const IDENTITY: &str = "identity";
const MAX_AGE: Duration = Duration::from_mins(30);

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "provision-engine launches",
        description = "Instances in clouds, made from images. Everything belongs to an organisation: a proxy that is \
                       trusted names it in `X-Rh-Identity`, or a token does. Whatever is wrong is answered with \
                       `msg`, `error` and a stable `code`.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    tags(
        (name = "sources", description = "Accounts in clouds."),
        (name = "pubkeys", description = "SSH public keys of users."),
        (name = "catalogue", description = "What can be launched."),
        (name = "service", description = "The service itself."),
    ),
    components(schemas(wire::Error)),
)]
struct Description;

/// The description of every route of this API.
pub fn openapi() -> OpenApi {
    let mut api = Description::openapi();
    api.merge(router::routes().into_openapi());
    api.servers = Some(vec![ServerBuilder::new().url(BASE).build()]);
    let token = Http::builder().scheme(HttpAuthScheme::Bearer).bearer_format("pe_…").build();
    add_scheme(&mut api, TOKEN, SecurityScheme::Http(token));
    let identity = ApiKey::Header(ApiKeyValue::new("X-Rh-Identity"));
    add_scheme(&mut api, IDENTITY, SecurityScheme::ApiKey(identity));
    for (path, method, operation) in operations(&mut api) {
        if let Some(right) = rights::find(&RIGHTS, &method, path) {
            complete(operation, right);
        }
    }
    api
}

/// The description of launches.
#[utoipa::path(
    get, path = "/openapi/launch.json", tag = "service", operation_id = "openapi_launch",
    responses((status = OK, body = Object, description = "OpenAPI 3.1."))
)]
pub(crate) async fn launch_json() -> Json<OpenApi> {
    Json(openapi())
}

/// The description of this API.
#[utoipa::path(
    get, path = "/openapi.json", tag = "service", operation_id = "openapi",
    responses(
        (status = OK, body = Object, description = "OpenAPI 3.1."),
        (status = NOT_MODIFIED, description = "The caller has it."),
    )
)]
pub(crate) async fn openapi_json(headers: HeaderMap) -> Result<Response, Failure> {
    static WRITTEN: LazyLock<Result<TaggedDocument, Failure>> =
        LazyLock::new(|| TaggedDocument::new("openapi", &openapi()));
    WRITTEN.clone().map(|document| document.answer(&headers, MAX_AGE))
}

/// Adds what follows from the table of rights and from the kind of request, so that no route forgets it.
fn complete(operation: &mut Operation, right: &LaunchRight) {
    let mut error_responses =
        vec![(500, "Something broke: `internal`."), (504, "It took too long: `timeout`.")];
    if right.needs != Needs::Nothing {
        secure(operation, &[TOKEN, IDENTITY]);
        error_responses.extend([
            (400, "Something in the request is wrong, and the answer says what. A bad `X-Rh-Identity` is answered with plain text."),
            (401, "No valid token: `unauthenticated`."),
            (403, "The caller may not do this: `forbidden`."),
            (503, "Something that is needed does not answer: `unavailable`."),
        ]);
    }
    if right.path.contains('{') {
        error_responses.push((404, "There is none: `not_found`."));
    }
    if operation.request_body.is_some() {
        error_responses.extend([
            (408, "The body did not arrive in time: `slow_body`."),
            (413, "The body is too large: `body_too_large`."),
            (415, "The body is not JSON: `unsupported_media_type`."),
        ]);
    }
    add_errors::<Insights>(operation, "v1.ResponseError", &error_responses);
    let needs = match right.needs {
        Needs::Nothing => "No authentication.".to_owned(),
        Needs::Signature => "Needs a signature in place of an identity.".to_owned(),
        Needs::Identity => "Needs an organisation, and no permission.".to_owned(),
        Needs::May(resource, verb) => format!("Needs the permission `{}`.", permission(resource, verb)),
        Needs::OursMay(resource, verb) => {
            format!("Needs a token of this server and the permission `{}`.", permission(resource, verb))
        }
        Needs::MayLaunch(verb) => format!(
            "Needs the permissions `{}` and `{}`.",
            permission(RESERVATION, verb),
            permission(&format!("{RESERVATION}.{{provider}}"), verb)
        ),
    };
    add_paragraph(operation, &needs);
}
