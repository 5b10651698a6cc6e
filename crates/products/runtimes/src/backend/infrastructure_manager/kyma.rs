//! The Kyma resource of a runtime, made from the template of the configuration.

use std::collections::BTreeMap;

use infrastructure_manager::KymaResource;
use serde_json::{Value, json};

use crate::model::parameters::{Module, Modules};
use crate::model::settings::KymaTemplate;

/// The labels of the runtime come over those of the template.
pub(super) fn resource(
    template: &KymaTemplate,
    modules: Option<&Modules>,
    labels: BTreeMap<String, String>,
    name: &str,
) -> KymaResource {
    let mut all = template.labels.clone();
    all.extend(labels);
    all.insert("operator.kyma-project.io/managed-by".into(), "lifecycle-manager".into());
    KymaResource {
        name: name.to_owned(),
        labels: all,
        annotations: template.annotations.clone(),
        spec: spec(template, modules),
    }
}

/// A list of modules takes the place of that of the template.
fn spec(template: &KymaTemplate, modules: Option<&Modules>) -> Value {
    let mut spec = template.spec.clone();
    let Some(modules) = modules else { return spec };
    if let Some(channel) = &modules.channel {
        spec["channel"] = json!(channel);
    }
    let list = modules.list.as_deref().or_else(|| (modules.default == Some(false)).then_some(&[]));
    if let Some(list) = list {
        spec["modules"] = list.iter().map(module).collect();
    }
    spec
}

fn module(module: &Module) -> Value {
    let mut fields = json!({"name": module.name});
    if let Some(channel) = &module.channel {
        fields["channel"] = json!(channel);
    }
    if let Some(policy) = &module.custom_resource_policy {
        fields["customResourcePolicy"] = json!(policy);
    }
    fields
}

impl KymaTemplate {
    /// A Kyma resource in YAML: its labels, annotations and spec are taken.
    pub(crate) fn parse(text: &str) -> Result<KymaTemplate, String> {
        if text.len() > KymaTemplate::BYTES_MAX {
            return Err(format!("a template has at most {} bytes", KymaTemplate::BYTES_MAX));
        }
        let object: Value = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        let spec = &object["spec"];
        if object["kind"] != "Kyma" || !spec["channel"].is_string() {
            return Err("expected a resource of kind Kyma with spec.channel".into());
        }
        let texts = |value: &Value| -> Result<BTreeMap<String, String>, String> {
            if value.is_null() {
                return Ok(BTreeMap::new());
            }
            serde_json::from_value(value.clone())
                .map_err(|_| "metadata: labels and annotations are maps of texts".into())
        };
        Ok(KymaTemplate {
            labels: texts(&object["metadata"]["labels"])?,
            annotations: texts(&object["metadata"]["annotations"])?,
            spec: spec.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_a_kyma_resource_with_a_channel() {
        let good =
            "kind: Kyma\nmetadata: {labels: {a: b}}\nspec: {channel: regular, modules: [{name: istio}]}\n";
        let template = KymaTemplate::parse(good).unwrap();
        let made = resource(&template, None, BTreeMap::from([("c".into(), "d".into())]), "id");
        assert_eq!((made.name.as_str(), made.labels.len()), ("id", 3));
        assert_eq!(made.spec["modules"][0]["name"], "istio");
        for bad in [
            "kind: Pod\nspec: {channel: x}\n",
            "kind: Kyma\n",
            "kind: Kyma\nmetadata: {labels: 3}\nspec: {channel: x}\n",
        ] {
            assert!(KymaTemplate::parse(bad).is_err(), "{bad}");
        }
    }
}
