//! What the hosted service has at its root: `/ping`, `/docs` and `/docs/openapi.json`. They are open to all, and say
//! nothing but what the description says.

use std::fmt::Write;
use std::sync::LazyLock;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::response::Html;
use axum::routing::get;
use utoipa::openapi::path::PathItem;

use super::enter::labelled;
use super::openapi::{openapi, openapi_json};
use super::{BASE, Desk};

/// Each with and without a slash at its end.
pub(crate) fn routes(desk: &Desk) -> Router {
    let description = get(openapi_json).layer(from_fn_with_state(Desk::clone(desk), labelled));
    let pages = [
        ("/ping", get(|| async { StatusCode::OK })),
        ("/docs", get(|| async { Html(PAGE.as_str()) })),
        ("/docs/openapi.json", description),
    ];
    pages.into_iter().fold(Router::new(), |router, (path, handler)| {
        router.route(path, handler.clone()).route(&format!("{path}/"), handler)
    })
}

/// Every operation in one line. It loads nothing from elsewhere.
static PAGE: LazyLock<String> = LazyLock::new(|| {
    let mut rows = String::new();
    for (path, item) in &openapi().paths.paths {
        for (method, summary) in operations(item) {
            let row = [method, &format!("{BASE}{path}"), &summary].map(escaped).join("</td><td>");
            let _ = writeln!(rows, "<tr><td>{row}</td></tr>");
        }
    }
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Launch API</title></head><body>\n\
         <h1>Launch API</h1>\n<p>The whole description: <a href=\"/docs/openapi.json\">openapi.json</a></p>\n\
         <table>\n<tr><th>Method</th><th>Path</th><th>What it does</th></tr>\n{rows}</table>\n</body></html>\n"
    )
});

fn operations(item: &PathItem) -> Vec<(&'static str, String)> {
    let all =
        [("GET", &item.get), ("POST", &item.post), ("DELETE", &item.delete), ("OPTIONS", &item.options)];
    let summary =
        |operation: &utoipa::openapi::path::Operation| operation.summary.clone().unwrap_or_default();
    all.into_iter().filter_map(|(method, one)| Some((method, summary(one.as_ref()?)))).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
