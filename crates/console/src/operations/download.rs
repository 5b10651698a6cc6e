//! `GET /console/operations/{id}/json`: everything about an operation, as the API tells it.

use api::types::{Explanation, JournalEntry, OperationDetail};
use axum::extract::Path;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::look::{Look, Story, id_of};
use crate::trouble::Trouble;
use crate::visitor::Visitor;

#[derive(Serialize)]
struct Everything {
    operation: OperationDetail,
    explanation: Explanation,
    journal: Vec<JournalEntry>,
}

pub(super) async fn json(visitor: Visitor, Path(id): Path<String>) -> Response {
    match written(&visitor, &id).await {
        Ok(response) => response,
        Err(trouble) => trouble.page(&visitor),
    }
}

async fn written(visitor: &Visitor, id: &str) -> Result<Response, Trouble> {
    let id = id_of(id)?;
    let Look { detail, why } = Look::at(&visitor.api, id).await?;
    let mut story = Story::default();
    story.read_on(&visitor.api, id).await?;
    let all = Everything { operation: detail, explanation: why, journal: story.entries };
    let text = serde_json::to_string_pretty(&all).map_err(|error| {
        Trouble::new(StatusCode::INTERNAL_SERVER_ERROR, "It did not work", error.to_string())
    })?;
    let name = HeaderValue::from_str(&format!("attachment; filename=\"operation-{id}.json\""))
        .unwrap_or(HeaderValue::from_static("attachment"));
    let kind = HeaderValue::from_static("application/json");
    Ok(([(CONTENT_TYPE, kind), (CONTENT_DISPOSITION, name)], text).into_response())
}
