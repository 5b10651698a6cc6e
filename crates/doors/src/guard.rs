//! Between the router and the handlers: nobody gets in without a right, every change is carried to its end
//! and written down, and nothing takes longer than allowed.

use api::Code;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{Extensions, HeaderMap};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use engine::Role;
use tokio::time::timeout;
use tracing::{Instrument, error};

use crate::audit::{self, Deed};
use crate::auth::authenticate;
use crate::hall::{Hall, RequestId, Shared};
use crate::principal::Principal;
use crate::problem::Problem;
use crate::rights::{Needs, allowed, right};
use crate::slow_body::{BodyWait, SlowBody, watch_body};

pub(crate) async fn guard(State(hall): State<Shared>, mut request: Request, next: Next) -> Response {
    let Some(path) = request.extensions().get::<MatchedPath>().cloned() else {
        return Problem::no_such_path().into_response();
    };
    let Some(right) = right(request.method(), path.as_str()) else {
        return not_in_the_table(request.method().as_str(), path.as_str()).into_response();
    };
    let needed = match right.needs {
        Needs::Nothing => None,
        Needs::ReaderUnlessPublic => (!hall.settings.public_metrics).then_some(Role::Reader),
        Needs::Role(role) => Some(role),
    };
    if let Some(needed) = needed {
        let caller = match principal(&hall, request.extensions(), request.headers()).await {
            Ok(caller) => caller,
            Err(problem) => return problem.into_response(),
        };
        if !caller.has(needed) {
            let deed = right.action.map(|action| deed(action, &caller, &request));
            return turn_away(&hall, &caller, needed, deed).await;
        }
        request.extensions_mut().insert(caller);
    }
    match right.action {
        None => {
            let (request, wait) = watch_body(request);
            let answer = timeout(hall.settings.request_timeout, next.run(request)).await;
            answer.unwrap_or_else(|_| too_late(&wait).into_response())
        }
        Some(action) => carry_out(hall, action, request, next).await,
    }
}

/// A request from inside the process brings its principal.
async fn principal(hall: &Hall, extensions: &Extensions, headers: &HeaderMap) -> Result<Principal, Problem> {
    match extensions.get::<Principal>() {
        Some(principal) => Ok(principal.clone()),
        None => authenticate(hall, headers).await,
    }
}

fn not_in_the_table(method: &str, path: &str) -> Problem {
    let allowed = allowed(path);
    if allowed.is_empty() { Problem::no_such_path() } else { Problem::method_not_allowed(method, &allowed) }
}

async fn turn_away(hall: &Hall, caller: &Principal, needed: Role, deed: Option<Deed>) -> Response {
    let has = caller.role().map_or("no role here".to_owned(), |role| format!("the role {role}"));
    let detail = format!("this needs the role {needed}, and {} has {has}", caller.name);
    let response = Problem::new(Code::Forbidden, detail).with("needs", needed.as_str()).into_response();
    if let Some(deed) = deed {
        audit::write(hall, deed.ended(hall, &response)).await;
    }
    response
}

/// A change is carried to its end even when the caller hangs up or the time is over: half a change, such as
/// an operation that is saved but that nobody works on, must not exist.
async fn carry_out(hall: Shared, action: &'static str, request: Request, next: Next) -> Response {
    let limit = hall.settings.request_timeout;
    let caller = request.extensions().get::<Principal>().cloned();
    let deed = caller.map(|caller| deed(action, &caller, &request));
    let (request, wait) = watch_body(request);
    let work = async move {
        let response = next.run(request).await;
        if let Some(deed) = deed {
            let row = deed.ended(&hall, &response);
            audit::write(&hall, row).await;
        }
        response
    };
    match timeout(limit, tokio::spawn(work.in_current_span())).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => {
            error!(%error, "a change ended before it was done");
            Problem::internal().into_response()
        }
        Err(_) => too_late(&wait).into_response(),
    }
}

fn too_late(wait: &BodyWait) -> Problem {
    if wait.is_on() { Problem::new(Code::SlowBody, SlowBody) } else { Problem::timeout() }
}

fn deed(action: &'static str, caller: &Principal, request: &Request) -> Deed {
    let id = request.extensions().get::<RequestId>().map(|id| id.0.clone());
    Deed {
        who: caller.name.clone(),
        action,
        path: request.uri().path().to_owned(),
        request: id.unwrap_or_default(),
    }
}
