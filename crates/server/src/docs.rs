//! `/docs`: the reference of all HTTP APIs as pages for people, made from the OpenAPI documents. The pages need no
//! script and no other server.

mod example;
mod html;
mod page;

use api::Code;
use axum::extract::State;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue};
use axum::response::IntoResponse;
use serde_json::Value;

use crate::app_state::{AppState, Shared};
use crate::http::Failure;
use crate::openapi::openapi;
use crate::query::Name;

const STYLE: &str = include_str!("docs/style.css");
/// Nothing but our own style sheet.
const POLICY: (HeaderName, HeaderValue) = (
    CONTENT_SECURITY_POLICY,
    HeaderValue::from_static("default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'"),
);
const HTML: (HeaderName, HeaderValue) = (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));

/// One API: its name in addresses, and its document.
struct Document {
    name: String,
    api: Value,
}

impl Document {
    fn title(&self) -> &str {
        self.api["info"]["title"].as_str().unwrap_or(&self.name)
    }
}

/// The API of the platform, and those that products have beside it.
fn documents(app: &AppState) -> Vec<Document> {
    let own = std::iter::once(("operations".to_owned(), openapi(&app.endpoints)));
    let others = app.endpoints.iter().flat_map(|product| product.documents());
    let others = others.map(|(name, api)| (name.to_owned(), api));
    let read = |(name, api)| Document { name, api: serde_json::to_value(api).unwrap_or_default() };
    own.chain(others).map(read).collect()
}

/// The reference of all APIs, as pages.
#[utoipa::path(
    get, path = "/docs", tag = "service", operation_id = "docs",
    responses((status = OK, body = String, content_type = "text/html", description = "A list with links."))
)]
pub(crate) async fn index(State(app): State<Shared>) -> impl IntoResponse {
    ([HTML, POLICY], page::index(&documents(&app)))
}

/// The reference of one API, as a page.
#[utoipa::path(
    get, path = "/docs/{name}", tag = "service", operation_id = "docs_of_api",
    params(("name" = String, Path, description = "The API, from the list.")),
    responses(
        (status = OK, body = String, content_type = "text/html", description = "The page."),
        (status = NOT_FOUND, description = "There is no such API: `not-found`."),
    )
)]
pub(crate) async fn one(State(app): State<Shared>, Name(name): Name) -> Result<impl IntoResponse, Failure> {
    let all = documents(&app);
    let missing = || Failure::new(Code::NotFound, "there is no such API; /docs lists all");
    let document = all.iter().find(|document| document.name == name).ok_or_else(missing)?;
    Ok(([HTML, POLICY], page::one(document)))
}

/// The style sheet of these pages.
#[utoipa::path(
    get, path = "/docs/style.css", tag = "service", operation_id = "docs_style",
    responses((status = OK, body = String, content_type = "text/css", description = "The style sheet."))
)]
pub(crate) async fn style() -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/css; charset=utf-8")], STYLE)
}
