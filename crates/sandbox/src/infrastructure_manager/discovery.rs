//! What the server says about itself: its version, its resource types, their schemas, and the rights of a caller.

use axum::Json;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::endpoint::ApiRequest;
use super::failure::{ApiFailure, ForbiddenTarget};
use super::faults::ManagerFaultKind;
use super::kinds::{INFRASTRUCTURE_MANAGER, KubeKind};
use super::{InfrastructureManager, schema, users};

pub(super) async fn version() -> Json<Value> {
    Json(json!({"major": "1", "minor": "33", "gitVersion": "v1.33.0", "platform": "linux/amd64"}))
}

/// Every path that is not one of objects.
pub(super) fn answer(
    manager: &InfrastructureManager,
    request: &ApiRequest<'_>,
    user: &str,
    segments: &[&str],
) -> Result<Response, ApiFailure> {
    let is_older = manager.outside.faults.stands(ManagerFaultKind::OlderDefinition);
    match segments {
        ["apis", "authorization.k8s.io", "v1", "selfsubjectaccessreviews"]
            if *request.method == Method::POST =>
        {
            review(manager, request, user)
        }
        ["openapi", "v3", "apis", INFRASTRUCTURE_MANAGER, "v1"] => {
            let schema = schema::of(KubeKind::Runtime, is_older);
            let name = "io.kyma-project.infrastructuremanager.v1.Runtime";
            let body = json!({"openapi": "3.0.0", "components": {"schemas": {name: schema}}});
            Ok(Json(body).into_response())
        }
        ["apis", group @ "apiextensions.k8s.io", "v1", plural @ "customresourcedefinitions", name] => {
            let target = ForbiddenTarget { group, plural, subresource: "", namespace: "", name };
            users::authorize(user, "get", &target)?;
            let kind = KubeKind::ALL.into_iter().find(|kind| kind.qualified_plural() == *name);
            let kind = kind.ok_or_else(ApiFailure::not_installed)?;
            Ok(Json(definition(kind, is_older)).into_response())
        }
        ["apis", group, version] => resources(group, version),
        _ => Err(ApiFailure::not_installed()),
    }
}

fn definition(kind: KubeKind, is_older: bool) -> Value {
    let schema = schema::of(kind, is_older);
    json!({
        "kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1",
        "metadata": {"name": kind.qualified_plural()},
        "spec": {
            "group": kind.group(),
            "names": {"kind": kind.kind(), "plural": kind.plural()},
            "versions": [{
                "name": kind.version(), "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
}

fn resources(group: &str, version: &str) -> Result<Response, ApiFailure> {
    let all = KubeKind::ALL.into_iter().filter(|kind| kind.group() == group && kind.version() == version);
    let mut found = Vec::new();
    for kind in all {
        let verbs = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
        let singular = kind.kind().to_lowercase();
        found.push(json!({
            "name": kind.plural(), "singularName": singular, "namespaced": true, "kind": kind.kind(),
            "verbs": verbs,
        }));
        if kind.has_status() {
            found.push(json!({
                "name": format!("{}/status", kind.plural()), "singularName": "", "namespaced": true,
                "kind": kind.kind(), "verbs": ["get", "patch", "update"],
            }));
        }
    }
    if found.is_empty() {
        return Err(ApiFailure::not_installed());
    }
    let body = json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": format!("{group}/{version}"),
        "resources": found,
    });
    Ok(Json(body).into_response())
}

/// May I do this?
fn review(
    manager: &InfrastructureManager,
    request: &ApiRequest<'_>,
    user: &str,
) -> Result<Response, ApiFailure> {
    let mut body: Value =
        serde_json::from_slice(request.body).map_err(|error| ApiFailure::bad_request(error.to_string()))?;
    let attributes = &body["spec"]["resourceAttributes"];
    let text = |name: &str| attributes[name].as_str().unwrap_or_default();
    let (group, plural, namespace) = (text("group"), text("resource"), text("namespace"));
    let target = ForbiddenTarget { group, plural, subresource: text("subresource"), namespace, name: "" };
    let verb = text("verb");
    let is_withheld = verb == "patch" && manager.outside.faults.stands(ManagerFaultKind::NoPatchRight);
    let allowed = !is_withheld && users::authorize(user, verb, &target).is_ok();
    body["status"] = json!({ "allowed": allowed });
    Ok((StatusCode::CREATED, Json(body)).into_response())
}
