//! The calls: who calls, what about, and what becomes of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::delete::{DeleteOptions, delete};
use super::failure::{ApiFailure, ForbiddenTarget};
use super::faults::ManagerFaultKind;
use super::kinds::KubeKind;
use super::store::ObjectKey;
use super::write::{self, WriteOptions};
use super::{BASE, InfrastructureManager, ManagerState, discovery, list, users, watch};

/// What the server allows.
pub(super) const BODY_BYTES_MAX: usize = 3 * 1024 * 1024;
const MERGE_PATCH: &str = "application/merge-patch+json";

/// A path of objects.
#[derive(Debug)]
struct ObjectsPath<'a> {
    target: ForbiddenTarget<'a>,
    version: &'a str,
}

impl<'a> ObjectsPath<'a> {
    fn parse(segments: &[&'a str]) -> Option<ObjectsPath<'a>> {
        let (group, version, rest) = match segments {
            ["api", version, "namespaces", rest @ ..] => ("", *version, rest),
            ["apis", group, version, "namespaces", rest @ ..] => (*group, *version, rest),
            _ => return None,
        };
        let (namespace, plural, name, subresource) = match rest {
            [namespace, plural] => (*namespace, *plural, "", ""),
            [namespace, plural, name] => (*namespace, *plural, *name, ""),
            [namespace, plural, name, subresource] => (*namespace, *plural, *name, *subresource),
            _ => return None,
        };
        let target = ForbiddenTarget { group, plural, subresource, namespace, name };
        Some(ObjectsPath { target, version })
    }
}

/// A call as it arrived.
pub(super) struct ApiRequest<'a> {
    pub(super) method: &'a Method,
    pub(super) query: &'a BTreeMap<String, String>,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: &'a [u8],
}

impl ApiRequest<'_> {
    pub(super) fn option(&self, name: &str) -> &str {
        self.query.get(name).map_or("", String::as_str)
    }

    fn verb(&self, has_name: bool) -> &'static str {
        match *self.method {
            Method::GET if has_name => "get",
            Method::GET if self.option("watch") == "true" => "watch",
            Method::GET => "list",
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            _ => "delete",
        }
    }

    fn content_type(&self) -> &str {
        let given = self.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        given.unwrap_or("application/json").split(';').next().unwrap_or_default().trim()
    }

    fn object(&self, kind: KubeKind) -> Result<Value, ApiFailure> {
        if self.content_type() != "application/json" {
            let accepted = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
            return Err(ApiFailure::media_type(accepted));
        }
        let name = kind.kind();
        if self.body.is_empty() {
            let message = format!(
                "the object provided is unrecognized (must be of type {name}): couldn't get version/kind; json \
                 parse error: unexpected end of JSON input (<empty>)"
            );
            return Err(ApiFailure::bad_request(message));
        }
        let object: Value =
            serde_json::from_slice(self.body).map_err(|error| ApiFailure::bad_request(error.to_string()))?;
        if object.is_object() && object["metadata"].is_object() {
            return Ok(object);
        }
        Err(ApiFailure::bad_request(format!("the object provided is unrecognized (must be of type {name})")))
    }
}

pub(super) async fn call(
    State(manager): State<Arc<InfrastructureManager>>,
    (method, uri, headers): (Method, Uri, HeaderMap),
    Query(query): Query<BTreeMap<String, String>>,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let Ok(body) = body else { return ApiFailure::too_large(BODY_BYTES_MAX).into_response() };
    let request = ApiRequest { method: &method, query: &query, headers: &headers, body: &body };
    let path = uri.path().strip_prefix(BASE).unwrap_or_default();
    answer(&manager, &request, path).unwrap_or_else(IntoResponse::into_response)
}

fn answer(
    manager: &Arc<InfrastructureManager>,
    request: &ApiRequest<'_>,
    path: &str,
) -> Result<Response, ApiFailure> {
    let user = users::authenticate(request.headers)?;
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let Some(ObjectsPath { target, version }) = ObjectsPath::parse(&segments) else {
        return discovery::answer(manager, request, user, &segments);
    };
    let verb = request.verb(!target.name.is_empty());
    users::authorize(user, verb, &target)?;
    if verb == "patch" && manager.outside.faults.stands(ManagerFaultKind::NoPatchRight) {
        return Err(ApiFailure::forbidden(user, verb, &target));
    }
    let kind = KubeKind::find(target.group, version, target.plural).ok_or_else(ApiFailure::not_installed)?;
    if !matches!(target.subresource, "" | "status") || (target.subresource == "status" && !kind.has_status())
    {
        return Err(ApiFailure::not_installed());
    }
    let key = ObjectKey::new(kind, target.namespace, target.name);
    match verb {
        "get" => get(manager, &key),
        "list" => list::list(manager, request, kind, target.namespace),
        "watch" => watch::watch(manager, request, kind, target.namespace),
        "delete" => {
            let options = DeleteOptions::read(request.body, request.query)?;
            let now = manager.clock.now();
            let deleted = write_with(manager, &key, |state| delete(&mut state.store, &key, &options, now))?;
            Ok(Json(deleted).into_response())
        }
        _ => {
            let part = if target.subresource == "status" { "status" } else { "spec" };
            write(manager, request, &key, part)
        }
    }
}

fn get(manager: &InfrastructureManager, key: &ObjectKey) -> Result<Response, ApiFailure> {
    let mut state = manager.settled();
    let object = state.store.get(key).ok_or_else(|| ApiFailure::not_found(key.kind, &key.name))?;
    state.controller.seen(key);
    drop(state);
    if key.kind == KubeKind::Secret {
        let rotating = &[ManagerFaultKind::KubeconfigRotating];
        if manager.outside.faults.next_for(rotating, None, &object).is_some() {
            let mut object = Value::clone(&object);
            if let Some(fields) = object.as_object_mut() {
                fields.remove("data");
            }
            return Ok(Json(object).into_response());
        }
    }
    Ok(Json(&*object).into_response())
}

fn write(
    manager: &InfrastructureManager,
    request: &ApiRequest<'_>,
    key: &ObjectKey,
    part: &'static str,
) -> Result<Response, ApiFailure> {
    let options = WriteOptions {
        is_dry_run: request.option("dryRun") == "All",
        is_strict: request.option("fieldValidation") == "Strict",
        part,
        is_older: manager.outside.faults.stands(ManagerFaultKind::OlderDefinition),
        now: manager.clock.now(),
    };
    let (status, written) = match *request.method {
        Method::POST => {
            if !namespace_exists(&key.namespace) {
                return Err(ApiFailure::no_namespace(&key.namespace));
            }
            let object = request.object(key.kind)?;
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            let key = ObjectKey::new(key.kind, &key.namespace, name);
            let create = |state: &mut ManagerState| {
                write::create(&mut state.store, key.kind, &key.namespace, object.clone(), options)
            };
            (StatusCode::CREATED, write_with(manager, &key, create)?)
        }
        Method::PUT => {
            let object = request.object(key.kind)?;
            let has_version = object["metadata"]["resourceVersion"].is_string();
            interfere(manager, key, has_version);
            let replace =
                |state: &mut ManagerState| write::replace(&mut state.store, key, object.clone(), options);
            (StatusCode::OK, write_with(manager, key, replace)?)
        }
        _ => {
            if request.content_type() != MERGE_PATCH {
                return Err(ApiFailure::media_type(
                    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
                ));
            }
            let changes: Value = serde_json::from_slice(request.body)
                .map_err(|error| ApiFailure::bad_request(error.to_string()))?;
            interfere(manager, key, changes["metadata"]["resourceVersion"].is_string());
            let patch = |state: &mut ManagerState| write::patch(&mut state.store, key, &changes, options);
            (StatusCode::OK, write_with(manager, key, patch)?)
        }
    };
    let mut response = (status, Json(&*written.object)).into_response();
    for field in written.dropped {
        if let Ok(warning) = HeaderValue::from_str(&format!("299 - \"unknown field \\\"{field}\\\"\"")) {
            response.headers_mut().append(header::WARNING, warning);
        }
    }
    Ok(response)
}

/// Does a write, and lets the controllers know of what it changed.
fn write_with<T>(
    manager: &InfrastructureManager,
    key: &ObjectKey,
    work: impl FnOnce(&mut ManagerState) -> Result<T, ApiFailure>,
) -> Result<T, ApiFailure> {
    let mut state = manager.settled();
    let before = state.store.get(key);
    let done = work(&mut state)?;
    let after = state.store.get(key);
    if let Some(after) =
        after.filter(|after| before.as_ref().is_none_or(|before| !Arc::ptr_eq(before, after)))
    {
        let now = manager.clock.now();
        state.controller.changed(&manager.outside, key, before.as_deref(), &after, now);
    }
    manager.announce(&state.store);
    Ok(done)
}

/// Another writer is a little faster than a caller that names a version.
fn interfere(manager: &InfrastructureManager, key: &ObjectKey, has_version: bool) {
    let mut state = manager.settled();
    let Some(found) = state.store.get(key).filter(|_| has_version) else { return };
    if manager.outside.faults.next_for(&[ManagerFaultKind::OtherWriter], None, &found).is_some() {
        let mut object = Value::clone(&found);
        let version = found["metadata"]["resourceVersion"].clone();
        if !object["metadata"]["annotations"].is_object() {
            object["metadata"]["annotations"] = json!({});
        }
        object["metadata"]["annotations"]["example.com/other-writer"] = version;
        state.store.put(key, object);
    }
}

fn namespace_exists(name: &str) -> bool {
    ["default", "kcp-system", "kyma-system"].contains(&name) || name.starts_with("garden-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_kubernetes() {
        let parse = |path: &'static str| {
            let segments: Vec<&str> = path.split('/').collect();
            ObjectsPath::parse(&segments)
                .map(|found| format!("{:?}", (found.version, found.target.plural, found.target.subresource)))
        };
        let expect = |text: &str| Some(text.to_owned());
        assert_eq!(parse("api/v1/namespaces/a/secrets/x"), expect(r#"("v1", "secrets", "")"#));
        assert_eq!(
            parse("apis/g/v2/namespaces/a/runtimes/x/status"),
            expect(r#"("v2", "runtimes", "status")"#)
        );
        assert_eq!(parse("apis/g/v2"), None);
    }
}
