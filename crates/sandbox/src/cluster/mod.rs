//! The clusters behind the runtimes: as much of the Kubernetes API as a broker needs.
//!
//! Every runtime that was provisioned has one, and one named `control-plane` is always there.

mod objects;
mod status;

pub(crate) use self::status::on_fault;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{ConnectInfo, Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Json, Router, middleware};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use self::objects::{ListQuery, ObjectPath, Objects, Resource};
use self::status::StatusFailure;
use crate::SandboxShared;
use crate::connection::Connection;
use crate::faults::{self, Gate};
use crate::hex::hex;
use crate::identity::bearer;
use crate::jwt::SigningKey;
use crate::ledger::{Effect, Ledger, LedgerSystem};

const SERVICE_ACCOUNT: Effect = Effect { system: LedgerSystem::Cluster, kind: "service_account" };
const CONTROL_PLANE: &str = "control-plane";
const TOKEN_SECONDS_DEFAULT: i64 = 3600;
const TOKEN_SECONDS_MIN: i64 = 600;
const TOKEN_SECONDS_MAX: i64 = 1 << 32;

#[derive(Debug)]
pub(crate) struct Clusters {
    base_url: String,
    ledger: Arc<Ledger>,
    key: SigningKey,
    open: Mutex<HashMap<String, Objects>>,
}

impl Clusters {
    pub(crate) fn new(base_url: &str, ledger: Arc<Ledger>) -> Self {
        let open = HashMap::from([(CONTROL_PLANE.to_owned(), Objects::default())]);
        let base_url = base_url.to_owned();
        Clusters { base_url, ledger, key: SigningKey::generate(), open: Mutex::new(open) }
    }

    pub(crate) fn open(&self, id: &str) {
        self.clusters().entry(id.to_owned()).or_default();
    }

    /// What was in the cluster goes with it.
    pub(crate) fn close(&self, id: &str) {
        let Some(objects) = self.clusters().remove(id) else { return };
        for place in objects.service_accounts() {
            self.ledger.take_back(SERVICE_ACCOUNT, &ledger_token(id, place));
        }
    }

    /// For the administrator; the same every time.
    pub(crate) fn kubeconfig(&self, id: &str) -> String {
        let server = format!("{}/clusters/{id}", self.base_url);
        let token = admin_token(id);
        format!(
            "apiVersion: v1\n\
             kind: Config\n\
             current-context: \"{id}\"\n\
             clusters:\n\
             - name: \"{id}\"\n  cluster:\n    server: \"{server}\"\n\
             contexts:\n\
             - name: \"{id}\"\n  context:\n    cluster: \"{id}\"\n    user: \"{id}-admin\"\n\
             users:\n\
             - name: \"{id}-admin\"\n  user:\n    token: \"{token}\"\n"
        )
    }

    fn clusters(&self) -> MutexGuard<'_, HashMap<String, Objects>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// First who the caller is, then whether it has a right.
    fn admit(
        &self,
        id: &str,
        objects: &Objects,
        token: Option<&str>,
        now: OffsetDateTime,
    ) -> Result<(), StatusFailure> {
        let Some(token) = token else { return Err(StatusFailure::no_right("system:anonymous")) };
        if token == admin_token(id) {
            return Ok(());
        }
        let claims = self.key.claims(token, now).filter(|claims| claims["cluster"] == id);
        let claims = claims.ok_or_else(StatusFailure::unauthorized)?;
        let text = |name: &str| claims[name].as_str().unwrap_or_default().to_owned();
        // A service account that was deleted and made again is another one.
        if !objects.takes_tokens_of(&text("uid"), now) {
            return Err(StatusFailure::unauthorized());
        }
        let (namespace, name) = (text("namespace"), text("name"));
        if objects.is_bound(&namespace, &name) {
            return Ok(());
        }
        Err(StatusFailure::no_right(&format!("system:serviceaccount:{namespace}:{name}")))
    }

    /// The objects of a cluster, for a caller that has a right to see them.
    fn enter<T>(
        &self,
        id: &str,
        headers: &HeaderMap,
        now: OffsetDateTime,
        work: impl FnOnce(&mut Objects) -> Result<T, StatusFailure>,
    ) -> Result<T, StatusFailure> {
        let mut clusters = self.clusters();
        let objects = clusters.get_mut(id).ok_or_else(|| StatusFailure::not_found("clusters", id))?;
        self.admit(id, objects, bearer(headers), now)?;
        work(objects)
    }
}

/// Looks random, but is the same for the same cluster, also after a restart.
fn admin_token(id: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update(b"administrator of ");
    hasher.update(id.as_bytes());
    hex(&hasher.finalize())
}

fn ledger_token(cluster: &str, place: &ObjectPath) -> String {
    format!("{cluster}/{}/{}", place.namespace, place.name)
}

pub(crate) fn routes(world: &SandboxShared) -> Router {
    let gate = Gate { system: LedgerSystem::Cluster, faults: Arc::clone(&world.faults) };
    let bindings = "/clusters/{cluster}/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    let namespaces = "/clusters/{cluster}/api/v1/namespaces";
    Router::new()
        .route(namespaces, get(list_namespaces))
        .route(&format!("{namespaces}/{{namespace}}/{{resource}}"), post(create).get(list))
        .route(&format!("{namespaces}/{{namespace}}/{{resource}}/{{name}}"), get(find).delete(delete))
        .route(&format!("{namespaces}/{{namespace}}/serviceaccounts/{{name}}/token"), post(request_token))
        .route(bindings, post(create_binding).get(list_bindings))
        .route(&format!("{bindings}/{{name}}"), get(find_binding).delete(delete_binding))
        .route("/clusters/{cluster}/api/{*rest}", any(no_such_api))
        .route("/clusters/{cluster}/apis/{*rest}", any(no_such_api))
        .route_layer(middleware::from_fn_with_state(world.clone(), reach))
        .route_layer(middleware::from_fn_with_state(gate, faults::hit))
        .route("/clusters/{cluster}/kubeconfig", get(show_kubeconfig))
        .with_state(world.clone())
}

/// Nothing listens at the address of a cluster that is not there, so a call gets no answer.
async fn reach(
    State(world): State<SandboxShared>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    Path(path): Path<HashMap<String, String>>,
    request: Request,
    next: Next,
) -> Response {
    world.provisioner.settle();
    let is_there = path.get("cluster").is_some_and(|id| world.clusters.clusters().contains_key(id));
    if is_there {
        return next.run(request).await;
    }
    connection.cut();
    StatusCode::NO_CONTENT.into_response()
}

async fn no_such_api() -> StatusFailure {
    StatusFailure::no_such_api()
}

/// A call to one cluster, before it is known whether the caller may.
struct Visit {
    world: SandboxShared,
    cluster: String,
    headers: HeaderMap,
}

impl Visit {
    fn new(world: SandboxShared, cluster: String, headers: HeaderMap) -> Self {
        Visit { world, cluster, headers }
    }

    fn enter<T>(
        &self,
        work: impl FnOnce(&mut Objects) -> Result<T, StatusFailure>,
    ) -> Result<T, StatusFailure> {
        self.world.clusters.enter(&self.cluster, &self.headers, self.world.clock.now(), work)
    }

    fn create(&self, resource: Resource, namespace: &str, body: &Bytes) -> Result<Response, StatusFailure> {
        let made = self.enter(|objects| {
            let (place, object) =
                objects.create(resource, namespace, parse(body)?, self.world.clock.now())?;
            if resource == Resource::ServiceAccount {
                let token = ledger_token(&self.cluster, &place);
                self.world.ledger.make(SERVICE_ACCOUNT, &token, &place.name);
            }
            Ok(object)
        })?;
        Ok((StatusCode::CREATED, Json(made)).into_response())
    }

    fn find(&self, place: &ObjectPath) -> Result<Json<Value>, StatusFailure> {
        self.enter(|objects| objects.get(place).cloned()).map(Json)
    }

    fn delete(&self, place: &ObjectPath) -> Result<Json<Value>, StatusFailure> {
        self.enter(|objects| {
            let object = objects.delete(place, self.world.clock.now())?;
            if place.resource == Resource::ServiceAccount {
                self.world.ledger.take_back(SERVICE_ACCOUNT, &ledger_token(&self.cluster, place));
                return Ok(Json(object));
            }
            let mut details = status::details(place.resource.plural(), &place.name);
            details["uid"] = object["metadata"]["uid"].clone();
            Ok(Json(json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details,
            })))
        })
    }

    fn request_token(&self, place: &ObjectPath, body: &Bytes) -> Result<Response, StatusFailure> {
        let mut request = parse(body)?;
        let seconds = match &request["spec"]["expirationSeconds"] {
            Value::Null => TOKEN_SECONDS_DEFAULT,
            given => given.as_i64().unwrap_or(0),
        };
        if !(TOKEN_SECONDS_MIN..=TOKEN_SECONDS_MAX).contains(&seconds) {
            let message =
                format!("spec.expirationSeconds must be {TOKEN_SECONDS_MIN} to {TOKEN_SECONDS_MAX}");
            return Err(StatusFailure::invalid(message));
        }
        let uid = self.enter(|objects| Ok(objects.get(place)?["metadata"]["uid"].clone()))?;
        let now = self.world.clock.now();
        let expires_at = now + Duration::from_secs(seconds.unsigned_abs());
        let token = self.world.clusters.key.sign(&json!({
            "iss": "kubernetes/serviceaccount",
            "sub": format!("system:serviceaccount:{}:{}", place.namespace, place.name),
            "cluster": self.cluster,
            "namespace": place.namespace,
            "name": place.name,
            "uid": uid,
            "iat": now.unix_timestamp(),
            "exp": expires_at.unix_timestamp(),
        }));
        let expires_at = expires_at.replace_nanosecond(0).unwrap_or(expires_at);
        let expires_at = expires_at.format(&Rfc3339).unwrap_or_default();
        request["kind"] = json!("TokenRequest");
        request["apiVersion"] = json!("authentication.k8s.io/v1");
        request["spec"]["expirationSeconds"] = json!(seconds);
        request["status"] = json!({"token": token, "expirationTimestamp": expires_at});
        Ok((StatusCode::CREATED, Json(request)).into_response())
    }
}

fn parse(body: &Bytes) -> Result<Value, StatusFailure> {
    let object: Value =
        serde_json::from_slice(body).map_err(|error| StatusFailure::bad_request(error.to_string()))?;
    let is_object = |value: &Value| value.is_object() || value.is_null();
    if object.is_object() && is_object(&object["metadata"]) && is_object(&object["spec"]) {
        return Ok(object);
    }
    Err(StatusFailure::bad_request("the body must be an object, and so must be its metadata and its spec"))
}

fn namespaced(plural: &str) -> Result<Resource, StatusFailure> {
    Resource::in_namespace(plural).ok_or_else(StatusFailure::no_such_api)
}

fn binding(name: String) -> ObjectPath {
    ObjectPath { resource: Resource::ClusterRoleBinding, namespace: String::new(), name }
}

/// A probe: it answers who has a token that is still good.
async fn list_namespaces(
    State(world): State<SandboxShared>,
    Path(cluster): Path<String>,
    headers: HeaderMap,
) -> Result<Json<Value>, StatusFailure> {
    Visit::new(world, cluster, headers).enter(|_| {
        let namespace = |name| json!({"metadata": {"name": name}, "status": {"phase": "Active"}});
        let items = ["default", "kube-system"].map(namespace);
        Ok(Json(json!({"kind": "NamespaceList", "apiVersion": "v1", "metadata": {}, "items": items})))
    })
}

async fn create(
    State(world): State<SandboxShared>,
    Path((cluster, namespace, resource)): Path<(String, String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, StatusFailure> {
    Visit::new(world, cluster, headers).create(namespaced(&resource)?, &namespace, &body)
}

async fn list(
    State(world): State<SandboxShared>,
    Path((cluster, namespace, resource)): Path<(String, String, String)>,
    Query(query): Query<ListQuery>,
    headers: HeaderMap,
) -> Result<Json<Value>, StatusFailure> {
    let resource = namespaced(&resource)?;
    Visit::new(world, cluster, headers).enter(|objects| objects.list(resource, &namespace, &query)).map(Json)
}

async fn find(
    State(world): State<SandboxShared>,
    Path((cluster, namespace, resource, name)): Path<(String, String, String, String)>,
    headers: HeaderMap,
) -> Result<Json<Value>, StatusFailure> {
    let place = ObjectPath { resource: namespaced(&resource)?, namespace, name };
    Visit::new(world, cluster, headers).find(&place)
}

async fn delete(
    State(world): State<SandboxShared>,
    Path((cluster, namespace, resource, name)): Path<(String, String, String, String)>,
    headers: HeaderMap,
) -> Result<Json<Value>, StatusFailure> {
    let place = ObjectPath { resource: namespaced(&resource)?, namespace, name };
    Visit::new(world, cluster, headers).delete(&place)
}

async fn request_token(
    State(world): State<SandboxShared>,
    Path((cluster, namespace, name)): Path<(String, String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, StatusFailure> {
    let place = ObjectPath { resource: Resource::ServiceAccount, namespace, name };
    Visit::new(world, cluster, headers).request_token(&place, &body)
}

async fn create_binding(
    State(world): State<SandboxShared>,
    Path(cluster): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, StatusFailure> {
    Visit::new(world, cluster, headers).create(Resource::ClusterRoleBinding, "", &body)
}

async fn list_bindings(
    State(world): State<SandboxShared>,
    Path(cluster): Path<String>,
    Query(query): Query<ListQuery>,
    headers: HeaderMap,
) -> Result<Json<Value>, StatusFailure> {
    let resource = Resource::ClusterRoleBinding;
    Visit::new(world, cluster, headers).enter(|objects| objects.list(resource, "", &query)).map(Json)
}

async fn find_binding(
    State(world): State<SandboxShared>,
    Path((cluster, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Json<Value>, StatusFailure> {
    Visit::new(world, cluster, headers).find(&binding(name))
}

async fn delete_binding(
    State(world): State<SandboxShared>,
    Path((cluster, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Json<Value>, StatusFailure> {
    Visit::new(world, cluster, headers).delete(&binding(name))
}

async fn show_kubeconfig(
    State(world): State<SandboxShared>,
    Path(cluster): Path<String>,
) -> Result<Response, StatusFailure> {
    world.provisioner.settle();
    if !world.clusters.clusters().contains_key(&cluster) {
        return Err(StatusFailure::not_found("clusters", &cluster));
    }
    let kubeconfig = world.clusters.kubeconfig(&cluster);
    Ok(([(header::CONTENT_TYPE, "application/yaml")], kubeconfig).into_response())
}
