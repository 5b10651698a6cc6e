//! The description of the broker: that of the specification, with every status that we answer.

use axum::Json;
use utoipa::OpenApi as _;
use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Content, OpenApi, Ref, RefOr, Required, ResponseBuilder};

use super::{
    bind, binding_last_operation, catalog, deprovision, fetch, fetch_binding, last_operation, provision,
    unbind, update, wire,
};

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
struct Document;

/// The description of every route of the broker.
pub fn openapi() -> OpenApi {
    let mut api = Document::openapi();
    if let Some(components) = &mut api.components {
        let scheme = Http::builder().scheme(HttpAuthScheme::Basic).build();
        components.add_security_scheme(SCHEME, SecurityScheme::Http(scheme));
    }
    for (path, item) in &mut api.paths.paths {
        let operations = [&mut item.get, &mut item.put, &mut item.patch];
        for operation in operations.into_iter().flatten() {
            complete(operation, path, false);
        }
        if let Some(operation) = &mut item.delete {
            complete(operation, path, true);
        }
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
    operation.security = Some(vec![SecurityRequirement::new(SCHEME, Vec::<String>::new())]);
    let mut parameters = vec![
        parameter("X-Broker-API-Version", ParameterIn::Header, true, "Such as `2.17`."),
        parameter("X-Broker-API-Originating-Identity", ParameterIn::Header, false, "On whose behalf it is."),
        parameter("X-Broker-API-Request-Identity", ParameterIn::Header, false, "Sent back with the answer."),
    ];
    for id in ["instance_id", "binding_id"] {
        if path.contains(id) {
            let text = "1 to 255 bytes without slash and control characters.";
            parameters.push(parameter(id, ParameterIn::Path, true, text));
        }
    }
    let is_poll = path.ends_with("last_operation");
    if deletes || is_poll {
        for id in ["service_id", "plan_id"] {
            parameters.push(parameter(id, ParameterIn::Query, deletes, "As in the catalog."));
        }
    }
    if is_poll {
        let text = "The operation that is meant; the newest without it.";
        parameters.push(parameter("operation", ParameterIn::Query, false, text));
    }
    if deletes || operation.request_body.is_some() {
        let text = "`true` when the platform can wait.";
        parameters.push(parameter("accepts_incomplete", ParameterIn::Query, false, text));
    }
    operation.parameters.get_or_insert_default().extend(parameters.into_iter().map(RefOr::T));
    let mut refusals = vec![
        (400, "Something in the request is wrong, and the description says what."),
        (401, "The credentials are not good."),
        (403, "The token has neither the role broker nor the role admin."),
        (412, "The version of the API is not supported."),
        (500, "Something broke."),
        (503, "The database does not answer, or the far side takes too long."),
        (504, "It took too long."),
    ];
    if operation.request_body.is_some() {
        refusals.push((408, "The body did not arrive in time."));
        refusals.push((413, "The body is too large."));
    }
    for (status, description) in refusals {
        let content = Content::new(Some(Ref::from_schema_name("Error")));
        let response = ResponseBuilder::new().description(description).content("application/json", content);
        operation.responses.responses.entry(status.to_string()).or_insert_with(|| response.build().into());
    }
}

fn parameter(name: &str, place: ParameterIn, is_required: bool, description: &str) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(place)
        .required(if is_required { Required::True } else { Required::False })
        .description(Some(description))
        .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
        .build()
}
