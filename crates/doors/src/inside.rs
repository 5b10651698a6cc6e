//! The doors from inside: for a part of this process that has found out itself who asks, such as the console.
//!
//! A call goes through the same router, guards, limits and audit log as one from outside. Only the proof is another
//! one: it travels as an extension of the request, which nobody can send over a wire.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use engine::secret::{ExposeSecret, SecretString};
use engine::{AuditRow, Engine, OperationId, Role};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::audit;
use crate::auth::{Caller, Denied, identify};
use crate::hall::Shared;
pub use crate::operations::watchers::Watch;

/// Somebody who was known before the door was reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vouched {
    /// As the audit log has it.
    pub name: String,
    pub role: Role,
    /// The organisation that an identity provider named; somebody of ours acts for that of the launch door.
    pub org: Option<String>,
}

impl Vouched {
    pub(crate) fn caller(&self) -> Caller {
        Caller { name: self.name.clone(), role: self.role }
    }
}

/// How the doors are reached without a wire.
#[derive(Clone)]
pub struct Inside {
    router: Router,
    hall: Shared,
}

impl Inside {
    pub(crate) fn new(router: Router, hall: &Shared) -> Inside {
        Inside { router, hall: Arc::clone(hall) }
    }

    /// What the doors answer to this request of somebody.
    pub async fn call(&self, who: &Vouched, mut request: Request<Body>) -> Response {
        request.extensions_mut().insert(who.clone());
        let Ok(response) = self.router.clone().oneshot(request).await;
        response
    }

    /// Who stands behind a token that a person typed in.
    pub async fn identify(&self, token: &SecretString) -> Result<Caller, Denied> {
        identify(&self.hall, token.expose_secret()).await
    }

    /// A row of the audit log about what happens before a door is reached: somebody signs in, or tries to.
    pub async fn write_down(&self, who: &str, action: &str, target: &str, result: &str) {
        let row = AuditRow {
            at: self.hall.engine.now(),
            who: who.to_owned(),
            action: action.to_owned(),
            target: target.to_owned(),
            result: result.to_owned(),
            request: String::new(),
        };
        audit::write(&self.hall, row).await;
    }

    /// A place among those who are told when an operation has news; `None` when all are taken.
    pub fn watch(&self, id: OperationId) -> Option<Watch> {
        self.hall.watchers.watch(id)
    }

    /// For the time, and for the news of all operations.
    pub fn engine(&self) -> &Engine {
        &self.hall.engine
    }

    /// Cancelled when the process stops.
    pub fn closing(&self) -> &CancellationToken {
        &self.hall.closing
    }
}
