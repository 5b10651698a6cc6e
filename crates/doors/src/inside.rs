//! The doors from inside: for a part of this process that has found out itself who asks, such as the console.
//!
//! A call goes through the same router, guards, limits and audit log as one from outside. Only the proof is another
//! one: it travels as an extension of the request, which nobody can send over a wire.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use engine::secret::{ExposeSecret, SecretString};
use engine::store::StoreError;
use engine::{AuditRow, Engine, OperationId, SessionRow, UserRow};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::audit;
use crate::auth::{self, Denied};
use crate::hall::Shared;
pub use crate::operations::watchers::Watch;
use crate::people::{self, Attempt, SignInError, SignInLimits};
use crate::principal::Principal;

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

    /// What the doors answer to this request of a principal.
    pub async fn call(&self, who: &Principal, mut request: Request<Body>) -> Response {
        request.extensions_mut().insert(who.clone());
        let Ok(response) = self.router.clone().oneshot(request).await;
        response
    }

    /// The principal of a token, as every API has it.
    pub async fn principal_of(&self, token: &SecretString) -> Result<Principal, Denied> {
        auth::principal_of(&self.hall, token.expose_secret()).await
    }

    /// The principal of a session, for as long as the proof holds that opened it.
    pub async fn resume(&self, row: &SessionRow) -> Result<Option<Principal>, StoreError> {
        auth::resume(&self.hall, row).await
    }

    /// Whose name and password these are, within the limits of the settings.
    pub async fn sign_in(
        &self,
        name: &str,
        password: &SecretString,
        from: Option<IpAddr>,
    ) -> Result<UserRow, SignInError> {
        let hall = &self.hall;
        let attempt = Attempt { name, password, from };
        let (people, now) = (&*hall.people, hall.engine.now());
        people::sign_in(people, &hall.sign_ins, attempt, hall.settings.sign_in, now).await
    }

    pub fn sign_in_limits(&self) -> SignInLimits {
        self.hall.settings.sign_in
    }

    /// A row of the audit log about a sign-in that failed: one for each burst of them from an address.
    pub async fn write_down_failure(&self, who: &str, from: Option<IpAddr>, result: &str) {
        let from = from.unwrap_or(IpAddr::from([0; 4]));
        let Some(before) = self.hall.sign_ins.begins_burst(from, self.hall.engine.now()) else { return };
        let before = if before == 0 { String::new() } else { format!(", {before} more before") };
        self.write_down(who, "session.begin", &format!("password from {from}"), &format!("{result}{before}"))
            .await;
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
