//! A change as a merge patch, and what a refused one may say.

use serde_json::{Map, Value, json};

use super::resources::Patch;

impl Patch {
    /// The body of a merge patch.
    pub(crate) fn to_json(&self) -> Value {
        let mut metadata = Map::new();
        if let Some(version) = &self.resource_version {
            metadata.insert("resourceVersion".to_owned(), json!(version));
        }
        for (name, entries) in [("labels", &self.labels), ("annotations", &self.annotations)] {
            if !entries.is_empty() {
                metadata.insert(name.to_owned(), json!(entries));
            }
        }
        let mut body = Map::new();
        if !metadata.is_empty() {
            body.insert("metadata".to_owned(), metadata.into());
        }
        if !self.spec.is_null() {
            body.insert("spec".to_owned(), self.spec.clone());
        }
        body.into()
    }
}

/// What can be repeated of a message about a patch. The refusal of a strict server quotes the whole object, and only
/// the names of fields at its end are taken from it.
pub(crate) fn safe_message(message: &str) -> String {
    const QUOTING: &str = "patch: Invalid value:";
    const REASON: &str = "strict decoding error: ";
    if !message.contains(QUOTING) {
        return message.to_owned();
    }
    let tail = message.rfind(REASON).map_or("", |at| &message[at + REASON.len()..]);
    let is_plain = |one: char| one.is_ascii_alphanumeric() || "._-[]/".contains(one);
    let fields = tail.split(", ").filter_map(|part| {
        let name = part.strip_prefix("unknown field ").or_else(|| part.strip_prefix("duplicate field "))?;
        let name = name.trim_matches(['"', '\\']);
        name.chars().all(is_plain).then(|| part.replace(['"', '\\'], ""))
    });
    let fields: Vec<String> = fields.collect();
    if fields.is_empty() {
        "the change does not fit the installed resource definition".to_owned()
    } else {
        format!("the change does not fit the installed resource definition: {}", fields.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_has_only_what_changes() {
        assert_eq!(Patch::default().to_json(), json!({}));
        let patch = Patch {
            resource_version: Some("7".into()),
            labels: [("a".to_owned(), Some("b".to_owned())), ("c".to_owned(), None)].into(),
            annotations: [("d".to_owned(), Some("true".to_owned()))].into(),
            spec: json!({"shoot": {"controlPlane": null}}),
        };
        let expect = json!({
            "metadata": {"resourceVersion": "7", "labels": {"a": "b", "c": null}, "annotations": {"d": "true"}},
            "spec": {"shoot": {"controlPlane": null}},
        });
        assert_eq!(patch.to_json(), expect);
    }

    #[test]
    fn a_refused_patch_names_fields_and_quotes_no_object() {
        let object = r#"{\"jwks\":\"hunter2\",\"note\":\"strict decoding error: unknown field \"}"#;
        let strict = format!(
            r#" "" is invalid: patch: Invalid value: "{object}": strict decoding error: unknown field "spec.shoot.colour", unknown field "spec.a[0].b""#
        );
        assert_eq!(
            safe_message(&strict),
            "the change does not fit the installed resource definition: unknown field spec.shoot.colour, unknown \
             field spec.a[0].b"
        );
        let secret =
            r#" "" is invalid: patch: Invalid value: "{hunter2}": illegal base64 data at input byte 0"#;
        assert_eq!(safe_message(secret), "the change does not fit the installed resource definition");
        let hostile = r#"patch: Invalid value: "strict decoding error: unknown field "hunter2 secret" ""#;
        assert_eq!(safe_message(hostile), "the change does not fit the installed resource definition");
        let ordinary = "is invalid: spec.shoot.region: Required value";
        assert_eq!(safe_message(ordinary), ordinary);
    }
}
