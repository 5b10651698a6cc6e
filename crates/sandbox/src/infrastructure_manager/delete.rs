//! Deletions: preconditions, dry runs, and objects that wait for their finalizers.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use time::OffsetDateTime;

use super::failure::{ApiFailure, FieldCause};
use super::stamp;
use super::store::{ObjectKey, ObjectStore};

/// The options of a deletion. With a body those of the URL do not count.
#[derive(Debug, Default)]
pub(super) struct DeleteOptions {
    is_dry_run: bool,
    uid: Option<String>,
    resource_version: Option<String>,
    propagation: Option<String>,
}

impl DeleteOptions {
    pub(super) fn read(body: &[u8], query: &BTreeMap<String, String>) -> Result<DeleteOptions, ApiFailure> {
        if body.is_empty() {
            return Ok(DeleteOptions {
                is_dry_run: query.get("dryRun").is_some_and(|mode| mode == "All"),
                propagation: query.get("propagationPolicy").cloned(),
                ..DeleteOptions::default()
            });
        }
        let body: Value =
            serde_json::from_slice(body).map_err(|error| ApiFailure::bad_request(error.to_string()))?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Ok(DeleteOptions {
            is_dry_run: body["dryRun"].as_array().is_some_and(|modes| modes.contains(&json!("All"))),
            uid: text(&body["preconditions"]["uid"]),
            resource_version: text(&body["preconditions"]["resourceVersion"]),
            propagation: text(&body["propagationPolicy"]),
        })
    }
}

/// The object while it waits, or a `Status` when it is gone.
pub(super) fn delete(
    store: &mut ObjectStore,
    key: &ObjectKey,
    options: &DeleteOptions,
    now: OffsetDateTime,
) -> Result<Value, ApiFailure> {
    if let Some(policy) = &options.propagation
        && !["Foreground", "Background", "Orphan"].contains(&policy.as_str())
    {
        let message = format!(
            "Unsupported value: {policy:?}: supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\""
        );
        let cause =
            FieldCause { field: "propagationPolicy".into(), reason: "FieldValueNotSupported", message };
        return Err(ApiFailure::invalid_as("DeleteOptions", "meta.k8s.io", "", &[cause]));
    }
    let Some(found) = store.get(key) else { return Err(ApiFailure::not_found(key.kind, &key.name)) };
    let metadata = &found["metadata"];
    for (given, field, word, after) in [
        (&options.uid, "uid", "UID", "The object might have been deleted and then recreated"),
        (
            &options.resource_version,
            "resourceVersion",
            "ResourceVersion",
            "The object might have been modified",
        ),
    ] {
        if let Some(given) = given
            && metadata[field] != given.as_str()
        {
            let found = metadata[field].as_str().unwrap_or_default();
            let why = format!(
                "the {word} in the precondition ({given}) does not match the {word} in record ({found}). {after}"
            );
            return Err(ApiFailure::precondition(key.kind, &key.name, &why));
        }
    }
    if metadata.get("deletionTimestamp").is_some() {
        return Ok(Value::clone(&found));
    }
    let mut next = Value::clone(&found);
    if options.propagation.as_deref() == Some("Foreground") {
        match next["metadata"]["finalizers"].as_array_mut() {
            Some(finalizers) => finalizers.push(json!("foregroundDeletion")),
            None => next["metadata"]["finalizers"] = json!(["foregroundDeletion"]),
        }
    }
    if next["metadata"].get("finalizers").is_none() {
        if !options.is_dry_run {
            store.remove(key);
        }
        return Ok(success(key, &metadata["uid"]));
    }
    next["metadata"]["deletionTimestamp"] = json!(stamp(now));
    if key.kind.has_generation() {
        let generation = metadata["generation"].as_i64().unwrap_or_default();
        next["metadata"]["generation"] = json!(generation + 1);
    }
    if options.is_dry_run {
        return Ok(next);
    }
    Ok(Value::clone(&store.put(key, next)))
}

fn success(key: &ObjectKey, uid: &Value) -> Value {
    let mut details = json!({"name": key.name, "kind": key.kind.plural(), "uid": uid});
    if !key.kind.group().is_empty() {
        details["group"] = json!(key.kind.group());
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}
