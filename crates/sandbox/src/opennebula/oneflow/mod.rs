//! OneFlow: services of several machines, made from service templates, over REST.
//!
//! Templates and services are documents in the pool of oned, so both listeners see them under the same numbers.
//! The body of a service's document is written anew whenever the service moves on.

mod answer;
mod body;
mod calls;
mod contents;
mod fixtures;
mod kept;
mod merge;
mod service;
mod state;
mod undeploy;
mod upgrade;
mod validate;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use time::OffsetDateTime;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use self::answer::FlowResponse;
use self::body::FlowBody;
pub(super) use self::kept::IdleConnection;
use self::kept::WebServer;
use self::service::Service;
use super::documents::SERVICE;
use super::users::AuthenticatedUser;
use super::world::{Nebula, NebulaState};
use crate::faults::{self, Faults, Gate};
use crate::graphql::GRAPHQL_BYTES_MAX;
use crate::ledger::{Effect, Ledger, LedgerSystem};

const SERVICE_EFFECT: Effect = Effect { system: LedgerSystem::Oneflow, kind: "service" };

/// Where the locks of both are taken, the one on the services comes first.
#[derive(Debug)]
pub(crate) struct OneFlow {
    nebula: Arc<Nebula>,
    ledger: Arc<Ledger>,
    services: Mutex<BTreeMap<i32, Service>>,
    /// Told when there is something to live on.
    pub(super) woken: Notify,
}

impl OneFlow {
    pub(crate) fn new(nebula: Arc<Nebula>, ledger: Arc<Ledger>) -> Self {
        fixtures::add(&mut nebula.nebula_state(), nebula.now());
        OneFlow { nebula, ledger, services: Mutex::default(), woken: Notify::new() }
    }

    /// Lets all services live on until now, so that the rest of the world is as it should be.
    pub(crate) fn settle(&self) {
        let mut services = self.services();
        let (mut nebula_state, now) = (self.nebula.nebula_state(), self.nebula.now());
        for service in services.values_mut().filter(|service| service.state().is_moving()) {
            if service.settle(&mut nebula_state, now) {
                write_back(service, &mut nebula_state);
            }
        }
        self.drop_gone(&mut services, &mut nebula_state);
    }

    /// Lets services live on whose documents are about to be read through oned, where they are as OneFlow shows them.
    pub(crate) fn settle_for_oned(&self, is_read: impl Fn(i32) -> bool) {
        let mut services = self.services();
        let (mut nebula_state, now) = (self.nebula.nebula_state(), self.nebula.now());
        for (_, service) in services.iter_mut().filter(|(id, _)| is_read(**id)) {
            service.vanish_if_scripted(&nebula_state);
            if service.settle(&mut nebula_state, now) {
                write_back(service, &mut nebula_state);
            }
        }
        self.drop_gone(&mut services, &mut nebula_state);
    }

    /// Something is going on that needs no attention.
    pub(super) fn has_moving(&self) -> bool {
        self.services().values().any(|service| service.state().is_moving())
    }

    /// Allocates the document first; the service begins after its caller has been answered.
    fn start(
        &self,
        caller: &AuthenticatedUser,
        body: FlowBody,
        now: OffsetDateTime,
    ) -> Result<FlowResponse, FlowResponse> {
        let mut services = self.services();
        let mut nebula_state = self.nebula.nebula_state();
        let id = calls::allocate(&mut nebula_state, caller, &body, SERVICE)?;
        self.ledger.make(SERVICE_EFFECT, &id.to_string(), "");
        let mut service = Service::new(id, caller.clone(), body, now);
        write_back(&service, &mut nebula_state);
        let answer = match nebula_state.documents.get(id) {
            Some(document) => FlowResponse::document(StatusCode::CREATED, document),
            None => FlowResponse::of_another_type(id),
        };
        service.begin(&nebula_state, now);
        write_back(&service, &mut nebula_state);
        services.insert(id, service);
        self.woken.notify_one();
        Ok(answer)
    }

    /// Forgets the services that are over, and those whose document a client deleted through the other listener.
    fn drop_gone(&self, services: &mut BTreeMap<i32, Service>, nebula_state: &mut NebulaState) {
        services.retain(|id, service| {
            if service.is_gone {
                nebula_state.documents.remove(*id);
            }
            let is_kept = nebula_state.documents.get(*id).is_some();
            if !is_kept {
                self.ledger.take_back(SERVICE_EFFECT, &id.to_string());
            }
            is_kept
        });
    }

    fn services(&self) -> MutexGuard<'_, BTreeMap<i32, Service>> {
        self.services.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn caller(&self, headers: &HeaderMap) -> Result<AuthenticatedUser, FlowResponse> {
        let (user, secret) = credentials(headers)
            .ok_or_else(|| FlowResponse::unauthenticated("A username and password must be provided"))?;
        let caller = self.nebula.nebula_state().users.authenticate(&user, &secret, self.nebula.now());
        caller.ok_or_else(|| FlowResponse::unauthenticated("Invalid credentials"))
    }
}

fn write_back(service: &Service, nebula_state: &mut NebulaState) {
    let body = serde_json::to_string(&service.body).expect("a body is plain text and numbers");
    if let Some(document) = nebula_state.documents.get_mut(service.id) {
        document.set_body(body);
    }
}

/// User and secret, which begins after the first colon.
fn credentials(headers: &HeaderMap) -> Option<(String, String)> {
    let payload = headers.get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("Basic ")?;
    let text = String::from_utf8(STANDARD.decode(payload.trim()).ok()?).ok()?;
    let (user, secret) = text.split_once(':')?;
    Some((user.to_owned(), secret.to_owned()))
}

pub(crate) fn routes(flow: &Arc<OneFlow>, faults: &Arc<Faults>, stop: &CancellationToken) -> Router {
    let server = WebServer::new(Arc::clone(&flow.nebula), stop.clone());
    let gate = Gate { system: LedgerSystem::Oneflow, faults: Arc::clone(faults) };
    Router::new()
        .route("/service_template", get(calls::list_templates).post(calls::create_template))
        .route("/service_template/{id}", get(calls::show_template))
        .route("/service_template/{id}/action", post(calls::act_on_template))
        .route("/service", get(calls::list_services))
        .route("/service/{id}", get(calls::show_service).delete(calls::delete_service))
        .route("/service/{id}/action", post(calls::act_on_service))
        .route("/service/{id}/scale", post(calls::scale_service))
        .fallback(calls::unknown)
        .method_not_allowed_fallback(calls::unknown)
        .layer(middleware::from_fn_with_state(Arc::clone(flow), authenticate))
        .layer(middleware::from_fn_with_state(gate, faults::hit))
        .layer(middleware::from_fn_with_state(server, kept::keep))
        .layer(DefaultBodyLimit::max(GRAPHQL_BYTES_MAX))
        .with_state(Arc::clone(flow))
}

/// In front of every path, also of those that do not exist.
async fn authenticate(State(flow): State<Arc<OneFlow>>, mut request: Request, next: Next) -> Response {
    match flow.caller(request.headers()) {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(answer) => answer.into_response(),
    }
}
