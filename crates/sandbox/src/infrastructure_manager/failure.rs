//! How a Kubernetes API server says no: with an object of kind `Status`, or with a line of text.

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::kinds::KubeKind;

/// One field that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FieldCause {
    pub(super) field: String,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl FieldCause {
    pub(super) fn required(field: impl Into<String>) -> FieldCause {
        let reason = "FieldValueRequired";
        FieldCause { field: field.into(), reason, message: "Required value".to_owned() }
    }

    pub(super) fn invalid(field: impl Into<String>, message: impl Into<String>) -> FieldCause {
        let message = format!("Invalid value: {}", message.into());
        FieldCause { field: field.into(), reason: "FieldValueInvalid", message }
    }
}

#[derive(Debug)]
pub(super) struct ApiFailure {
    code: u16,
    reason: &'static str,
    message: String,
    details: Value,
}

impl ApiFailure {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> ApiFailure {
        ApiFailure { code, reason, message: message.into(), details: Value::Null }
    }

    fn about(mut self, kind: &str, group: &str, name: &str) -> ApiFailure {
        let mut details = json!({ "kind": kind });
        for (field, value) in [("group", group), ("name", name)] {
            if !value.is_empty() {
                details[field] = json!(value);
            }
        }
        self.details = details;
        self
    }

    pub(super) fn unauthorized() -> ApiFailure {
        ApiFailure::new(401, "Unauthorized", "Unauthorized")
    }

    /// The resource type is not installed, which says nothing about an object.
    pub(super) fn not_installed() -> ApiFailure {
        ApiFailure::new(404, "", "404 page not found\n")
    }

    pub(super) fn not_found(kind: KubeKind, name: &str) -> ApiFailure {
        let message = format!("{} {name:?} not found", kind.qualified_plural());
        ApiFailure::new(404, "NotFound", message).about(kind.plural(), kind.group(), name)
    }

    pub(super) fn no_namespace(name: &str) -> ApiFailure {
        let message = format!("namespaces {name:?} not found");
        ApiFailure::new(404, "NotFound", message).about("namespaces", "", name)
    }

    pub(super) fn already_exists(kind: KubeKind, name: &str, is_being_deleted: bool) -> ApiFailure {
        let before = if is_being_deleted { "object is being deleted: " } else { "" };
        let message = format!("{before}{} {name:?} already exists", kind.qualified_plural());
        ApiFailure::new(409, "AlreadyExists", message).about(kind.plural(), kind.group(), name)
    }

    pub(super) fn conflict(kind: KubeKind, name: &str, why: &str) -> ApiFailure {
        let message = format!("Operation cannot be fulfilled on {} {name:?}: {why}", kind.qualified_plural());
        ApiFailure::new(409, "Conflict", message).about(kind.plural(), kind.group(), name)
    }

    pub(super) fn modified(kind: KubeKind, name: &str) -> ApiFailure {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        ApiFailure::conflict(kind, name, why)
    }

    /// The precondition of a deletion is not met. Here the server names the kind and not the plural.
    pub(super) fn precondition(kind: KubeKind, name: &str, why: &str) -> ApiFailure {
        let message = format!("Operation cannot be fulfilled on {} {name:?}: {why}", kind.qualified_kind());
        ApiFailure::new(409, "Conflict", message).about(kind.kind(), kind.group(), name)
    }

    pub(super) fn bad_request(message: impl Into<String>) -> ApiFailure {
        ApiFailure::new(400, "BadRequest", message)
    }

    pub(super) fn invalid(kind: KubeKind, name: &str, causes: &[FieldCause]) -> ApiFailure {
        ApiFailure::invalid_as(kind.kind(), kind.group(), name, causes)
    }

    pub(super) fn invalid_as(kind: &str, group: &str, name: &str, causes: &[FieldCause]) -> ApiFailure {
        let told = |cause: &FieldCause| format!("{}: {}", cause.field, cause.message);
        let mut distinct: Vec<String> = causes.iter().map(told).collect();
        distinct.dedup();
        let why = match distinct.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        let mut failure = ApiFailure::new(422, "Invalid", format!("{qualified} {name:?} is invalid: {why}"))
            .about(kind, group, name);
        let causes = causes
            .iter()
            .map(|cause| json!({"reason": cause.reason, "message": cause.message, "field": cause.field}));
        failure.details["causes"] = causes.collect();
        failure
    }

    /// A patch that gives something that cannot be read: the answer quotes the whole object.
    pub(super) fn unreadable_patch(object: &Value, why: &str) -> ApiFailure {
        let message = format!("Invalid value: {:?}: {why}", object.to_string());
        let causes =
            [FieldCause { field: "patch".to_owned(), reason: "FieldValueInvalid", message: message.clone() }];
        let mut failure = ApiFailure::invalid_as("", "", "", &causes);
        failure.message = format!(" \"\" is invalid: patch: {message}");
        failure
    }

    pub(super) fn forbidden(user: &str, verb: &str, target: &ForbiddenTarget<'_>) -> ApiFailure {
        let ForbiddenTarget { group, plural, subresource, namespace, name } = *target;
        let qualified = if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") };
        let object = if name.is_empty() { String::new() } else { format!(" {name:?}") };
        let resource =
            if subresource.is_empty() { plural.to_owned() } else { format!("{plural}/{subresource}") };
        let message = format!(
            "{qualified}{object} is forbidden: User {user:?} cannot {verb} resource {resource:?} in API group \
             {group:?} in the namespace {namespace:?}"
        );
        ApiFailure::new(403, "Forbidden", message).about(plural, group, name)
    }

    pub(super) fn internal(message: impl Into<String>) -> ApiFailure {
        ApiFailure { code: 500, reason: "-", message: message.into(), details: Value::Null }
    }

    pub(super) fn media_type(accepted: &str) -> ApiFailure {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {accepted}"
        );
        ApiFailure::new(415, "UnsupportedMediaType", message)
    }

    pub(super) fn too_large(limit: usize) -> ApiFailure {
        ApiFailure::new(413, "RequestEntityTooLarge", format!("Request entity too large: limit is {limit}"))
    }

    /// The line of a watch that begins too far back.
    pub(super) fn too_old(version: u64, oldest: u64) -> Value {
        ApiFailure::new(410, "Expired", format!("too old resource version: {version} ({oldest})")).body()
    }

    fn body(self) -> Value {
        let mut body = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": self.message,
            "code": self.code,
        });
        if self.reason != "-" {
            body["reason"] = json!(self.reason);
        }
        if !self.details.is_null() {
            body["details"] = self.details;
        }
        body
    }
}

/// What a caller has no right to.
#[derive(Debug, Clone, Copy)]
pub(super) struct ForbiddenTarget<'a> {
    pub(super) group: &'a str,
    pub(super) plural: &'a str,
    pub(super) subresource: &'a str,
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
}

impl IntoResponse for ApiFailure {
    fn into_response(self) -> Response {
        let code = StatusCode::from_u16(self.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if self.reason.is_empty() {
            let text = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
            return (code, text, self.message).into_response();
        }
        (code, Json(self.body())).into_response()
    }
}
