//! Sign-in at an identity provider: redirect and callback.

use std::time::Duration;

use axum::extract::{Query, State};
use axum::http::header::{HOST, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use engine::secret::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use server::{CodeFlow, FlowError, Principal};
use subtle::ConstantTimeEq;

use super::client::Client;
use super::form::form;
use super::start_session::welcome;
use crate::cookie;
use crate::flash::see_other;
use crate::shared::{ConsoleShared, ConsoleState};

const CALLBACK: &str = "/console/sign-in/provider/callback";
/// How long a user may take at the provider.
const LIVES: Duration = Duration::from_mins(10);

/// What the browser holds while its owner is at the provider.
#[derive(Serialize, Deserialize)]
struct SignInFlow {
    state: String,
    nonce: String,
    verifier: String,
    back: String,
}

#[derive(Deserialize)]
pub(super) struct Leaving {
    #[serde(default)]
    back: String,
}

/// What a provider sends with a browser that comes back.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
pub(super) struct Coming {
    code: String,
    state: String,
    error: String,
}

pub(super) async fn leave(
    State(shared): State<ConsoleState>,
    Query(asked): Query<Leaving>,
    headers: HeaderMap,
) -> Response {
    let again = |status, error: String| form(&shared, &headers, status, &asked.back, "", Some(error));
    let Some(flow) = &shared.code_flow else { return again(StatusCode::NOT_FOUND, none()) };
    match flow.begin(&here(&shared, &headers)).await {
        Ok(begun) => {
            let kept = SignInFlow {
                state: begun.state,
                nonce: begun.nonce,
                verifier: begun.verifier.expose_secret().to_owned(),
                back: asked.back,
            };
            let kept = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&kept).unwrap_or_default());
            let mut response = see_other(&begun.location);
            let kept = cookie::write(cookie::FLOW, &kept, Some(LIVES), shared.is_https());
            response.headers_mut().append(SET_COOKIE, kept);
            response
        }
        Err(error) => again(StatusCode::BAD_GATEWAY, said(&error)),
    }
}

pub(super) async fn come_back(
    State(shared): State<ConsoleState>,
    client: Client,
    Query(coming): Query<Coming>,
    headers: HeaderMap,
) -> Response {
    let kept = cookie::read(&headers, cookie::FLOW).and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
    let kept: Option<SignInFlow> = kept.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let back = kept.as_ref().map_or("", |kept| &kept.back).to_owned();
    let again = |status, error: String| form(&shared, &headers, status, &back, "", Some(error));
    let Some(flow) = &shared.code_flow else { return again(StatusCode::NOT_FOUND, none()) };
    let kept = kept.filter(|kept| kept.state.as_bytes().ct_eq(coming.state.as_bytes()).into());
    let Some(kept) = kept else {
        let error = "This sign-in was not begun in this browser, or it took too long. Try again.";
        return again(StatusCode::FORBIDDEN, error.to_owned());
    };
    if !coming.error.is_empty() {
        let error = "The identity provider did not let you in. Try again, or use another way.";
        return again(StatusCode::UNAUTHORIZED, error.to_owned());
    }
    match start_session(flow, &coming.code, &kept, &here(&shared, &headers)).await {
        Ok(who) => welcome(&shared, &headers, client, &who, &kept.back).await,
        Err((status, error)) => again(status, error),
    }
}

async fn start_session(
    flow: &CodeFlow,
    code: &str,
    kept: &SignInFlow,
    here: &str,
) -> Result<Principal, (StatusCode, String)> {
    let verifier = SecretString::from(kept.verifier.as_str());
    flow.finish(code, &verifier, &kept.nonce, here).await.map_err(|error| {
        let status = match error {
            FlowError::Refused(_) => StatusCode::UNAUTHORIZED,
            FlowError::Unavailable(_) => StatusCode::BAD_GATEWAY,
        };
        (status, said(&error))
    })
}

/// Where the provider sends people back to.
fn here(shared: &ConsoleShared, headers: &HeaderMap) -> String {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    let base = shared.settings.public_url.clone().unwrap_or_else(|| format!("http://{host}"));
    format!("{}{CALLBACK}", base.trim_end_matches('/'))
}

fn none() -> String {
    "No identity provider is configured here. Use a password or a token.".to_owned()
}

fn said(error: &FlowError) -> String {
    let text = error.to_string();
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}
