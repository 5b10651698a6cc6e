//! `POST /console/sign-out`

use axum::extract::State;
use axum::http::header::SET_COOKIE;
use axum::response::Response;

use crate::cookie;
use crate::fields::Fields;
use crate::flash::Flash;
use crate::shared::ConsoleState;
use crate::signed_in::SignedIn;

pub(super) async fn sign_out(
    State(shared): State<ConsoleState>,
    signed_in: SignedIn,
    _fields: Fields,
) -> Response {
    if let Err(error) = shared.people.remove_session(&signed_in.digest).await {
        tracing::warn!(%error, "deleting the session failed; only the browser's cookie was cleared");
    }
    shared
        .inside
        .write_down(signed_in.name(), "session.end", signed_in.principal.proof.kind().as_str(), "303")
        .await;
    let mut response = Flash::good("You are signed out.").at("/console/sign-in");
    response.headers_mut().append(SET_COOKIE, cookie::forget(cookie::SESSION, shared.is_https()));
    response
}
