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
    let subnet = parameters.subnet.as_deref();
    field_errors.extend(subnet.and_then(|text| chosen("subnet", names.subnet.as_ref(), text, no_choice)));
    let most = names.security_groups_max;
    if most > 0 && parameters.security_groups.len() > most {
        let message = format!("must be at most {most}");
        field_errors.push(Flaw::new("security_groups", message).hint("put the rules into fewer groups"));
    }
    let group = names.security_group.as_ref();
    let mut groups = parameters.security_groups.iter();
    field_errors.extend(groups.find_map(|text| chosen("security_groups", group, text, no_choice)));
    let resource_group = parameters.resource_group.as_deref();
    field_errors.extend(resource_group.and_then(|text| {
        let none = || format!("must be left out: {provider} has no resource groups");
        chosen("resource_group", names.resource_group.as_ref(), text, none)
    }));
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
