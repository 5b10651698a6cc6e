//! Between the router of an API and its handlers: a request without a right goes no further, every change is carried to
//! its end and written into the audit log, and nothing takes longer than allowed.

use std::sync::Arc;
use std::time::Duration;

use api::{Error, Format};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use engine::AuditRow;
use tokio::time::timeout;
use tracing::{Instrument, error};

use super::body::BodyLimit;
use super::slow_body::watch_body;
use super::{Failure, FailureKind};
use crate::app_state::{AppState, RequestId};
use crate::audit::{self, AuditEntry};

/// One of the APIs, as the state of its handlers.
pub trait Api: Send + Sync + 'static {
    type Format: Format;

    fn app(&self) -> &AppState;

    fn format(&self) -> Self::Format;

    fn body_limit_bytes(&self) -> usize;

    /// The words of this API for what any request can meet.
    fn fault(&self, fault: FailureKind) -> Error;

    /// Adds what follows from the status of an error, such as headers.
    fn complete(&self, _error: &mut Error) {}

    /// What an error says about its request.
    fn note(&self, parts: &Parts) -> Note {
        Note { request_id: request_id(parts), edge_id: None }
    }

    /// Finds the principal and its right. What handlers need of it goes into the extensions.
    fn admit(&self, parts: &mut Parts) -> impl Future<Output = Result<Admission, Denial>> + Send;

    /// The last look at a request that was let in; what fails here is in the audit log.
    fn prepare(&self, request: Request) -> impl Future<Output = Result<Request, Failure>> + Send {
        async { Ok(request) }
    }

    /// Whether the end of a change is written into the audit log.
    fn is_audited(&self, _response: &Response) -> bool {
        true
    }
}

/// A request that was let in.
pub struct Admission {
    pub limit: Duration,
    /// It is carried to its end even when the client hangs up or the time is over.
    pub is_change: bool,
    /// For the audit log.
    pub entry: Option<AuditEntry>,
}

/// A request that was not let in: the answer, and what it would have changed.
pub struct Denial(Box<(Response, Option<AuditEntry>)>);

impl Denial {
    pub fn new(answer: impl IntoResponse, entry: Option<AuditEntry>) -> Denial {
        Denial(Box::new((answer.into_response(), entry)))
    }
}

impl<F: Into<Failure>> From<F> for Denial {
    fn from(failure: F) -> Denial {
        Denial::new(failure.into(), None)
    }
}

/// The ids by which an error and the log belong together.
#[derive(Debug, Clone, Default)]
pub struct Note {
    pub request_id: String,
    pub edge_id: Option<String>,
}

pub fn request_id(parts: &Parts) -> String {
    parts.extensions.get::<RequestId>().map(|id| id.0.clone()).unwrap_or_default()
}

pub(super) async fn guard<A: Api>(State(api): State<Arc<A>>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let note = api.note(&parts);
    match api.admit(&mut parts).await {
        Ok(admission) => {
            parts.extensions.insert(BodyLimit(api.body_limit_bytes()));
            run(api, admission, note, Request::from_parts(parts, body), next).await
        }
        Err(Denial(denial)) => {
            let (answer, entry) = *denial;
            let response = written(&*api, &note, answer);
            let row = audit_row(&*api, entry, &response);
            audit::write(api.app(), row).await;
            response
        }
    }
}

async fn run<A: Api>(
    api: Arc<A>,
    admission: Admission,
    note: Note,
    request: Request,
    next: Next,
) -> Response {
    let Admission { limit, is_change, entry } = admission;
    let (request, wait) = watch_body(request);
    let work = async move {
        let response = match api.prepare(request).await {
            Ok(request) => next.run(request).await,
            Err(failure) => failure.into_response(),
        };
        let response = written(&*api, &note, response);
        let row = audit_row(&*api, entry, &response);
        audit::write(api.app(), row).await;
        response
    };
    let ended = if is_change {
        // Half a change, such as an operation that is saved but that no node works on, must not exist.
        timeout(limit, tokio::spawn(work.in_current_span())).await
    } else {
        timeout(limit, work).await.map(Ok)
    };
    match ended {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => {
            error!(%error, "request task ended before the change was finished");
            Failure::internal().into_response()
        }
        // The client took the time if the handler still waits for its body.
        Err(_) => Failure::from(if wait.is_on() { FailureKind::SlowBody } else { FailureKind::Timeout })
            .into_response(),
    }
}

fn audit_row<A: Api>(api: &A, entry: Option<AuditEntry>, response: &Response) -> Option<AuditRow> {
    let entry = entry.filter(|_| api.is_audited(response))?;
    let error = response.extensions().get::<Error>().filter(|error| error.known().is_some());
    let code = error.map(|error| api.format().code(error).into_owned());
    Some(entry.ended(api.app(), response, code))
}

/// Around everything else: an error that is not written yet gets its body here.
pub(super) async fn finish<A: Api>(State(api): State<Arc<A>>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let note = api.note(&parts);
    written(&*api, &note, next.run(Request::from_parts(parts, body)).await)
}

/// The error of a failure, in the words of the API. This is the one place that logs what the database did.
pub fn described<A: Api>(api: &A, failure: Failure) -> Error {
    if let Failure::Fault(FailureKind::Store(error)) = &failure {
        error!(%error, "database error in a request");
    }
    failure.into_error(|fault| api.fault(fault))
}

fn written<A: Api>(api: &A, note: &Note, mut response: Response) -> Response {
    let Some(failure) = response.extensions_mut().remove::<Failure>() else { return response };
    let mut error = described(api, failure);
    error.request_id = Some(note.request_id.clone());
    error.more.extend(note.edge_id.clone().map(|id| ("edge_id".to_owned(), id.into())));
    api.complete(&mut error);
    let (mut parts, _) = response.into_parts();
    parts.status = error.status;
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static(A::Format::CONTENT_TYPE));
    parts.headers.extend(error.answer_headers());
    let body = api.format().write(&error);
    parts.extensions.insert(error);
    Response::from_parts(parts, Body::from(body))
}
