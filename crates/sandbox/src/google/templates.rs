//! Instance templates of a project and of a region.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::catalog::LINK;

/// What a client sends to `POST /gcp/templates`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GceTemplate {
    pub(super) project: String,
    /// Of the whole project where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) region: Option<String>,
    pub(super) name: String,
    pub(super) properties: Value,
    #[serde(skip_deserializing)]
    pub(super) id: u64,
}

impl GceTemplate {
    /// As a path behind the project.
    fn home(&self) -> String {
        self.region.as_ref().map_or_else(|| "global".to_owned(), |region| format!("regions/{region}"))
    }

    pub(super) fn is_at(&self, project: &str, region: Option<&str>) -> bool {
        self.project == project && self.region.as_deref() == region
    }

    /// By its name, or by the number that stands for it as well.
    pub(super) fn is(&self, wanted: &str) -> bool {
        self.name == wanted || self.id.to_string() == wanted
    }

    pub(super) fn show(&self) -> Value {
        json!({
            "kind": "compute#instanceTemplate",
            "id": self.id.to_string(),
            "creationTimestamp": "2026-01-01T00:00:00.000-08:00",
            "name": self.name,
            "properties": self.properties,
            "selfLink": format!("{LINK}/projects/{}/{}/instanceTemplates/{}", self.project, self.home(), self.name),
        })
    }
}

/// RFC 7396: objects are merged, everything else is replaced, and null takes away.
pub(super) fn merge(into: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *into = patch.clone();
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    for (name, value) in patch {
        if value.is_null() {
            if let Some(into) = into.as_object_mut() {
                into.remove(name);
            }
        } else {
            merge(&mut into[name.as_str()], value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_replaced_and_objects_merged() {
        let mut properties = json!({"machineType": "a", "labels": {"x": "1"}, "disks": [1, 2], "tags": {}});
        merge(&mut properties, &json!({"labels": {"y": "2"}, "disks": [3], "tags": null}));
        assert_eq!(properties, json!({"machineType": "a", "labels": {"x": "1", "y": "2"}, "disks": [3]}));
    }
}
