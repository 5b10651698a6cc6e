//! The guard of this API: its log lines, the limit on its time, and what goes into the audit log. Who may do what is
//! decided by OpenNebula.

use crate::model::CallerCredentials;
use api::{Cognit, Error};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::Response;

use super::journal::{self, AccessLogLine};
use super::{ServerlessShared, ServerlessState, auth, error};
use server::AppState;
use server::audit::AuditEntry;
use server::http::{Admission, Api, Denial, FailureKind, request_id};
use server::principal::Principal;
use server::request_layer::Plain;

/// Around everything else: the lines of the log that operators know.
pub(crate) async fn logged(State(shared): State<ServerlessState>, request: Request, next: Next) -> Response {
    let began = shared.app.engine.now();
    let line = AccessLogLine::of(&request);
    journal::asked(&request);
    let mut response = next.run(request).await;
    journal::answered(&response);
    line.end(&response, shared.app.engine.now().since(began));
    response.extensions_mut().insert(Plain);
    response
}

impl Api for ServerlessShared {
    type Format = Cognit;

    fn app(&self) -> &AppState {
        &self.app
    }

    fn format(&self) -> Cognit {
        Cognit
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

    /// Handlers know how long a change may take that they wait for; this limit is for everything around it.
    async fn admit(&self, parts: &mut Parts) -> Result<Admission, Denial> {
        let patience = self.api_parts.patience();
        if parts.method.is_safe() {
            return Ok(Admission { limit: patience, is_change: false, entry: None });
        }
        let limit = patience + self.app.settings.body_timeout + self.api_parts.grace;
        Ok(Admission { limit, is_change: true, entry: entry(parts) })
    }

    /// Anything else may be from a user whom OpenNebula does not know, and those leave no rows.
    fn is_audited(&self, response: &Response) -> bool {
        response.status().is_success() || response.extensions().get::<Error>().is_some_and(error::is_accepted)
    }
}

fn entry(parts: &Parts) -> Option<AuditEntry> {
    let action = match parts.method.as_str() {
        "POST" => "serverless.create",
        "PUT" => "serverless.update",
        "DELETE" => "serverless.delete",
        _ => return None,
    };
    let who = match parts.extensions.get::<Principal>() {
        Some(principal) => principal.name.clone(),
        None => CallerCredentials::tenant(&auth::claimed(&parts.headers).ok()?.user),
    };
    Some(AuditEntry { who, action, path: parts.uri.path().to_owned(), request: request_id(parts) })
}
