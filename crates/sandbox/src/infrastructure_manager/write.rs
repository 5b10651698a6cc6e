//! What the server does with a write: in which order it checks, and what it keeps.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use uuid::Uuid;

use super::failure::{ApiFailure, FieldCause};
use super::kinds::KubeKind;
use super::schema;
use super::stamp;
use super::store::{ObjectKey, ObjectStore};

const LABEL_CHARS_MAX: usize = 63;
const ANNOTATION_BYTES_MAX: usize = 256 * 1024;
const NAME_RULE: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
    '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

#[derive(Debug, Clone, Copy)]
pub(super) struct WriteOptions {
    pub(super) is_dry_run: bool,
    pub(super) is_strict: bool,
    /// `spec` or `status`: the part that is written.
    pub(super) part: &'static str,
    /// The resource definition of an older installation.
    pub(super) is_older: bool,
    pub(super) now: OffsetDateTime,
}

/// What was written, and which fields were dropped.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) object: Arc<Value>,
    pub(super) dropped: Vec<String>,
}

/// Drops unknown fields, or refuses them.
fn prune(key: &ObjectKey, object: &mut Value, options: WriteOptions) -> Vec<String> {
    if let Some(schema) = schema::of(key.kind, options.is_older) {
        return schema::prune(schema, object);
    }
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    Vec::new()
}

fn strict_error(unknown: &[String]) -> String {
    let fields: Vec<String> = unknown.iter().map(|field| format!("unknown field {field:?}")).collect();
    format!("strict decoding error: {}", fields.join(", "))
}

pub(super) fn create(
    store: &mut ObjectStore,
    kind: KubeKind,
    namespace: &str,
    mut object: Value,
    options: WriteOptions,
) -> Result<Written, ApiFailure> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let key = ObjectKey::new(kind, namespace, &name);
    if kind.has_status()
        && let Some(fields) = object.as_object_mut()
    {
        fields.remove("status");
    }
    let dropped = prune(&key, &mut object, options);
    if options.is_strict && !dropped.is_empty() {
        let (kind, version) = (kind.kind(), kind.version());
        let why = strict_error(&dropped);
        let message = format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}");
        return Err(ApiFailure::bad_request(message));
    }
    let given_version = object["metadata"]["resourceVersion"].is_string();
    complete(kind, &mut object);
    check(&key, &object, options)?;
    if let Some(found) = store.get(&key) {
        let is_being_deleted = found["metadata"].get("deletionTimestamp").is_some();
        return Err(ApiFailure::already_exists(kind, &name, is_being_deleted));
    }
    if given_version && !options.is_dry_run {
        return Err(ApiFailure::internal("resourceVersion should not be set on objects to be created"));
    }
    let mut metadata = writable(&object["metadata"]);
    metadata.insert("name".to_owned(), json!(name));
    metadata.insert("namespace".to_owned(), json!(namespace));
    metadata.insert("uid".to_owned(), json!(Uuid::now_v7()));
    metadata.insert("creationTimestamp".to_owned(), json!(stamp(options.now)));
    if kind.has_generation() {
        metadata.insert("generation".to_owned(), json!(1));
    }
    object["metadata"] = metadata.into();
    object["kind"] = json!(kind.kind());
    object["apiVersion"] = json!(kind.api_version());
    let object = if options.is_dry_run { Arc::new(object) } else { store.put(&key, object) };
    Ok(Written { object, dropped })
}

/// What a client may write of the metadata.
fn writable(metadata: &Value) -> Map<String, Value> {
    let names = ["labels", "annotations", "finalizers", "ownerReferences"];
    let is_there = |value: &Value| match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    let given = names.iter().filter_map(|name| Some((*name, metadata.get(*name)?)));
    given.filter(|(_, value)| is_there(value)).map(|(name, value)| (name.to_owned(), value.clone())).collect()
}

/// Fills in what the server fills in.
fn complete(kind: KubeKind, object: &mut Value) {
    match kind {
        KubeKind::Kyma => {
            let modules = object.pointer_mut("/spec/modules").and_then(Value::as_array_mut);
            for module in modules.into_iter().flatten() {
                if let Some(module) = module.as_object_mut() {
                    module.entry("customResourcePolicy").or_insert(json!("CreateAndDelete"));
                    module.entry("managed").or_insert(json!(true));
                }
            }
        }
        KubeKind::Secret => {
            let plain = object.as_object_mut().and_then(|fields| fields.remove("stringData"));
            for (name, text) in plain.as_ref().and_then(Value::as_object).into_iter().flatten() {
                object["data"][name] = json!(STANDARD.encode(text.as_str().unwrap_or_default()));
            }
            object["type"] = json!("Opaque");
        }
        _ => {}
    }
}

fn check(key: &ObjectKey, object: &Value, options: WriteOptions) -> Result<(), ApiFailure> {
    let metadata = &object["metadata"];
    let mut causes = Vec::new();
    if key.name.is_empty() {
        let message = "Required value: name or generateName is required".to_owned();
        causes.push(FieldCause { field: "metadata.name".into(), reason: "FieldValueRequired", message });
    } else if !is_name(&key.name) {
        causes.push(FieldCause::invalid("metadata.name", format!("{:?}: {NAME_RULE}", key.name)));
    }
    for value in metadata["labels"].as_object().into_iter().flat_map(Map::values).filter_map(Value::as_str) {
        if value.len() > LABEL_CHARS_MAX {
            let why = format!("{value:?}: must be no more than {LABEL_CHARS_MAX} characters");
            causes.push(FieldCause::invalid("metadata.labels", why));
        }
    }
    if metadata["annotations"].to_string().len() > ANNOTATION_BYTES_MAX {
        let message = format!("Too long: may not be more than {ANNOTATION_BYTES_MAX} bytes");
        causes.push(FieldCause {
            field: "metadata.annotations".into(),
            reason: "FieldValueTooLong",
            message,
        });
    }
    if let Some(schema) = schema::of(key.kind, options.is_older) {
        let part = options.part;
        if let Some(value) = object.get(part) {
            causes.extend(schema::check(&schema["properties"][part], part, value));
        }
        causes.extend(repeated_module(key.kind, object));
    }
    if causes.is_empty() { Ok(()) } else { Err(ApiFailure::invalid(key.kind, &key.name, &causes)) }
}

fn repeated_module(kind: KubeKind, object: &Value) -> Option<FieldCause> {
    let modules = object["spec"]["modules"].as_array().filter(|_| kind == KubeKind::Kyma)?;
    let names: Vec<&Value> = modules.iter().map(|module| &module["name"]).collect();
    let at = (1..names.len()).find(|at| names[..*at].contains(&names[*at]))?;
    let message = format!("Duplicate value: map[string]interface {{}}{{\"name\":{}}}", names[at]);
    Some(FieldCause { field: format!("spec.modules[{at}]"), reason: "FieldValueDuplicate", message })
}

fn is_name(name: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(inside) && !label.starts_with('-') && !label.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

/// A PUT of a whole object.
pub(super) fn replace(
    store: &mut ObjectStore,
    key: &ObjectKey,
    mut object: Value,
    options: WriteOptions,
) -> Result<Written, ApiFailure> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (uid, version) = (text(&object["metadata"]["uid"]), text(&object["metadata"]["resourceVersion"]));
    let found = store.get(key);
    let found_uid = found.as_ref().map(|found| text(&found["metadata"]["uid"])).unwrap_or_default();
    if !uid.is_empty() && uid != found_uid {
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: /registry/{}/{}/{}/{}, ResourceVersion: 0, \
             AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {found_uid}",
            key.kind.group(),
            key.kind.plural(),
            key.namespace,
            key.name,
        );
        return Err(ApiFailure::conflict(key.kind, &key.name, &why));
    }
    let Some(found) = found else { return Err(ApiFailure::not_found(key.kind, &key.name)) };
    if version.is_empty() {
        let cause = FieldCause::invalid("metadata.resourceVersion", "0x0: must be specified for an update");
        return Err(ApiFailure::invalid_as(key.kind.plural(), key.kind.group(), &key.name, &[cause]));
    }
    if found["metadata"]["resourceVersion"] != version.as_str() {
        return Err(ApiFailure::modified(key.kind, &key.name));
    }
    let dropped = prune(key, &mut object, options);
    if options.is_strict && !dropped.is_empty() {
        let (kind, version) = (key.kind.kind(), key.kind.version());
        let why = strict_error(&dropped);
        let message = format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}");
        return Err(ApiFailure::bad_request(message));
    }
    let object = change(store, key, &found, object, options)?;
    Ok(Written { object, dropped })
}

/// A merge patch.
pub(super) fn patch(
    store: &mut ObjectStore,
    key: &ObjectKey,
    changes: &Value,
    options: WriteOptions,
) -> Result<Written, ApiFailure> {
    let Some(found) = store.get(key) else { return Err(ApiFailure::not_found(key.kind, &key.name)) };
    let mut object = Value::clone(&found);
    merge(&mut object, changes);
    if object["metadata"]["resourceVersion"] != found["metadata"]["resourceVersion"] {
        return Err(ApiFailure::modified(key.kind, &key.name));
    }
    if object["metadata"]["uid"] != found["metadata"]["uid"] {
        let why = format!("{}: field is immutable", object["metadata"]["uid"]);
        let cause = FieldCause::invalid("metadata.uid", why);
        return Err(ApiFailure::invalid(key.kind, &key.name, &[cause.clone(), cause]));
    }
    let quoted = object.clone();
    let dropped = prune(key, &mut object, options);
    if options.is_strict && !dropped.is_empty() {
        return Err(ApiFailure::unreadable_patch(&quoted, &strict_error(&dropped)));
    }
    let is_base64 = |value: &Value| value.as_str().is_some_and(|text| STANDARD.decode(text).is_ok());
    if key.kind == KubeKind::Secret
        && let Some(data) = object["data"].as_object()
        && !data.values().all(is_base64)
    {
        return Err(ApiFailure::unreadable_patch(&quoted, "illegal base64 data at input byte 0"));
    }
    let object = change(store, key, &found, object, options)?;
    Ok(Written { object, dropped })
}

/// Keeps what this write may change, and gives it a version if it changes something.
fn change(
    store: &mut ObjectStore,
    key: &ObjectKey,
    found: &Arc<Value>,
    mut object: Value,
    options: WriteOptions,
) -> Result<Arc<Value>, ApiFailure> {
    complete(key.kind, &mut object);
    let mut next = Value::clone(found);
    if options.part == "status" {
        set(&mut next, "status", object.get("status"));
    } else {
        let kept = ["metadata", "status", "kind", "apiVersion"];
        if let (Some(fields), Some(given)) = (next.as_object_mut(), object.as_object()) {
            fields.retain(|name, _| kept.contains(&name.as_str()));
            let rest = given.iter().filter(|(name, _)| !kept.contains(&name.as_str()));
            fields.extend(rest.map(|(name, value)| (name.clone(), value.clone())));
        }
        let given = writable(&object["metadata"]);
        for name in ["labels", "annotations", "finalizers", "ownerReferences"] {
            set(&mut next["metadata"], name, given.get(name));
        }
    }
    check(key, &next, options)?;
    check_finalizers(key, found, &next)?;
    if next == **found {
        return Ok(Arc::clone(found));
    }
    if key.kind.has_generation() && next.get("spec") != found.get("spec") {
        let generation = found["metadata"]["generation"].as_i64().unwrap_or_default();
        next["metadata"]["generation"] = json!(generation + 1);
    }
    if options.is_dry_run {
        return Ok(Arc::new(next));
    }
    let is_over =
        next["metadata"].get("deletionTimestamp").is_some() && next["metadata"].get("finalizers").is_none();
    if is_over {
        store.remove(key);
        return Ok(Arc::new(next));
    }
    Ok(store.put(key, next))
}

fn set(owner: &mut Value, name: &str, value: Option<&Value>) {
    let Some(fields) = owner.as_object_mut() else { return };
    match value {
        Some(value) => fields.insert(name.to_owned(), value.clone()),
        None => fields.remove(name),
    };
}

fn check_finalizers(key: &ObjectKey, found: &Value, next: &Value) -> Result<(), ApiFailure> {
    let of = |object: &Value| object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let before = of(found);
    let new: Vec<String> =
        of(next).iter().filter(|one| !before.contains(one)).map(Value::to_string).collect();
    if new.is_empty() || found["metadata"].get("deletionTimestamp").is_none() {
        return Ok(());
    }
    let why = format!(
        "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers \
         []string{{{}}}",
        new.join(", ")
    );
    let cause =
        FieldCause { field: "metadata.finalizers".into(), reason: "FieldValueForbidden", message: why };
    Err(ApiFailure::invalid(key.kind, &key.name, &[cause.clone(), cause]))
}

pub(super) fn merge(into: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *into = patch.clone();
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    let Some(fields) = into.as_object_mut() else { return };
    for (name, change) in changes {
        if change.is_null() {
            fields.remove(name);
        } else {
            merge(fields.entry(name.as_str()).or_insert(Value::Null), change);
        }
    }
}
