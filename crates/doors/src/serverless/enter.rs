//! The guard of this API: its log lines, the limit on its time, and what goes into the audit log. Who may do what is
//! decided by OpenNebula.

use api::{Cognit, Error};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::Response;
use workflows::serverless::Errand;

use super::journal::{self, Line};
use super::{Counter, Desk, auth, error};
use crate::audit::Deed;
use crate::frame::Plain;
use crate::hall::Hall;
use crate::http::{Admission, Api, Denial, Fault, request_id};
use crate::principal::Principal;

/// Around everything else: the lines of the log that operators know.
pub(super) async fn logged(State(desk): State<Desk>, request: Request, next: Next) -> Response {
    let began = desk.hall.engine.now();
    let line = Line::of(&request);
    journal::asked(&request);
    let mut response = next.run(request).await;
    journal::answered(&response);
    line.end(&response, desk.hall.engine.now().since(began));
    response.extensions_mut().insert(Plain);
    response
}

impl Api for Counter {
    type Format = Cognit;

    fn hall(&self) -> &Hall {
        &self.hall
    }

    fn format(&self) -> Cognit {
        Cognit
    }

    fn body_limit_bytes(&self) -> usize {
        self.door.body_limit_bytes
    }

    fn fault(&self, fault: Fault) -> Error {
        error::fault(fault)
    }

    fn complete(&self, error: &mut Error) {
        error::complete(error);
    }

    /// Handlers know how long a change may take that they wait for; this limit is for everything around it.
    async fn admit(&self, parts: &mut Parts) -> Result<Admission, Denial> {
        let patience = self.door.patience();
        if parts.method.is_safe() {
            return Ok(Admission { limit: patience, is_change: false, deed: None });
        }
        let limit = patience + self.hall.settings.body_timeout + self.door.grace;
        Ok(Admission { limit, is_change: true, deed: deed(parts) })
    }

    /// Anything else may be from a user whom OpenNebula does not know, and those leave no rows.
    fn is_audited(&self, response: &Response) -> bool {
        response.status().is_success() || response.extensions().get::<Error>().is_some_and(error::is_accepted)
    }
}

fn deed(parts: &Parts) -> Option<Deed> {
    let action = match parts.method.as_str() {
        "POST" => "serverless.create",
        "PUT" => "serverless.update",
        "DELETE" => "serverless.delete",
        _ => return None,
    };
    let who = match parts.extensions.get::<Principal>() {
        Some(principal) => principal.name.clone(),
        None => Errand::tenant(&auth::claimed(&parts.headers).ok()?.user),
    };
    Some(Deed { who, action, path: parts.uri.path().to_owned(), request: request_id(parts) })
}
