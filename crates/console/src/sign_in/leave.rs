//! `POST /console/sign-out`

use axum::extract::State;
use axum::http::header::SET_COOKIE;
use axum::response::Response;

use crate::cookie;
use crate::desk::Desk;
use crate::fields::Fields;
use crate::flash::Flash;
use crate::visitor::Visitor;

pub(super) async fn sign_out(State(desk): State<Desk>, visitor: Visitor, _fields: Fields) -> Response {
    if let Err(error) = desk.people.remove_session(&visitor.digest).await {
        tracing::warn!(%error, "a session is forgotten by its browser alone");
    }
    desk.inside
        .write_down(visitor.name(), "session.end", visitor.principal.proof.kind().as_str(), "303")
        .await;
    let mut response = Flash::good("You are signed out.").at("/console/sign-in");
    response.headers_mut().append(SET_COOKIE, cookie::forget(cookie::SESSION, desk.is_https()));
    response
}
