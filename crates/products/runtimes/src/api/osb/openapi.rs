//! The description of the broker: that of the specification, with every status that we answer.

use api::Osb;
use axum::Json;
use axum::http::Method;
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa::openapi::path::{Operation, ParameterIn};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};

use super::{
    bind, binding_last_operation, catalog, deprovision, fetch, fetch_binding, last_operation, provision,
    unbind, update, wire,
};
use server::http::openapi::{add_errors, add_parameter, add_scheme, operations, secure};

const SCHEME: &str = "basic";

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "provision-engine service broker",
        description = "The Open Service Broker API 2.17. The same routes answer below `/oauth` and \
                       `/oauth/{region}`. Whatever is wrong is answered with a `description` for the user.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    tags(
        (name = "catalog", description = "What is offered."),
        (name = "instances", description = "Runtimes."),
        (name = "bindings", description = "Credentials to runtimes."),
    ),
    paths(
        catalog::show_catalog, provision::provision, fetch::fetch, update::update, deprovision::deprovision,
        last_operation::last_operation, bind::bind, fetch_binding::fetch_binding, unbind::unbind,
        binding_last_operation::binding_last_operation,
    ),
    components(schemas(wire::Error)),
)]
struct BrokerApiDoc;

/// The description of every route of the broker.
pub fn openapi() -> OpenApi {
    let mut api = BrokerApiDoc::openapi();
    let scheme = Http::builder().scheme(HttpAuthScheme::Basic).build();
    add_scheme(&mut api, SCHEME, SecurityScheme::Http(scheme));
    for (path, method, operation) in operations(&mut api) {
        complete(operation, path, method == Method::DELETE);
    }
    api
}

/// The description of the service broker.
#[utoipa::path(
    get, path = "/openapi/osb.json", tag = "service", operation_id = "openapi_osb",
    responses((status = OK, body = Object, description = "OpenAPI 3.1."))
)]
pub(crate) async fn osb_json() -> Json<OpenApi> {
    Json(openapi())
}

/// Adds what all routes have in common, so that none forgets it.
fn complete(operation: &mut Operation, path: &str, deletes: bool) {
    secure(operation, &[SCHEME]);
    let mut header = |name, is_required, text| {
        add_parameter(operation, name, ParameterIn::Header, is_required, text);
    };
    header("X-Broker-API-Version", true, "Such as `2.17`.");
    header("X-Broker-API-Originating-Identity", false, "On whose behalf it is.");
    header("X-Broker-API-Request-Identity", false, "Sent back with the answer.");
    for id in ["instance_id", "binding_id"].into_iter().filter(|id| path.contains(id)) {
        let text = "1 to 255 bytes without slash and control characters.";
        add_parameter(operation, id, ParameterIn::Path, true, text);
    }
    let has_body = operation.request_body.is_some();
    let is_poll = path.ends_with("last_operation");
    let mut query = |name, is_required, text| {
        add_parameter(operation, name, ParameterIn::Query, is_required, text);
    };
    if deletes || is_poll {
        query("service_id", deletes, "As in the catalog.");
        query("plan_id", deletes, "As in the catalog.");
    }
    if is_poll {
        query("operation", false, "The operation that is meant; the newest without it.");
    }
    if deletes || has_body {
        query("accepts_incomplete", false, "`true` when the platform can wait.");
    }
    let mut errors = vec![
        (400, "Something in the request is wrong, and the description says what."),
        (401, "The credentials are not good."),
        (403, "The token has neither the role broker nor the role admin."),
        (412, "The version of the API is not supported."),
        (500, "Something broke."),
        (503, "The database does not answer, or the external system takes too long."),
        (504, "It took too long."),
    ];
    if has_body {
        errors.push((408, "The body did not arrive in time."));
        errors.push((413, "The body is too large."));
    }
    add_errors::<Osb>(operation, "Error", &errors);
}
