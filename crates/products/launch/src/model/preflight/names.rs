//! Whether names and ids are written as their cloud writes them.

use cloud::ProviderKind;
use cloud::spec::{Rule, is_id};

use crate::model::api_error::Flaw;
use crate::model::params::LaunchParameters;

/// Whether every text has the form that the cloud knows.
pub(crate) fn check(provider: ProviderKind, parameters: &LaunchParameters) -> Vec<Flaw> {
    let names = &provider.spec().names;
    let mut field_errors = Vec::new();
    if !is_id(&parameters.source_id) {
        field_errors
            .push(Flaw::new("source_id", "is missing or not an id").hint("choose one of your sources"));
    }
    if !is_id(&parameters.region) {
        field_errors.push(Flaw::new("region", "is not the name of a region"));
    }
    if parameters.instance_type.as_deref().is_some_and(|name| !is_id(name)) {
        field_errors.push(Flaw::new("instance_type", "is not the name of an instance type"));
    }
    let name = parameters.name.as_deref().and_then(|text| names.instance.broken_by(text));
    field_errors.extend(name.map(|message| Flaw::new("name", message)));
    let template = parameters.launch_template_id.as_deref();
    field_errors.extend(template.and_then(|text| {
        let none = || format!("must be left out: {provider} has no launch templates");
        chosen("launch_template_id", names.launch_template.as_ref(), text, none)
    }));
    let no_choice = || format!("must be left out: it cannot be chosen at {provider}");
    for name in ProviderKind::parameter_names() {
        let spec = provider.spec().parameters.iter().find(|one| one.name == name);
        let values = parameters.values(name);
        if let Some(most) = spec.and_then(|one| one.values_max).filter(|most| values.len() > *most) {
            let message = format!("must be at most {most}");
            field_errors.push(Flaw::new(name, message).hint("combine them into fewer"));
        }
        let rule = spec.map(|one| &one.rule);
        field_errors.extend(values.iter().find_map(|text| chosen(name, rule, text, no_choice)));
    }
    field_errors
}

/// An image of the cloud itself.
pub(crate) fn image(provider: ProviderKind, id: &str) -> Option<Flaw> {
    provider.spec().names.image_id.broken_by(id).map(|message| Flaw::new("image_id", message))
}

/// A value that only some clouds know.
fn chosen(field: &str, rule: Option<&Rule>, text: &str, none: impl Fn() -> String) -> Option<Flaw> {
    match rule {
        Some(rule) => rule.broken_by(text).map(|message| Flaw::new(field, message)),
        None => Some(Flaw::new(field, none())),
    }
}
