//! Around every request to this door: the lines of its log, a limit on its time, and that a change is carried
//! to its end and written down.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::time::timeout;
use tracing::{Instrument, error};
use workflows::serverless::Errand;

use super::answer::{AcceptedAnyway, Refused};
use super::journal::{self, Line};
use super::{Counter, Desk, auth};
use crate::audit::{self, Deed};
use crate::frame::Plain;
use crate::hall::RequestId;
use crate::principal::Principal;

pub(super) async fn enter(State(desk): State<Desk>, request: Request, next: Next) -> Response {
    let began = desk.hall.engine.now();
    let line = Line::of(&request);
    journal::asked(&request);
    let mut response = if request.method().is_safe() {
        look(&desk, request, next).await
    } else {
        carry(Desk::clone(&desk), request, next).await
    };
    journal::answered(&response);
    line.end(&response, desk.hall.engine.now().since(began));
    response.extensions_mut().insert(Plain);
    response
}

async fn look(desk: &Counter, request: Request, next: Next) -> Response {
    let answer = timeout(desk.door.patience(), next.run(request)).await;
    answer.unwrap_or_else(|_| Refused::timeout().into_response())
}

/// A caller that goes away changes nothing. Where a change is waited for is known how long that may take; this
/// limit is for everything around it.
async fn carry(desk: Desk, request: Request, next: Next) -> Response {
    let deed = deed(&request);
    let limit = desk.door.patience() + desk.hall.settings.body_timeout + desk.door.grace;
    let work = async move {
        let response = next.run(request).await;
        // Anything else may be from somebody whom OpenNebula does not know, and they leave no rows.
        let is_accepted = response.extensions().get::<AcceptedAnyway>().is_some();
        if let Some(deed) = deed.filter(|_| is_accepted || response.status().is_success()) {
            audit::write(&desk.hall, deed.ended(&desk.hall, &response)).await;
        }
        response
    };
    match timeout(limit, tokio::spawn(work.in_current_span())).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => {
            error!(%error, "a change ended before it was done");
            Refused::internal().into_response()
        }
        Err(_) => Refused::timeout().into_response(),
    }
}

fn deed(request: &Request) -> Option<Deed> {
    let action = match request.method().as_str() {
        "POST" => "serverless.create",
        "PUT" => "serverless.update",
        "DELETE" => "serverless.delete",
        _ => return None,
    };
    let who = match request.extensions().get::<Principal>() {
        Some(principal) => principal.name.clone(),
        None => Errand::tenant(&auth::claimed(request.headers()).ok()?.user),
    };
    Some(Deed {
        who,
        action,
        path: request.uri().path().to_owned(),
        request: request.extensions().get::<RequestId>().map(|id| id.0.clone()).unwrap_or_default(),
    })
}
