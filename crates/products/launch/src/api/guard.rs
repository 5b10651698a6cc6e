//! The guard of this API: its table of rights decides, and every answer has the headers that callers follow a request by.

use std::time::Duration;

use api::{Error, Insights};
use axum::extract::{MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;

use super::identify::identify;
use super::principal::TenantPrincipal;
use super::rights::{LaunchRight, Needs, RESERVATION, RIGHTS, names_no_provider, provider_in};
use super::{BASE, LaunchShared, LaunchState, error};
use server::AppState;
use server::audit::AuditEntry;
use server::http::{Admission, Api, Denial, Failure, FailureKind, Note, request_id, rights};

/// Something of its own remains for the answer.
const MARGIN: Duration = Duration::from_secs(2);
const CORRELATION_ID: HeaderName = HeaderName::from_static("x-correlation-id");
const EDGE_ID: HeaderName = HeaderName::from_static("x-rh-edge-request-id");
const VERSION: HeaderName = HeaderName::from_static("x-rh-version");
const ID_CHARS_MAX: usize = 128;

/// Around everything else: the version of the server, and the id that the caller gave.
pub(crate) async fn labelled(State(shared): State<LaunchState>, request: Request, next: Next) -> Response {
    let correlation_id = id_in(request.headers(), &CORRELATION_ID);
    let correlation_id = correlation_id.and_then(|id| HeaderValue::from_str(&id).ok());
    let mut response = next.run(request).await;
    let build = &shared.api_parts.build;
    let version = HeaderValue::from_str(&format!("{} ({})", build.version, build.time));
    response.headers_mut().extend(version.ok().map(|version| (VERSION, version)));
    response.headers_mut().extend(correlation_id.map(|id| (CORRELATION_ID, id)));
    response
}

impl Api for LaunchShared {
    type Format = Insights;

    fn app(&self) -> &AppState {
        &self.app
    }

    fn format(&self) -> Insights {
        let build = self.api_parts.build.clone();
        Insights { version: build.version, build_time: build.time, environment: build.environment }
    }

    fn body_limit_bytes(&self) -> usize {
        self.api_parts.body_limit_bytes
    }

    fn fault(&self, fault: FailureKind) -> Error {
        error::fault(fault)
    }

    fn complete(&self, error: &mut Error) {
        error::complete(error);
    }

    fn note(&self, parts: &Parts) -> Note {
        Note { request_id: request_id(parts), edge_id: id_in(&parts.headers, &EDGE_ID) }
    }

    async fn admit(&self, parts: &mut Parts) -> Result<Admission, Denial> {
        let at = parts.uri.path().to_owned();
        let matched = parts.extensions.get::<MatchedPath>().cloned();
        let matched = matched.as_ref().and_then(|path| path.as_str().strip_prefix(BASE));
        let Some(path) = matched.map(|path| path.strip_suffix('/').unwrap_or(path)) else {
            return Err(nothing_at(&at).into());
        };
        let Some(right) = rights::find(&RIGHTS, &parts.method, path) else {
            let (method, allowed) = (parts.method.clone(), rights::allowed(&RIGHTS, path));
            let is_other_method = !allowed.is_empty() && !names_no_provider(&at);
            let other_method = FailureKind::MethodNotAllowed { method, allowed };
            return Err(if is_other_method { other_method.into() } else { nothing_at(&at).into() });
        };
        let mut entry = None;
        if !matches!(right.needs, Needs::Nothing | Needs::Signature) {
            let principal = identify(self, parts).await.map_err(|outsider| Denial::new(outsider, None))?;
            let (who, path, request) = (principal.name(), format!("{BASE}{at}"), request_id(parts));
            entry = right.action.map(|action| AuditEntry { who, action, path, request });
            if let Err(denied) = check(&principal, right, &at) {
                return Err(Denial::new(denied, entry));
            }
            parts.extensions.insert(principal);
        }
        let own = right.limit.filter(|_| right.action.is_some()).map(|limit| limit + MARGIN);
        let limit = self.app.settings.request_timeout.max(own.unwrap_or_default());
        Ok(Admission { limit, is_change: right.action.is_some(), entry })
    }
}

fn nothing_at(path: &str) -> Failure {
    if names_no_provider(path) {
        error::invalid("type", "it must be aws, azure, gcp or noop")
    } else {
        FailureKind::NoSuchPath.into()
    }
}

fn check(principal: &TenantPrincipal, right: &LaunchRight, path: &str) -> Result<(), Failure> {
    match right.needs {
        Needs::Nothing | Needs::Signature | Needs::Identity => Ok(()),
        Needs::May(resource, verb) => principal.must(resource, verb),
        Needs::OursMay(resource, verb) => {
            let is_ours = principal.principal.proof.is_of_this_server();
            let outsider =
                || error::forbidden("only a token of this server may change what all organisations see");
            if is_ours { principal.must(resource, verb) } else { Err(outsider()) }
        }
        Needs::MayLaunch(verb) => {
            principal.must(RESERVATION, verb)?;
            provider_in(path)
                .map_or(Ok(()), |provider| principal.must(&format!("{RESERVATION}.{provider}"), verb))
        }
    }
}

/// An id that is safe in logs, headers and bodies; any other is none.
fn id_in(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let text = headers.get(name)?.to_str().ok()?;
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:=+/".contains(&byte);
    let fits = (1..=ID_CHARS_MAX).contains(&text.len()) && text.bytes().all(is_fine);
    fits.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_id_that_is_safe_everywhere_is_repeated() {
        let id = |text: &[u8]| {
            id_in(&HeaderMap::from_iter([(EDGE_ID, HeaderValue::from_bytes(text).unwrap())]), &EDGE_ID)
        };
        assert_eq!(id(b"7f3a-19.B").as_deref(), Some("7f3a-19.B"));
        let long = "a".repeat(ID_CHARS_MAX + 1);
        for bad in [b"".as_slice(), b"a b", b"<script>", b"\xff", b"a\"", long.as_bytes()] {
            assert_eq!(id(bad), None);
        }
    }
}
