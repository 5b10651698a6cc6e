//! A page for each code of a problem, so that `type` leads somewhere.

use std::fmt::Write;

use api::Code;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;

use crate::http::Failure;
use crate::query::Name;

const MARKDOWN: [(axum::http::HeaderName, &str); 1] = [(CONTENT_TYPE, "text/markdown; charset=utf-8")];

/// Every kind of problem.
#[utoipa::path(
    get, path = "/errors", tag = "service", operation_id = "list_errors",
    responses((status = OK, body = String, content_type = "text/markdown",
               description = "A list with links."))
)]
pub(crate) async fn list_errors() -> impl IntoResponse {
    let mut page = String::from("# Problems\n\n");
    for code in Code::ALL {
        let (name, status, title) = (code.as_str(), code.status().as_u16(), code.title());
        // Writing to a string cannot fail.
        let _ = writeln!(page, "- [{name}](/errors/{name}) ({status}): {title}");
    }
    (MARKDOWN, page)
}

/// What one kind of problem means, its likely cause and what to do.
#[utoipa::path(
    get, path = "/errors/{code}", tag = "service", operation_id = "show_error",
    params(("code" = String, Path, description = "The `code` of a problem.")),
    responses(
        (status = OK, body = String, content_type = "text/markdown", description = "The page."),
        (status = NOT_FOUND, description = "There is no such code: `not-found`."),
    )
)]
pub(crate) async fn show_error(Name(name): Name) -> Result<impl IntoResponse, Failure> {
    let missing = || Failure::new(Code::NotFound, "there is no problem with this code; /errors lists all");
    let code = Code::named(&name).ok_or_else(missing)?;
    Ok((MARKDOWN, code.page()))
}
