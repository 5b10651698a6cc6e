//! `GET /console/operations/{id}/json`: everything about an operation, as the API tells it.

use api::types::{Explanation, JournalEntry, OperationDetail};
use axum::extract::Path;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::look::{StatusLook, Story, id_of};
use crate::page_error::PageError;
use crate::signed_in::SignedIn;

#[derive(Serialize)]
struct Everything {
    operation: OperationDetail,
    explanation: Explanation,
    journal: Vec<JournalEntry>,
}

pub(super) async fn json(signed_in: SignedIn, Path(id): Path<String>) -> Response {
    match written(&signed_in, &id).await {
        Ok(response) => response,
        Err(page_error) => page_error.page(&signed_in),
    }
}

async fn written(signed_in: &SignedIn, id: &str) -> Result<Response, PageError> {
    let id = id_of(id)?;
    let StatusLook { detail, why } = StatusLook::at(&signed_in.api, id).await?;
    let mut story = Story::default();
    story.read_on(&signed_in.api, id).await?;
    let all = Everything { operation: detail, explanation: why, journal: story.entries };
    let text = serde_json::to_string_pretty(&all).map_err(|error| {
        PageError::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal error", error.to_string())
    })?;
    let name = HeaderValue::from_str(&format!("attachment; filename=\"operation-{id}.json\""))
        .unwrap_or(HeaderValue::from_static("attachment"));
    let kind = HeaderValue::from_static("application/json");
    Ok(([(CONTENT_TYPE, kind), (CONTENT_DISPOSITION, name)], text).into_response())
}
