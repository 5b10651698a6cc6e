//! `GET /end-session`. There are no sessions here, so there is nothing to forget.

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::clients::{OidcClient, loopback_url};
use super::page;
use super::request::way_back;

#[derive(Debug, Deserialize)]
pub(super) struct EndQuery {
    client_id: Option<String>,
    post_logout_redirect_uri: Option<String>,
    state: Option<String>,
}

pub(super) async fn end(query: Result<Query<EndQuery>, QueryRejection>) -> Response {
    let Ok(Query(query)) = query else { return page::call_error("the address cannot be read") };
    let Some(back) = query.post_logout_redirect_uri else { return page::signed_out() };
    if query.client_id.as_deref().and_then(OidcClient::find).is_none() {
        return page::call_error("the parameter client_id names no client that is known here");
    }
    if loopback_url(&back).is_none() {
        return page::call_error("the parameter post_logout_redirect_uri is not an address on this machine");
    }
    Redirect::to(&way_back(&back, &[], query.state.as_deref())).into_response()
}
