//! `POST /console/operations/{id}/signal`: tells a step what it waits for.

use api::types::Signalled;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::Value;

use super::look::{StatusLook, id_of};
use super::why::own_signal;
use crate::fields::Fields;
use crate::flash::Flash;
use crate::page_error::PageError;
use crate::path;
use crate::signed_in::SignedIn;

pub(super) async fn signal(signed_in: SignedIn, Path(id): Path<String>, fields: Fields) -> Response {
    match send(&signed_in, &id, &fields).await {
        Ok(response) => response,
        Err(page_error) if page_error.status == StatusCode::NOT_FOUND => page_error.page(&signed_in),
        Err(page_error) => Flash::bad(page_error.line()).at(&format!("/console/operations/{id}")),
    }
}

async fn send(signed_in: &SignedIn, id: &str, fields: &Fields) -> Result<Response, PageError> {
    let id = id_of(id)?;
    let here = format!("/console/operations/{id}");
    let payload = fields.given("payload").map(serde_json::from_str::<Value>).transpose();
    let payload = payload.map_err(|error| {
        let detail = format!("The signal was not sent: its content is not JSON ({error}).");
        PageError::new(StatusCode::UNPROCESSABLE_ENTITY, "Not JSON", detail)
            .hint("Leave it empty, or write something like {\"create\": true}.")
    })?;
    // The key comes from the operation and not from the form: this page wakes no other user.
    let key = StatusLook::at(&signed_in.api, id).await?.why.waiting_for_key.ok_or_else(|| {
        PageError::new(StatusCode::CONFLICT, "Not now", "The operation does not wait for a signal any more.")
    })?;
    let at = match own_signal(&key, id) {
        Some(own) => format!("/operations/{id}/signals/{}", path::part(own)),
        None => format!("/signals/{}", path::part(&key)),
    };
    let signalled: Signalled = signed_in.api.post(&at, &payload.unwrap_or(Value::Null)).await?.json()?;
    let said = match signalled.woke {
        0 => "The signal is kept for when the step waits for it.",
        _ => "Signal sent; the operation continues.",
    };
    Ok(Flash::good(said).at(&here))
}
