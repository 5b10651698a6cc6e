//! The objects of one cluster.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use uuid::Uuid;

use super::status::StatusFailure;

const OBJECTS_MAX: usize = 1000;
/// So long the server remembers that a token was good.
const TOKENS_REMEMBERED: Duration = Duration::from_secs(10);
const NAME_CHARS_MAX: usize = 253;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Resource {
    ServiceAccount,
    ConfigMap,
    Secret,
    ClusterRoleBinding,
}

impl Resource {
    pub(super) fn in_namespace(plural: &str) -> Option<Self> {
        let namespaced = [Resource::ServiceAccount, Resource::ConfigMap, Resource::Secret];
        namespaced.into_iter().find(|resource| resource.plural() == plural)
    }

    pub(super) fn plural(self) -> &'static str {
        match self {
            Resource::ServiceAccount => "serviceaccounts",
            Resource::ConfigMap => "configmaps",
            Resource::Secret => "secrets",
            Resource::ClusterRoleBinding => "clusterrolebindings.rbac.authorization.k8s.io",
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Resource::ServiceAccount => "ServiceAccount",
            Resource::ConfigMap => "ConfigMap",
            Resource::Secret => "Secret",
            Resource::ClusterRoleBinding => "ClusterRoleBinding",
        }
    }

    fn api_version(self) -> &'static str {
        match self {
            Resource::ClusterRoleBinding => "rbac.authorization.k8s.io/v1",
            _ => "v1",
        }
    }
}

/// Where an object is. What has no namespace has an empty one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ObjectPath {
    pub(super) resource: Resource,
    pub(super) namespace: String,
    pub(super) name: String,
}

#[derive(Debug, Default)]
pub(super) struct Objects {
    by_place: BTreeMap<ObjectPath, Value>,
    /// The service accounts that were deleted a moment ago, by uid.
    deleted: BTreeMap<String, OffsetDateTime>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListQuery {
    #[serde(default)]
    label_selector: String,
    limit: Option<usize>,
    #[serde(rename = "continue")]
    after: Option<String>,
}

impl Objects {
    pub(super) fn create(
        &mut self,
        resource: Resource,
        namespace: &str,
        mut object: Value,
        now: OffsetDateTime,
    ) -> Result<(ObjectPath, Value), StatusFailure> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        if !is_name(&name) {
            let message = "metadata.name must be lower case letters, digits, '-' and '.', and begin and end \
                           with a letter or a digit";
            return Err(StatusFailure::invalid(message));
        }
        let place = ObjectPath { resource, namespace: namespace.to_owned(), name };
        if self.by_place.contains_key(&place) {
            return Err(StatusFailure::already_exists(resource.plural(), &place.name));
        }
        if self.by_place.len() >= OBJECTS_MAX {
            return Err(StatusFailure::forbidden(format!("a cluster has at most {OBJECTS_MAX} objects")));
        }
        complete(resource, &mut object)?;
        object["kind"] = json!(resource.kind());
        object["apiVersion"] = json!(resource.api_version());
        let metadata = &mut object["metadata"];
        if !namespace.is_empty() {
            metadata["namespace"] = json!(namespace);
        }
        metadata["uid"] = json!(Uuid::now_v7());
        metadata["creationTimestamp"] = json!(now.format(&Rfc3339).unwrap_or_default());
        self.by_place.insert(place.clone(), object.clone());
        Ok((place, object))
    }

    pub(super) fn get(&self, place: &ObjectPath) -> Result<&Value, StatusFailure> {
        self.by_place.get(place).ok_or_else(|| StatusFailure::not_found(place.resource.plural(), &place.name))
    }

    pub(super) fn delete(&mut self, place: &ObjectPath, now: OffsetDateTime) -> Result<Value, StatusFailure> {
        let found = self.by_place.remove(place);
        let object = found.ok_or_else(|| StatusFailure::not_found(place.resource.plural(), &place.name))?;
        self.deleted.retain(|_, at| now - *at < TOKENS_REMEMBERED);
        if let (Resource::ServiceAccount, Some(uid)) = (place.resource, object["metadata"]["uid"].as_str()) {
            self.deleted.insert(uid.to_owned(), now);
        }
        Ok(object)
    }

    /// Whether the service account with this uid exists, or did so a moment ago.
    pub(super) fn takes_tokens_of(&self, uid: &str, now: OffsetDateTime) -> bool {
        let is_remembered = self.deleted.get(uid).is_some_and(|at| now - *at < TOKENS_REMEMBERED);
        is_remembered
            || self.by_place.iter().any(|(place, object)| {
                place.resource == Resource::ServiceAccount && object["metadata"]["uid"] == uid
            })
    }

    pub(super) fn list(
        &self,
        resource: Resource,
        namespace: &str,
        query: &ListQuery,
    ) -> Result<Value, StatusFailure> {
        let terms = selector(&query.label_selector)?;
        let name = query.after.clone().unwrap_or_default();
        let from = ObjectPath { resource, namespace: namespace.to_owned(), name };
        let mut found = self
            .by_place
            .range((Bound::Excluded(from), Bound::Unbounded))
            .take_while(|(place, _)| place.resource == resource && place.namespace == namespace)
            .filter(|(_, object)| terms.iter().all(|term| term.is_met_by(&object["metadata"]["labels"])));
        let limit = query.limit.filter(|limit| *limit > 0).unwrap_or(OBJECTS_MAX);
        let page: Vec<(&ObjectPath, &Value)> = found.by_ref().take(limit).collect();
        let mut metadata = json!({"resourceVersion": "1"});
        if let (Some((last, _)), Some(_)) = (page.last(), found.next()) {
            metadata["continue"] = json!(last.name);
        }
        Ok(json!({
            "kind": format!("{}List", resource.kind()),
            "apiVersion": resource.api_version(),
            "metadata": metadata,
            "items": page.into_iter().map(|(_, object)| object).collect::<Vec<_>>(),
        }))
    }

    pub(super) fn is_bound(&self, namespace: &str, service_account: &str) -> bool {
        let is_meant = |subject: &Value| {
            subject["kind"] == "ServiceAccount"
                && subject["namespace"] == namespace
                && subject["name"] == service_account
        };
        self.by_place
            .iter()
            .filter(|(place, _)| place.resource == Resource::ClusterRoleBinding)
            .any(|(_, binding)| binding["subjects"].as_array().into_iter().flatten().any(is_meant))
    }

    pub(super) fn service_accounts(&self) -> impl Iterator<Item = &ObjectPath> {
        self.by_place.keys().filter(|place| place.resource == Resource::ServiceAccount)
    }
}

/// Checks what belongs to the kind of an object, and fills in what the real API fills in.
fn complete(resource: Resource, object: &mut Value) -> Result<(), StatusFailure> {
    let is_text_map = |value: &Value| match value {
        Value::Null => true,
        Value::Object(fields) => fields.values().all(Value::is_string),
        _ => false,
    };
    if !is_text_map(&object["metadata"]["labels"]) {
        return Err(StatusFailure::bad_request("metadata.labels must be a map of texts"));
    }
    match resource {
        Resource::ServiceAccount => {}
        Resource::ConfigMap => {
            if !is_text_map(&object["data"]) {
                return Err(StatusFailure::bad_request("data must be a map of texts"));
            }
        }
        Resource::Secret => {
            let plain = object["stringData"].take();
            if !is_text_map(&plain) || !is_text_map(&object["data"]) {
                return Err(StatusFailure::bad_request("data and stringData must be maps of texts"));
            }
            for (key, text) in plain.as_object().into_iter().flatten() {
                object["data"][key] = json!(STANDARD.encode(text.as_str().unwrap_or_default()));
            }
            let is_base64 = |text: &Value| STANDARD.decode(text.as_str().unwrap_or_default()).is_ok();
            if !object["data"].as_object().is_none_or(|data| data.values().all(is_base64)) {
                return Err(StatusFailure::bad_request(
                    "data must be in base64; use stringData for plain text",
                ));
            }
            if let Some(fields) = object.as_object_mut() {
                fields.remove("stringData");
            }
        }
        Resource::ClusterRoleBinding => {
            if object["roleRef"]["name"].as_str().is_none_or(str::is_empty) {
                return Err(StatusFailure::invalid("roleRef.name is required"));
            }
        }
    }
    Ok(())
}

fn is_name(name: &str) -> bool {
    let is_edge =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let is_inside =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    let bytes = name.as_bytes();
    name.len() <= NAME_CHARS_MAX
        && is_edge(bytes.first())
        && is_edge(bytes.last())
        && bytes.iter().all(|byte| is_inside(*byte))
}

struct Term<'a> {
    key: &'a str,
    value: &'a str,
    is_equal: bool,
}

impl Term<'_> {
    fn is_met_by(&self, labels: &Value) -> bool {
        (labels[self.key] == self.value) == self.is_equal
    }
}

fn selector(text: &str) -> Result<Vec<Term<'_>>, StatusFailure> {
    let term = |text| {
        let (key, operator, value) = split(text)?;
        let is_plain = |text: &str| !text.contains(['=', '!', ' ', '(', ')']);
        (!key.is_empty() && is_plain(key) && is_plain(value)).then_some(Term {
            key,
            value,
            is_equal: operator != "!=",
        })
    };
    let terms: Option<Vec<Term<'_>>> = text.split(',').filter(|term| !term.is_empty()).map(term).collect();
    terms.ok_or_else(|| {
        StatusFailure::bad_request(format!("labelSelector {text:?} is not a list of key=value or key!=value"))
    })
}

fn split(term: &str) -> Option<(&str, &str, &str)> {
    let (operator, (key, value)) =
        ["!=", "==", "="].into_iter().find_map(|operator| Some((operator, term.split_once(operator)?)))?;
    Some((key.trim(), operator, value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_lists_of_equalities() {
        let labels = json!({"a": "1", "b": "2"});
        let is_met =
            |text: &str| selector(text).map(|terms| terms.iter().all(|term| term.is_met_by(&labels))).ok();
        let cases = [
            ("", Some(true)),
            ("a=1", Some(true)),
            ("a==1,b=2", Some(true)),
            ("a=1,b=1", Some(false)),
            ("b!=1", Some(true)),
            ("c!=1", Some(true)),
            ("c=1", Some(false)),
            ("a", None),
            ("=1", None),
            ("a in (1)", None),
            ("a=1=2", None),
        ];
        for (text, expected) in cases {
            assert_eq!(is_met(text), expected, "{text:?}");
        }
    }

    #[test]
    fn names_are_checked() {
        for name in ["a", "a-b.c", "9"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "-a", "a-", "A", "a/b", "a_b", &"a".repeat(254)] {
            assert!(!is_name(name), "{name}");
        }
    }
}
