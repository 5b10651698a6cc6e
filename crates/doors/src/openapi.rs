//! The description of the API, made from the same routes that answer.

use api::{Format as _, Problem};
use axum::Json;
use axum::http::Method;
use utoipa::OpenApi as _;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Content, OpenApi, Ref, ResponseBuilder};

use crate::rights::{Needs, RIGHTS, Right};
use crate::router;

const SCHEME: &str = "token";

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "provision-engine operations",
        description = "Submit, watch and steer durable operations. Every refusal is a problem document \
                       with a stable `code`; `/errors/<code>` explains it.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    tags(
        (name = "operations", description = "Durable runs of workflows."),
        (name = "workflows", description = "What can be run."),
        (name = "runtimes", description = "Service instances and their clusters, for operators."),
        (name = "access", description = "Tokens, users, and who did what."),
        (name = "service", description = "The service itself."),
    ),
    components(schemas(crate::wire::Problem)),
)]
struct Document;

/// The description of every route, with what all routes have in common added to each of them.
pub fn openapi() -> OpenApi {
    let mut api = Document::openapi();
    api.merge(router::routes().into_openapi());
    if let Some(components) = &mut api.components {
        let scheme = Http::builder().scheme(HttpAuthScheme::Bearer).bearer_format("pe_…").build();
        components.add_security_scheme(SCHEME, SecurityScheme::Http(scheme));
    }
    for right in &RIGHTS {
        let item = api.paths.paths.get_mut(right.path);
        if let Some(operation) = item.and_then(|item| operation_of(item, &right.method)) {
            complete(operation, right);
        }
    }
    api
}

/// The description of this API.
#[utoipa::path(
    get, path = "/openapi.json", tag = "service", operation_id = "openapi",
    responses((status = OK, body = Object, description = "OpenAPI 3.1."))
)]
pub(crate) async fn openapi_json() -> Json<OpenApi> {
    Json(openapi())
}

fn operation_of<'a>(item: &'a mut PathItem, method: &Method) -> Option<&'a mut Operation> {
    match method.as_str() {
        "GET" => item.get.as_mut(),
        "POST" => item.post.as_mut(),
        "PUT" => item.put.as_mut(),
        "DELETE" => item.delete.as_mut(),
        _ => None,
    }
}

/// Adds what follows from the table of rights and from the kind of request, so that no route forgets it.
fn complete(operation: &mut Operation, right: &Right) {
    let mut problems = vec![(500, "Something broke: `internal`."), (504, "It took too long: `timeout`.")];
    if let Needs::Role(_) | Needs::ReaderUnlessPublic = right.needs {
        operation.security = Some(vec![SecurityRequirement::new(SCHEME, Vec::<String>::new())]);
        problems.push((401, "No valid token: `unauthenticated`."));
        problems.push((403, "The role of the token is too low: `forbidden`."));
        problems.push((503, "No database: `database-unavailable` or `database-full`."));
    }
    if let Needs::Role(_) = right.needs {
        problems.push((400, "Something in the request is wrong, and the problem says what."));
    }
    if operation.parameters.is_some() {
        problems.push((400, "A parameter is wrong: `invalid-parameter`."));
    }
    if operation.request_body.is_some() {
        problems.push((408, "The body did not arrive in time: `slow-body`."));
        problems.push((413, "The body is too large: `body-too-large`."));
        problems.push((415, "The body is not JSON: `unsupported-media-type`."));
    }
    for (status, description) in problems {
        let schema = Ref::from_schema_name("Problem");
        let response = ResponseBuilder::new()
            .description(description)
            .content(Problem::CONTENT_TYPE, Content::new(Some(schema)));
        operation.responses.responses.entry(status.to_string()).or_insert_with(|| response.build().into());
    }
    let role = match right.needs {
        Needs::Nothing => "Needs no token.".to_owned(),
        Needs::ReaderUnlessPublic => "Needs the role reader, unless metrics are public.".to_owned(),
        Needs::Role(role) => format!("Needs the role {role}."),
    };
    let before = operation.description.take().filter(|text| !text.is_empty());
    operation.description = Some(before.map_or_else(|| role.clone(), |text| format!("{text}\n\n{role}")));
}
