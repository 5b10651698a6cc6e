//! The description of the API, made from the same routes that answer.

use std::sync::Arc;

use api::Problem;
use axum::Json;
use axum::extract::State;
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};

use crate::app_state::Shared;
use crate::endpoints::Endpoints;
use crate::http::openapi::{add_errors, add_paragraph, add_scheme, operations, secure};
use crate::rights::{Needs, RIGHTS, Right};
use crate::router;

const SCHEME: &str = "token";

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "provision-engine operations",
        description = "Submit, watch and steer durable operations. Every error is a problem document \
                       with a stable `code`; `/errors/<code>` explains it.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    tags(
        (name = "operations", description = "Durable runs of workflows."),
        (name = "workflows", description = "What can be run."),
        (name = "access", description = "Tokens, users, and who did what."),
        (name = "service", description = "The service itself."),
    ),
    components(schemas(crate::wire::Problem)),
)]
struct ServerApiDoc;

/// After the tags of what is run come those of the products.
const PRODUCT_TAGS: usize = 2;

/// The description of every route, with what all routes have in common added to each of them.
pub fn openapi(products: &[Arc<dyn Endpoints>]) -> OpenApi {
    let mut api = ServerApiDoc::openapi();
    api.merge(router::routes().into_openapi());
    let own = api.tags.take().unwrap_or_default();
    let (first, last) = own.split_at(PRODUCT_TAGS.min(own.len()));
    let mut tags = first.to_vec();
    let mut rights: Vec<&Right> = RIGHTS.iter().collect();
    for product in products {
        let mut description = product.description();
        tags.extend(description.tags.take().unwrap_or_default());
        api.merge(description);
        rights.extend(product.rights());
    }
    tags.extend_from_slice(last);
    api.tags = Some(tags);
    let scheme = Http::builder().scheme(HttpAuthScheme::Bearer).bearer_format("pe_…").build();
    add_scheme(&mut api, SCHEME, SecurityScheme::Http(scheme));
    for (path, method, operation) in operations(&mut api) {
        if let Some(right) = rights.iter().find(|right| right.method == method && right.path == path) {
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
pub(crate) async fn openapi_json(State(app): State<Shared>) -> Json<OpenApi> {
    Json(openapi(&app.endpoints))
}

/// Adds what follows from the table of rights and from the kind of request, so that no route forgets it.
fn complete(operation: &mut Operation, right: &Right) {
    let mut problems = vec![(500, "Something broke: `internal`."), (504, "It took too long: `timeout`.")];
    let needs = right.needs;
    let is_for_principals = matches!(
        needs,
        Needs::Can(_) | Needs::CanWithSome(_) | Needs::SeesSome | Needs::OperateOrSignalToken
    );
    if is_for_principals || needs == Needs::ReadUnlessPublic {
        secure(operation, &[SCHEME]);
        problems.push((401, "No valid token: `unauthenticated`."));
        problems.push((403, "The role of the token is too low: `forbidden`."));
        problems.push((503, "No database: `database-unavailable` or `database-full`."));
    }
    if is_for_principals {
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
    add_errors::<Problem>(operation, "Problem", &problems);
    let role = match right.needs {
        Needs::Nothing => "Needs no token.".to_owned(),
        Needs::ReadUnlessPublic => "Needs the role reader, unless metrics are public.".to_owned(),
        Needs::Can(capability) => format!("Needs the role {}.", capability.role()),
        Needs::SeesSome => "Needs the role reader, or a grant for the workflow.".to_owned(),
        Needs::CanWithSome(capability) => {
            format!(
                "Needs the role {}, or the grant `{}` for the workflow.",
                capability.role(),
                capability.as_str()
            )
        }
        Needs::OperateOrSignalToken => "Needs the role operator, or the token of the operation.".to_owned(),
    };
    add_paragraph(operation, &role);
}
