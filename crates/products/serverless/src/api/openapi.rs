//! The description of this API, with every status that it answers.

use api::Cognit;
use axum::Json;
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa::openapi::path::{Operation, ParameterIn};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};

use super::{create, delete, flavours, info, list, operation, show, update, wire};
use server::http::openapi::{add_errors, add_parameter, add_scheme, operations, secure};

const SCHEME: &str = "opennebula";

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "provision-engine serverless runtimes",
        description = "Runtimes for functions of devices, each a service of OpenNebula. User and password are \
                       those of OpenNebula. Whatever is wrong is answered with `error` and `message`.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    tags(
        (name = "runtimes", description = "Runtimes, and what becomes of requests for them."),
        (name = "server", description = "The engine itself."),
    ),
    paths(
        create::create, list::list, show::show, update::update, delete::delete, operation::watch,
        flavours::flavours, info::schema, info::version, info::engine_version, info::config,
    ),
    components(schemas(wire::Error)),
)]
struct ServerlessApiDoc;

/// The description of every route of this API.
pub fn openapi() -> OpenApi {
    let mut api = ServerlessApiDoc::openapi();
    let scheme = Http::builder().scheme(HttpAuthScheme::Basic).build();
    add_scheme(&mut api, SCHEME, SecurityScheme::Http(scheme));
    for (path, _, operation) in operations(&mut api) {
        complete(operation, path);
    }
    api
}

/// The description of serverless runtimes.
#[utoipa::path(
    get, path = "/openapi/serverless.json", tag = "service", operation_id = "openapi_serverless",
    responses((status = OK, body = Object, description = "OpenAPI 3.1."))
)]
pub(crate) async fn serverless_json() -> Json<OpenApi> {
    Json(openapi())
}

/// Adds what all routes have in common, so that none forgets it.
fn complete(operation: &mut Operation, path: &str) {
    let mut error_responses = vec![(500, "Something broke.")];
    let is_public = operation.tags.as_ref().is_some_and(|tags| tags.iter().any(|tag| tag == "server"));
    if !is_public {
        secure(operation, &[SCHEME]);
        error_responses.extend([
            (400, "Something in the request is wrong, and the message says what."),
            (401, "OpenNebula does not know the user, or the password is wrong."),
            (403, "The user has no right to do this."),
            (404, "There is none, or OpenNebula lacks something that belongs to it."),
            (503, "OpenNebula or the database does not answer."),
            (504, "OpenNebula takes too long."),
        ]);
    }
    if operation.request_body.is_some() {
        error_responses.extend([(408, "The body did not arrive in time."), (413, "The body is too large.")]);
    }
    let ids = [
        ("{id}", "id", "The id of the runtime, from 0 to 2147483647."),
        ("{operation_id}", "operation_id", "The id of the operation."),
    ];
    for (part, name, text) in ids {
        if path.contains(part) {
            add_parameter(operation, name, ParameterIn::Path, true, text);
        }
    }
    add_errors::<Cognit>(operation, "Error", &error_responses);
}
