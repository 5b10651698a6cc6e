//! `POST /console/operations/{id}/signal`: tells a step what it waits for.

use api::types::Signalled;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::Value;

use super::look::{Look, id_of};
use crate::fields::Fields;
use crate::flash::Flash;
use crate::path;
use crate::trouble::Trouble;
use crate::visitor::Visitor;

pub(super) async fn signal(visitor: Visitor, Path(id): Path<String>, fields: Fields) -> Response {
    match send(&visitor, &id, &fields).await {
        Ok(response) => response,
        Err(trouble) if trouble.status == StatusCode::NOT_FOUND => trouble.page(&visitor),
        Err(trouble) => Flash::bad(trouble.line()).at(&format!("/console/operations/{id}")),
    }
}

async fn send(visitor: &Visitor, id: &str, fields: &Fields) -> Result<Response, Trouble> {
    let id = id_of(id)?;
    let here = format!("/console/operations/{id}");
    let payload = fields.given("payload").map(serde_json::from_str::<Value>).transpose();
    let payload = payload.map_err(|error| {
        let detail = format!("The signal was not sent: its content is not JSON ({error}).");
        Trouble::new(StatusCode::UNPROCESSABLE_ENTITY, "Not JSON", detail)
            .hint("Leave it empty, or write something like {\"create\": true}.")
    })?;
    // The key comes from the operation and not from the form: this page wakes nobody else.
    let key = Look::at(&visitor.api, id).await?.why.waiting_for_key.ok_or_else(|| {
        Trouble::new(StatusCode::CONFLICT, "Not now", "The operation does not wait for a signal any more.")
    })?;
    let at = format!("/signals/{}", path::part(&key));
    let signalled: Signalled = visitor.api.post(&at, &payload.unwrap_or(Value::Null)).await?.json()?;
    let said = match signalled.woke {
        0 => "The signal is kept for when the step waits for it.",
        _ => "The signal was sent, and the operation goes on.",
    };
    Ok(Flash::good(said).at(&here))
}
