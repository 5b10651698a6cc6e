//! The listener of the Resource Manager: who calls, what about, and what becomes of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{ConnectInfo, DefaultBodyLimit, Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use axum::{Json, Router, middleware};
use serde_json::Value;
use time::OffsetDateTime;

use super::call_error::ArmError;
use super::faults::{ArmMethod, AzureChance, AzureFaultKind};
use super::list::page;
use super::resource::{ArmKey, ArmKind};
use super::target::{self, ArmTarget};
use super::world::{AzureCloud, AzureState};
use super::{catalog, delete, put};
use crate::connection::Connection;
use crate::faults::{self, Faults, Gate};
use crate::ledger::LedgerSystem;

/// Custom data of 64 KiB in base64, and the rest of an instance.
const BODY_BYTES_MAX: usize = 256 * 1024;

pub(super) fn routes(cloud: &Arc<AzureCloud>, faults: &Arc<Faults>) -> Router {
    let gate = Gate { system: LedgerSystem::Arm, faults: Arc::clone(faults) };
    Router::new()
        .route("/azure/{subscriptions}/{*rest}", any(call))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .route_layer(middleware::from_fn_with_state(gate, faults::hit))
        .with_state(Arc::clone(cloud))
}

/// An answer that is a success.
#[derive(Debug)]
pub(super) struct ArmReply {
    status: u16,
    body: Option<Value>,
    headers: Vec<(&'static str, String)>,
}

impl ArmReply {
    pub(super) fn new(status: u16, body: Value) -> Self {
        ArmReply { status, body: Some(body), headers: Vec::new() }
    }

    pub(super) fn empty(status: u16) -> Self {
        ArmReply { status, body: None, headers: Vec::new() }
    }

    pub(super) fn header(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(super) fn retry_after(self, seconds: u64) -> Self {
        self.header("retry-after", seconds.to_string())
    }

    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::OK);
        let mut response = match self.body {
            Some(body) => (status, Json(body)).into_response(),
            None => status.into_response(),
        };
        for (name, value) in self.headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                response.headers_mut().insert(HeaderName::from_static(name), value);
            }
        }
        response
    }
}

/// A call as it arrived.
pub(super) struct ArmRequest<'a> {
    pub(super) method: ArmMethod,
    /// Below `/azure`, as it was spelled.
    pub(super) path: &'a str,
    pub(super) query: BTreeMap<String, String>,
    token: Option<&'a str>,
    only_if_new: bool,
    body: &'a [u8],
    now: OffsetDateTime,
}

async fn call(
    State(cloud): State<Arc<AzureCloud>>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    (method, uri, headers): (Method, Uri, HeaderMap),
    Query(query): Query<BTreeMap<String, String>>,
    body: Bytes,
) -> Response {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let Some(method) = ArmMethod::of(&method) else {
        return refuse(&ArmError::new(405, "MethodNotAllowed", "the sandbox does not know this method"));
    };
    let request = ArmRequest {
        method,
        path: uri.path().strip_prefix("/azure").unwrap_or_default(),
        query,
        token: text(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer ")),
        only_if_new: text(header::IF_NONE_MATCH) == Some("*"),
        body: &body,
        now: cloud.now(),
    };
    let result = handle(&mut cloud.state(), &request);
    cloud.woken.notify_one();
    match result {
        Ok((reply, is_lost)) => {
            if is_lost {
                connection.cut();
            }
            reply.into_response()
        }
        Err(error) => refuse(&error),
    }
}

fn refuse(error: &ArmError) -> Response {
    let mut response = (error.status, Json(error.body())).into_response();
    if let Some(seconds) = error.retry_after_s {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if error.status == StatusCode::UNAUTHORIZED {
        let challenge = HeaderValue::from_static("Bearer authorization_uri=\"https://login.sandbox/\"");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}

/// The reply, and whether its caller never hears of it.
fn handle(state: &mut AzureState, request: &ArmRequest<'_>) -> Result<(ArmReply, bool), ArmError> {
    if !request.query.contains_key("api-version") {
        let message = "the api-version query parameter (?api-version=) is required for all requests";
        return Err(ArmError::new(400, "MissingApiVersionParameter", message));
    }
    let (subscription, target) = target::read(request.path)
        .ok_or_else(|| ArmError::new(404, "InvalidResourceType", "there is nothing at this path"))?;
    let (kind, name) = match &target {
        ArmTarget::Resource { key, .. } => (Some(key.kind), key.name.as_str()),
        ArmTarget::List { kind, .. } => (Some(*kind), ""),
        _ => (None, ""),
    };
    let about = kind.map_or("other", ArmKind::name);
    *state.calls.entry(format!("{} {about}", request.method.name())).or_default() += 1;
    let chance = AzureChance { method: request.method, kind, name };
    authenticate(state, request, &chance)?;
    state.subscriptions.require(&subscription)?;
    if state.controls.throttle.hits(request.method) {
        let message = "the number of requests is above the limit";
        let target = "HighCostGet";
        let mut error =
            ArmError::caused(429, "OperationNotAllowed", "TooManyRequests", message).about(target);
        error.retry_after_s = Some(state.controls.throttle.retry_after_s);
        return Err(error);
    }
    if let ArmTarget::Resource { key, .. } = &target
        && state.faults.hits(AzureFaultKind::Vanish, &chance).is_some()
    {
        state.end_group(&key.group_key());
    }
    if let Some(why) = state.faults.hits(AzureFaultKind::Fail, &chance) {
        let mut error = ArmError::new(why.status.unwrap_or(409), &why.code, why.message);
        error.retry_after_s = why.retry_after_s;
        return Err(error);
    }
    let reply = carry_out(state, &subscription, &target, request)?;
    let is_lost = state.faults.hits(AzureFaultKind::Lose, &chance).is_some();
    Ok((reply, is_lost))
}

fn authenticate(
    state: &mut AzureState,
    request: &ArmRequest<'_>,
    chance: &AzureChance<'_>,
) -> Result<(), ArmError> {
    let token = request.token.unwrap_or_default();
    if state.faults.hits(AzureFaultKind::Revoke, chance).is_some() {
        state.tokens.revoke(token);
    }
    if state.tokens.is_good(token, request.now) {
        return Ok(());
    }
    let code = if token.is_empty() { "AuthenticationFailed" } else { "InvalidAuthenticationToken" };
    Err(ArmError::new(401, code, "the access token is missing, has expired or is not valid"))
}

fn carry_out(
    state: &mut AzureState,
    subscription: &str,
    target: &ArmTarget,
    request: &ArmRequest<'_>,
) -> Result<ArmReply, ArmError> {
    if let ArmTarget::Resource { key, name } = target {
        return on_resource(state, key, name, request);
    }
    if let (ArmTarget::Register { namespace }, ArmMethod::Post) = (target, request.method) {
        let lasts_ms = state.controls.delay_times.register_ms;
        state.subscriptions.require_allowed(subscription, &format!("{namespace}/register/action"))?;
        state.subscriptions.register(subscription, namespace, request.now, lasts_ms);
        return Ok(ArmReply::new(200, state.subscriptions.service(subscription, namespace, request.now)));
    }
    if request.method != ArmMethod::Get {
        return Err(ArmError::new(405, "MethodNotAllowed", "this path does not know this method"));
    }
    let group_of = |group: &Option<String>| group.clone();
    let all = match target {
        ArmTarget::Subscription => return Ok(ArmReply::new(200, state.subscriptions.body(subscription))),
        ArmTarget::Service { namespace } => {
            return Ok(ArmReply::new(200, state.subscriptions.service(subscription, namespace, request.now)));
        }
        ArmTarget::Operation { id, by_status } => return state.operations.show(id, *by_status, request.now),
        ArmTarget::Subnet { network, name } => return subnet(state, network, name),
        ArmTarget::Locations => catalog::locations(subscription),
        ArmTarget::Skus => catalog::skus(request.query.get("$filter").map(String::as_str)),
        ArmTarget::Usages { is_compute, location } => state.usages(subscription, *is_compute, location),
        ArmTarget::Delegations => state.subscriptions.delegations(subscription),
        ArmTarget::Permissions => state.subscriptions.permissions(subscription),
        ArmTarget::List { kind, group } => {
            state.list(subscription, *kind, group_of(group).as_deref(), request.now)?
        }
        ArmTarget::AllResources { group } => {
            state.all_resources(subscription, group_of(group).as_deref(), request.now)?
        }
        ArmTarget::Resource { .. } | ArmTarget::Register { .. } => Vec::new(),
    };
    page(state, request, all)
}

fn on_resource(
    state: &mut AzureState,
    key: &ArmKey,
    name: &str,
    request: &ArmRequest<'_>,
) -> Result<ArmReply, ArmError> {
    match request.method {
        ArmMethod::Get => {
            if !state.resources.contains_key(&key.group_key()) {
                return Err(ArmError::no_group(&key.group));
            }
            let resource = state.resources.get(key).ok_or_else(|| ArmError::no_resource(name))?;
            let expand = request.query.get("$expand").map(String::as_str);
            Ok(ArmReply::new(200, state.view(resource, expand)))
        }
        ArmMethod::Put => {
            let body: Value = serde_json::from_slice(request.body)
                .map_err(|error| ArmError::new(400, "InvalidRequestContent", error.to_string()))?;
            put::put(state, key, name, &body, request.only_if_new, request.now)
        }
        ArmMethod::Delete => delete::delete(state, key, request.now),
        ArmMethod::Post => Err(ArmError::new(405, "MethodNotAllowed", "the sandbox has no such action")),
    }
}

fn subnet(state: &AzureState, network: &ArmKey, name: &str) -> Result<ArmReply, ArmError> {
    let found = state.resources.get(network).and_then(|network| {
        let mut subnets = network.each("/subnets", "");
        subnets.find(|one| one["name"].as_str().is_some_and(|one| one.eq_ignore_ascii_case(name))).cloned()
    });
    found.map(|body| ArmReply::new(200, body)).ok_or_else(|| ArmError::no_resource(name))
}
