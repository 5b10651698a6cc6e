//! `SignedIn`: a principal with a session. Without one, pages redirect to the sign-in.

use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::header::ACCEPT;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use engine::store::StoreError;
use engine::{Capability, Role, SessionRow, WorkflowInfo};
use server::Principal;
use server::principal::Verb;
use sha2::{Digest, Sha256};

use crate::api::ApiClient;
use crate::csrf::CsrfToken;
use crate::flash::{Flash, see_other};
use crate::page_error::PageError;
use crate::shared::{ConsoleShared, ConsoleState};
use crate::sign_in::client::Client;
use crate::{cookie, live, path, theme};

/// A click within this time of the last one is not written down.
const TOUCHED: Duration = Duration::from_mins(1);
const SECRET_BYTES: usize = 32;
/// Sent by a script of the console, not by opening a page.
const HX_REQUEST: HeaderName = HeaderName::from_static("hx-request");
const HX_REDIRECT: HeaderName = HeaderName::from_static("hx-redirect");

#[derive(Clone)]
/// Who looks at a page, and what they may do.
pub struct SignedIn {
    pub(crate) shared: ConsoleState,
    pub(crate) principal: Principal,
    /// Calls the APIs on behalf of this visitor.
    pub api: ApiClient,
    pub(crate) digest: String,
    /// For the forms of one page.
    pub csrf: CsrfToken,
    pub(crate) theme: &'static str,
    pub(crate) flash: Option<Flash>,
    /// The page that is looked at.
    pub(crate) here: String,
}

impl SignedIn {
    /// The name that they signed in with.
    pub fn name(&self) -> &str {
        &self.principal.name
    }

    pub fn can(&self, capability: Capability) -> bool {
        self.principal.can(capability)
    }

    /// Whether they may do this with a workflow.
    pub fn can_with(&self, capability: Capability, workflow: &str) -> bool {
        self.principal.can_with(capability, workflow)
    }

    /// Whether they may do this with one workflow at least.
    pub fn can_with_some(&self, capability: Capability) -> bool {
        self.principal.can_with_some(capability)
    }

    /// Whether they may know that this workflow exists.
    pub fn sees(&self, workflow: &str) -> bool {
        self.principal.sees(workflow)
    }

    /// Whether there are workflows that they may see.
    pub fn sees_some(&self) -> bool {
        self.principal.sees_some()
    }

    /// The role with most capabilities, or “none”.
    pub fn role(&self) -> &'static str {
        self.principal.role().map_or("none", Role::as_str)
    }

    /// Whether they have this right at the launch API.
    pub fn may(&self, resource: &str, verb: Verb) -> bool {
        self.principal.may(resource, verb)
    }

    /// The plan of a workflow that this server knows.
    pub fn workflow(&self, kind: &str) -> Option<WorkflowInfo> {
        self.shared.inside.engine().workflow(kind)
    }

    /// Whether they may see all operations and what belongs to them.
    pub fn may_look(&self) -> bool {
        self.can(Capability::Read)
    }

    /// Whether the external systems are those of the sandbox.
    pub fn is_sandbox(&self) -> bool {
        self.shared.settings.is_sandbox
    }

    /// Whether they may see operations of some workflows at least.
    pub fn may_look_at_some(&self) -> bool {
        self.can_with_some(Capability::Read)
    }
}

impl FromRequestParts<ConsoleState> for SignedIn {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, shared: &ConsoleState) -> Result<SignedIn, Response> {
        let Some(secret) = cookie::read(&parts.headers, cookie::SESSION) else { return Err(sign_in(parts)) };
        let row = look_up(shared, &digest(secret)).await.map_err(|error| unavailable(shared, &error))?;
        let Some((row, principal)) = row else { return Err(sign_in(parts)) };
        if !is_by_itself(parts) {
            prolong(shared, &row).await.map_err(|error| unavailable(shared, &error))?;
        }
        Ok(SignedIn {
            shared: ConsoleState::clone(shared),
            api: ApiClient::new(ConsoleState::clone(shared), principal.clone()),
            principal,
            digest: row.digest,
            csrf: CsrfToken::new(secret),
            theme: theme::chosen(&parts.headers),
            flash: Flash::read(&parts.headers),
            here: parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
        })
    }
}

/// A session that is used is good for longer.
async fn prolong(shared: &ConsoleShared, row: &SessionRow) -> Result<(), StoreError> {
    let now = shared.inside.engine().now();
    if now.since(row.seen_at) < TOUCHED.min(shared.settings.idle / 4) {
        return Ok(());
    }
    let last = row.created_at.plus(shared.settings.session);
    let last = row.proof.expires_at().map_or(last, |end| end.min(last));
    shared.people.touch_session(&row.digest, now, now.plus(shared.settings.idle).min(last)).await
}

/// The session with this digest and its principal, for as long as both hold.
pub(crate) async fn look_up(
    shared: &ConsoleShared,
    digest: &str,
) -> Result<Option<(SessionRow, Principal)>, StoreError> {
    let now = shared.inside.engine().now();
    let found = shared.people.find_session(digest).await?;
    let Some(row) = found.filter(|row| row.expires_at > now) else { return Ok(None) };
    let principal = shared.inside.resume(&row).await?;
    Ok(principal.map(|principal| (row, principal)))
}

/// Begins a session; answers what the browser is to hold.
pub(crate) async fn begin(
    shared: &ConsoleShared,
    principal: &Principal,
    client: Client,
) -> Result<String, StoreError> {
    let secret = secret();
    let now = shared.inside.engine().now();
    let expires_at = now.plus(shared.settings.idle.min(shared.settings.session));
    shared.people.prune_sessions(now).await?;
    let session = SessionRow {
        device: client.device,
        address: client.address.map(|address| address.to_string()).unwrap_or_default(),
        ..principal.session(digest(&secret), now, expires_at)
    };
    shared.people.add_session(&session).await?;
    Ok(secret)
}

/// Something that cannot be guessed.
pub(crate) fn secret() -> String {
    URL_SAFE_NO_PAD.encode(rand::random::<[u8; SECRET_BYTES]>())
}

pub(crate) fn digest(secret: &str) -> String {
    hex(&Sha256::digest(secret.as_bytes()))
}

/// As two digits for each byte.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|half| char::from_digit(half.into(), 16))
        .collect()
}

/// Where a user who is not signed in goes, and from there back.
fn sign_in(parts: &Parts) -> Response {
    if wants_stream(&parts.headers) {
        return live::signed_out();
    }
    let is_page = parts.method == Method::GET && !is_from_script(&parts.headers);
    let here = parts.uri.path_and_query().map_or(path::HOME, |here| here.as_str());
    let back = if is_page { path::query([("back", path::back(here))]) } else { String::new() };
    let location = format!("/console/sign-in{back}");
    if is_from_script(&parts.headers) {
        let to = HeaderValue::from_str(&location).unwrap_or(HeaderValue::from_static("/console/sign-in"));
        return (StatusCode::UNAUTHORIZED, [(HX_REDIRECT, to)]).into_response();
    }
    see_other(&location)
}

fn is_from_script(headers: &HeaderMap) -> bool {
    headers.contains_key(HX_REQUEST)
}

/// Sent by the open page itself, without a click.
fn is_by_itself(parts: &Parts) -> bool {
    wants_stream(&parts.headers) || parts.method == Method::GET && is_from_script(&parts.headers)
}

fn wants_stream(headers: &HeaderMap) -> bool {
    headers.get(ACCEPT).is_some_and(|accepts| accepts == "text/event-stream")
}

fn unavailable(shared: &ConsoleShared, error: &StoreError) -> Response {
    tracing::warn!(%error, "reading the console's sessions failed");
    let detail = "The database does not answer at the moment.";
    PageError::new(StatusCode::SERVICE_UNAVAILABLE, "Please wait", detail)
        .hint("Nothing is lost. Reload this page in a moment.")
        .bare(shared)
}
