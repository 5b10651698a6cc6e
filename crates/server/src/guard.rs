//! Who may use the operations API: the table of rights decides.

use api::{Code, Error, Problem};
use axum::extract::MatchedPath;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use engine::Capability;

use crate::app_state::AppState;
use crate::audit::AuditEntry;
use crate::auth::{BearerToken, authenticate, bearer_token};
use crate::error;
use crate::http::{Admission, Api, Denial, Failure, FailureKind, request_id, rights};
use crate::operations::signal_one;
use crate::principal::Principal;
use crate::rights::Needs;

impl Api for AppState {
    type Format = Problem;

    fn app(&self) -> &AppState {
        self
    }

    fn format(&self) -> Problem {
        Problem
    }

    fn body_limit_bytes(&self) -> usize {
        self.settings.body_limit_bytes
    }

    fn fault(&self, fault: FailureKind) -> Error {
        error::fault(fault)
    }

    async fn admit(&self, parts: &mut Parts) -> Result<Admission, Denial> {
        let path = parts.extensions.get::<MatchedPath>().cloned().ok_or(FailureKind::NoSuchPath)?;
        let Some(right) = rights::find(&self.rights, &parts.method, path.as_str()) else {
            let (method, allowed) = (parts.method.clone(), rights::allowed(&self.rights, path.as_str()));
            let is_other_method = !allowed.is_empty();
            let fault = if is_other_method {
                FailureKind::MethodNotAllowed { method, allowed }
            } else {
                FailureKind::NoSuchPath
            };
            return Err(fault.into());
        };
        let needed = match right.needs {
            Needs::Nothing => None,
            Needs::ReadUnlessPublic => (!self.settings.public_metrics).then_some(Capability::Read),
            Needs::Can(capability) | Needs::CanWithSome(capability) => Some(capability),
            Needs::SeesSome => Some(Capability::Read),
            Needs::OperateOrSignalToken if has_signal_token(&parts.headers) => {
                let operation = signal_one::prove(self, parts).await?;
                parts.extensions.insert(operation);
                None
            }
            Needs::OperateOrSignalToken => Some(Capability::Operate),
        };
        // The token of an operation has no name of its own.
        let of_service = |action| AuditEntry {
            who: SERVICE.to_owned(),
            action,
            path: parts.uri.path().to_owned(),
            request: request_id(parts),
        };
        let mut entry = right.action.map(of_service);
        if let Some(needed) = needed {
            // A request from inside the process brings its principal.
            let principal = match parts.extensions.get::<Principal>() {
                Some(principal) => principal.clone(),
                None => authenticate(self, &parts.headers).await?,
            };
            let who = principal.name.clone();
            entry = right.action.map(|action| AuditEntry {
                who,
                action,
                path: parts.uri.path().to_owned(),
                request: request_id(parts),
            });
            let may = match right.needs {
                Needs::CanWithSome(_) | Needs::OperateOrSignalToken => principal.can_with_some(needed),
                Needs::SeesSome => principal.sees_some(),
                Needs::Nothing | Needs::ReadUnlessPublic | Needs::Can(_) => principal.can(needed),
            };
            if !may {
                return Err(Denial::new(forbidden(&principal, needed), entry));
            }
            parts.extensions.insert(principal);
        }
        Ok(Admission { limit: self.settings.request_timeout, is_change: right.action.is_some(), entry })
    }
}

/// Who signals with the token of an operation.
const SERVICE: &str = "a service of the operation";

fn has_signal_token(headers: &HeaderMap) -> bool {
    matches!(bearer_token(headers), BearerToken::Found(token) if token.starts_with("sealed:"))
}

pub(crate) fn forbidden(principal: &Principal, needed: Capability) -> Failure {
    let needed = needed.role();
    let detail = format!("this needs the role {needed}, and {} has {}", principal.name, role_of(principal));
    Failure::new(Code::Forbidden, detail).with("needs", needed.as_str())
}

/// The same about one workflow, for which a grant would do.
pub(crate) fn forbidden_with(principal: &Principal, needed: Capability, workflow: &str) -> Failure {
    let (role, grant) = (needed.role(), format!("{}:{workflow}", needed.as_str()));
    let has = role_of(principal);
    let detail = format!("this needs the role {role} or the grant {grant}, and {} has {has}", principal.name);
    Failure::new(Code::Forbidden, detail).with("needs", role.as_str())
}

fn role_of(principal: &Principal) -> String {
    principal.role().map_or("no role here".to_owned(), |role| format!("the role {role}"))
}
