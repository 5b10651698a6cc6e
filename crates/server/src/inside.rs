//! The APIs from inside: for a part of this process that has found out itself who asks, such as the console.
//!
//! A call goes through the same router, guards, limits and audit log as one from outside. Only the proof is another
//! one: it travels as an extension of the request, which no client can send over a wire.

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

use crate::app_state::Shared;
use crate::audit;
use crate::auth::{self, AuthError};
pub use crate::operations::watchers::{NoSeat, StreamSeat, WatcherSlot};
use crate::people::{self, Attempt, SignInError, SignInLimits};
use crate::principal::Principal;

/// How the APIs are reached without a wire.
#[derive(Clone)]
pub struct Inside {
    router: Router,
    app: Shared,
}

impl Inside {
    pub(crate) fn new(router: Router, app: &Shared) -> Inside {
        Inside { router, app: Arc::clone(app) }
    }

    /// What the APIs answer to this request of a principal.
    pub async fn call(&self, who: &Principal, mut request: Request<Body>) -> Response {
        request.extensions_mut().insert(who.clone());
        let Ok(response) = self.router.clone().oneshot(request).await;
        response
    }

    /// The principal of a token, as every API has it.
    pub async fn principal_of(&self, token: &SecretString) -> Result<Principal, AuthError> {
        auth::principal_of(&self.app, token.expose_secret()).await
    }

    /// The principal of a session, for as long as the proof holds that opened it.
    pub async fn resume(&self, row: &SessionRow) -> Result<Option<Principal>, StoreError> {
        auth::resume(&self.app, row).await
    }

    /// Whose name and password these are, within the limits of the settings.
    pub async fn sign_in(
        &self,
        name: &str,
        password: &SecretString,
        from: Option<IpAddr>,
    ) -> Result<UserRow, SignInError> {
        let app = &self.app;
        let attempt = Attempt { name, password, from };
        let (people, now) = (&*app.people, app.engine.now());
        people::sign_in(people, &app.sign_ins, attempt, app.settings.sign_in, now).await
    }

    /// The user whom the code of a sign-in link signs in, once.
    pub async fn redeem_link(&self, code: &SecretString) -> Result<Option<UserRow>, StoreError> {
        people::redeem(&*self.app.people, code, self.app.engine.now()).await
    }

    pub fn sign_in_limits(&self) -> SignInLimits {
        self.app.settings.sign_in
    }

    /// A row of the audit log about a sign-in that failed: one for each burst of them from an address.
    pub async fn write_down_failure(&self, who: &str, from: Option<IpAddr>, result: &str) {
        let from = from.unwrap_or(IpAddr::from([0; 4]));
        let Some(before) = self.app.sign_ins.begins_burst(from, self.app.engine.now()) else { return };
        let before = if before == 0 { String::new() } else { format!(", {before} more before") };
        self.write_down(who, "session.begin", &format!("password from {from}"), &format!("{result}{before}"))
            .await;
    }

    /// A row of the audit log about what happens before an API is reached: a user signs in, or tries to.
    pub async fn write_down(&self, who: &str, action: &str, target: &str, result: &str) {
        let row = AuditRow {
            at: self.app.engine.now(),
            who: who.to_owned(),
            action: action.to_owned(),
            target: target.to_owned(),
            result: result.to_owned(),
            request: String::new(),
        };
        audit::write(&self.app, row).await;
    }

    /// A place among those who are told when an operation has news.
    pub fn watch(&self, id: OperationId, principal: &Principal) -> Result<WatcherSlot, NoSeat> {
        self.app.watchers.watch(id, principal)
    }

    /// A place for an event stream about all operations.
    pub fn seat(&self, principal: &Principal) -> Result<StreamSeat, NoSeat> {
        self.app.watchers.seat(principal)
    }

    /// For the time, and for the news of all operations.
    pub fn engine(&self) -> &Engine {
        &self.app.engine
    }

    /// Cancelled when the process stops.
    pub fn closing(&self) -> &CancellationToken {
        &self.app.closing
    }
}
