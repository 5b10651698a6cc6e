//! Lists, page by page.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use axum::Json;
use axum::response::{IntoResponse, Response};

use super::InfrastructureManager;
use super::endpoint::ApiRequest;
use super::failure::ApiFailure;
use super::kinds::KubeKind;
use super::selector::Selector;
use super::store::ObjectKey;

pub(super) fn list(
    manager: &InfrastructureManager,
    request: &ApiRequest<'_>,
    kind: KubeKind,
    namespace: &str,
) -> Result<Response, ApiFailure> {
    let selector = Selector::parse(request.option("labelSelector"), request.option("fieldSelector"))?;
    let limit = request.option("limit").parse().ok().filter(|limit| *limit > 0).unwrap_or(usize::MAX);
    let after = match request.option("continue") {
        "" => None,
        token => Some(start_of(token)?),
    };
    let mut state = manager.settled();
    let version = state.store.version().to_string();
    let (mut items, mut rest, mut last) = (Vec::new(), 0, String::new());
    if let Some(name) = selector.name() {
        let found = state.store.get(&ObjectKey::new(kind, namespace, name));
        items.extend(found.filter(|object| selector.matches(object)));
    } else {
        for (key, object) in state.store.list(kind, namespace, after.as_deref()) {
            if !selector.matches(object) {
                continue;
            }
            if items.len() < limit {
                items.push(object.clone());
                last.clone_from(&key.name);
            } else {
                rest += 1;
                if !selector.is_empty() {
                    break;
                }
            }
        }
    }
    for object in &items {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        state.controller.seen(&ObjectKey::new(kind, namespace, name));
    }
    drop(state);
    let mut metadata = json!({"continue": "", "resourceVersion": version});
    if rest > 0 {
        metadata["continue"] = json!(token_of(&version, &last));
        if selector.is_empty() {
            metadata["remainingItemCount"] = json!(rest);
        }
    }
    let items: Vec<&Value> = items.iter().map(|object| &**object).collect();
    let body = json!({
        "kind": format!("{}List", kind.kind()), "apiVersion": kind.api_version(), "metadata": metadata,
        "items": items,
    });
    Ok(Json(body).into_response())
}

fn token_of(version: &str, last: &str) -> String {
    let version: u64 = version.parse().unwrap_or_default();
    let token = json!({"v": "meta.k8s.io/v1", "rv": version, "start": format!("{last}\u{0}")});
    URL_SAFE_NO_PAD.encode(token.to_string())
}

fn start_of(token: &str) -> Result<String, ApiFailure> {
    let bytes = URL_SAFE_NO_PAD.decode(token).or_else(|_| STANDARD_NO_PAD.decode(token)).ok();
    let read = bytes.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let start = read.as_ref().and_then(|read| read["start"].as_str());
    let start = start.ok_or_else(|| {
        let why = "invalid character 'i' looking for beginning of value";
        ApiFailure::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
    })?;
    Ok(start.trim_end_matches('\u{0}').to_owned())
}
