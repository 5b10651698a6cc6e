//! Around every request to this door: nobody gets in without a right, every change is carried to its end and
//! written down, and nothing takes longer than allowed.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use engine::AuditRow;
use tokio::time::timeout;
use tracing::{Instrument, error};

use super::envelope::Envelope;
use super::identify::identify;
use super::principal::TenantPrincipal;
use super::refused::Refused;
use super::rights::{Needs, RESERVATION, Right, allowed, names_no_provider, provider_in, right};
use super::{BASE, Counter, Desk};
use crate::audit::{self, Deed};
use crate::hall::RequestId;
use crate::slow_body::{BodyWait, watch_body};

const MARGIN: Duration = Duration::from_secs(2);

pub(super) async fn enter(State(desk): State<Desk>, request: Request, next: Next) -> Response {
    let envelope = Envelope::of(&request);
    let response = admit(&desk, request, next).await;
    envelope.close(response, &desk.door.build)
}

async fn admit(desk: &Desk, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let matched = parts.extensions.get::<MatchedPath>().cloned();
    let matched = matched.as_ref().and_then(|path| path.as_str().strip_prefix(BASE));
    let Some(path) = matched.map(|path| path.strip_suffix('/').unwrap_or(path)) else {
        return nothing_at(parts.uri.path()).into_response();
    };
    let Some(right) = right(&parts.method, path) else {
        let (allowed, at) = (allowed(path), parts.uri.path());
        let is_other_method = !allowed.is_empty() && !names_no_provider(at);
        let nothing = if is_other_method { Refused::method_not_allowed(&allowed) } else { nothing_at(at) };
        return nothing.into_response();
    };
    if !matches!(right.needs, Needs::Nothing | Needs::Signature) {
        let principal = match identify(desk, &parts).await {
            Ok(principal) => principal,
            Err(stranger) => return stranger.into_response(),
        };
        if let Err(refused) = check(&principal, right, parts.uri.path()) {
            return turn_away(desk, &principal, right, &parts, refused).await;
        }
        parts.extensions.insert(principal);
    }
    let Some(action) = right.action else {
        let (request, wait) = watch_body(Request::from_parts(parts, body));
        let answer = timeout(desk.hall.settings.request_timeout, next.run(request)).await;
        return answer.unwrap_or_else(|_| too_late(&wait).into_response());
    };
    // Something of its own remains for the answer.
    let own = right.limit.map(|limit| limit + MARGIN);
    let limit = desk.hall.settings.request_timeout.max(own.unwrap_or_default());
    let deed = parts.extensions.get::<TenantPrincipal>().map(|principal| deed(action, principal, &parts));
    carry_out(Arc::clone(desk), deed, Request::from_parts(parts, body), next, limit).await
}

fn nothing_at(path: &str) -> Refused {
    if names_no_provider(path) {
        Refused::invalid("type", "it must be aws, azure, gcp or noop")
    } else {
        Refused::no_such_path()
    }
}

fn check(principal: &TenantPrincipal, right: &Right, path: &str) -> Result<(), Refused> {
    match right.needs {
        Needs::Nothing | Needs::Signature | Needs::Identity => Ok(()),
        Needs::May(resource, verb) => principal.must(resource, verb),
        Needs::OursMay(resource, verb) => {
            let is_ours = principal.principal.proof.is_of_this_server();
            let stranger =
                || Refused::forbidden("only a token of this server may change what everybody sees");
            if is_ours { principal.must(resource, verb) } else { Err(stranger()) }
        }
        Needs::MayLaunch(verb) => {
            principal.must(RESERVATION, verb)?;
            provider_in(path)
                .map_or(Ok(()), |provider| principal.must(&format!("{RESERVATION}.{provider}"), verb))
        }
    }
}

async fn turn_away(
    desk: &Counter,
    principal: &TenantPrincipal,
    right: &Right,
    parts: &Parts,
    refused: Refused,
) -> Response {
    let response = refused.into_response();
    if let Some(action) = right.action {
        let row = row(desk, deed(action, principal, parts), &response);
        audit::write(&desk.hall, row).await;
    }
    response
}

/// A change is carried to its end even when the caller hangs up or the time is over.
async fn carry_out(
    desk: Desk,
    deed: Option<Deed>,
    request: Request,
    next: Next,
    limit: Duration,
) -> Response {
    let (request, wait) = watch_body(request);
    let work = async move {
        let response = next.run(request).await;
        if let Some(deed) = deed {
            let row = row(&desk, deed, &response);
            audit::write(&desk.hall, row).await;
        }
        response
    };
    match timeout(limit, tokio::spawn(work.in_current_span())).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => {
            error!(%error, "a change ended before it was done");
            Refused::internal().into_response()
        }
        Err(_) => too_late(&wait).into_response(),
    }
}

fn too_late(wait: &BodyWait) -> Refused {
    if wait.is_on() { Refused::slow_body() } else { Refused::timeout() }
}

/// The row has the code of a refusal beside its status.
fn row(desk: &Counter, deed: Deed, response: &Response) -> AuditRow {
    let code = response.extensions().get::<Refused>().map(Refused::code);
    let mut row = deed.ended(&desk.hall, response);
    row.result.extend(code.into_iter().flat_map(|code| [" ", code]));
    row
}

fn deed(action: &'static str, principal: &TenantPrincipal, parts: &Parts) -> Deed {
    let id = parts.extensions.get::<RequestId>().map(|id| id.0.clone());
    Deed {
        who: principal.name(),
        action,
        path: format!("{BASE}{}", parts.uri.path()),
        request: id.unwrap_or_default(),
    }
}
