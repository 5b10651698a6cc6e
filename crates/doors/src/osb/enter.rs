//! Around every request to the broker: who it is, which version they speak, and a body that can be read. Only
//! then it matters what was asked.

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::time::timeout;
use tracing::{Instrument, error, info_span};

use super::error::Refusal;
use super::headers::{REQUEST_IDENTITY, originating, request_identity};
use super::{Broker, Desk, auth, body, version};
use crate::audit::{self, Deed};
use crate::hall::RequestId;
use crate::principal::Principal;
use crate::slow_body::watch_body;

pub(super) async fn enter(State(broker): State<Desk>, request: Request, next: Next) -> Response {
    let given = request.extensions().get::<RequestId>().cloned();
    let made = || given.as_ref().map_or(HeaderValue::from_static("unknown"), RequestId::header);
    let identity = request_identity(request.headers()).unwrap_or_else(made);
    let shown = String::from_utf8_lossy(identity.as_bytes());
    let span = info_span!("broker", request.identity = %shown.chars().take(200).collect::<String>());
    let mut response = admit(broker, request, next).instrument(span).await.into_response();
    response.headers_mut().insert(REQUEST_IDENTITY, identity);
    response
}

async fn admit(broker: Desk, mut request: Request, next: Next) -> Result<Response, Refusal> {
    let caller = match request.extensions().get::<Principal>() {
        Some(principal) => principal.clone(),
        None => auth::authenticate(&broker.hall, request.headers()).await?,
    };
    let origin = originating(request.headers());
    let limit = broker.hall.settings.request_timeout;
    let deed = action(&request).map(|action| Deed {
        who: origin.behind(&caller.name),
        action,
        path: request.uri().path().to_owned(),
        request: request.extensions().get::<RequestId>().map(|id| id.0.clone()).unwrap_or_default(),
    });
    let may_ask = caller.is_platform();
    request.extensions_mut().insert(caller);
    request.extensions_mut().insert(origin);
    let (request, wait) = watch_body(request);
    // A 5xx would make the platform delete what it did not get to ask for.
    let too_late = || if wait.is_on() { Refusal::slow_body() } else { Refusal::timeout() };
    let Some(deed) = deed else {
        let answer = timeout(limit, answer(&broker, may_ask, request, next)).await;
        return answer.unwrap_or_else(|_| Err(too_late()));
    };
    // A change is carried to its end even when the caller hangs up or the time is over.
    let work = async move {
        let response = answer(&broker, may_ask, request, next).await.into_response();
        audit::write(&broker.hall, deed.ended(&broker.hall, &response)).await;
        response
    };
    match timeout(limit, tokio::spawn(work.in_current_span())).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => {
            error!(%error, "a change ended before it was done");
            Err(Refusal::internal())
        }
        Err(_) => Err(too_late()),
    }
}

async fn answer(broker: &Broker, may_ask: bool, request: Request, next: Next) -> Result<Response, Refusal> {
    if !may_ask {
        return Err(Refusal::forbidden());
    }
    version::check(request.headers(), broker.settings())?;
    let request = with_fields(broker, request).await?;
    Ok(next.run(request).await)
}

/// Reads the body of a request that must have one, before anybody looks at where it was sent.
async fn with_fields(broker: &Broker, request: Request) -> Result<Request, Refusal> {
    if ![Method::PUT, Method::PATCH].contains(request.method()) {
        return Ok(request);
    }
    let settings = &broker.hall.settings;
    let (mut parts, sent) = request.into_parts();
    let fields = body::read(Request::from_parts(parts.clone(), sent), settings.body_limit_bytes).await?;
    parts.extensions.insert(fields);
    Ok(Request::from_parts(parts, Body::empty()))
}

/// The name in the audit log of what a request changes.
fn action(request: &Request) -> Option<&'static str> {
    let path = request.extensions().get::<MatchedPath>()?.as_str();
    let is_of = |end: &str| path.ends_with(end);
    match (request.method().as_str(), is_of("/{instance_id}"), is_of("/{binding_id}")) {
        ("PUT", true, _) => Some("broker.provision"),
        ("PATCH", true, _) => Some("broker.update"),
        ("DELETE", true, _) => Some("broker.deprovision"),
        ("PUT", _, true) => Some("broker.bind"),
        ("DELETE", _, true) => Some("broker.unbind"),
        _ => None,
    }
}
