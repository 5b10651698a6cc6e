//! The flavours that a caller can ask for: those whose service templates the caller may use.

use std::collections::BTreeSet;

use opennebula::{NebulaCredentials, ServiceTemplate};

use super::choose::service_templates;
use super::function::FunctionRole;
use super::runtime_error::RuntimeError;
use super::settings::{Serverless, ServerlessSettings};

/// Names for either role, in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Flavours {
    pub(crate) faas: BTreeSet<String>,
    pub(crate) daas: BTreeSet<String>,
}

pub(crate) async fn flavours(
    serverless: &Serverless,
    credentials: &NebulaCredentials,
) -> Result<Flavours, RuntimeError> {
    let templates = service_templates(serverless, credentials).await?;
    Ok(of(&serverless.settings, &templates))
}

/// A template with data is named after both flavours, as in `Function-Data`.
fn of(settings: &ServerlessSettings, templates: &[ServiceTemplate]) -> Flavours {
    let mut found = Flavours::default();
    for template in templates {
        let has = |role: FunctionRole| template.roles.iter().any(|one| one.name == role.as_str());
        for name in names(settings, template) {
            match name.split_once('-').filter(|_| has(FunctionRole::Daas)) {
                Some((faas, daas)) => {
                    found.faas.insert(faas.to_owned());
                    found.daas.insert(daas.to_owned());
                }
                None if has(FunctionRole::Faas) => {
                    found.faas.insert(name.to_owned());
                }
                None => {}
            }
        }
    }
    found
}

/// Under which flavours a template is found.
fn names<'a>(settings: &'a ServerlessSettings, template: &'a ServiceTemplate) -> Vec<&'a str> {
    let Some(mapping) = &settings.mapping else { return vec![&template.name] };
    let mapped = mapping.iter().filter(|(_, id)| **id == template.id).map(|(name, _)| name.as_str());
    let by_name = settings.mapping_falls_back && !mapping.contains_key(&template.name);
    mapped.chain(by_name.then_some(template.name.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use opennebula::{Dialect, TemplateRole};

    use super::*;

    fn template(id: i32, name: &str, roles: &[&str]) -> ServiceTemplate {
        let role = |name: &&str| TemplateRole {
            name: (*name).into(),
            vm_template: Some(0),
            dialect: Dialect::Six,
            cardinality: 1,
            parents: Vec::new(),
        };
        ServiceTemplate {
            id,
            uid: 0,
            gid: 0,
            uname: "oneadmin".into(),
            gname: "oneadmin".into(),
            name: name.into(),
            deployment: "straight".into(),
            roles: roles.iter().map(role).collect(),
        }
    }

    #[test]
    fn flavours_are_found_as_a_creation_finds_them() {
        let templates = [
            template(1, "Function", &["FAAS"]),
            template(2, "Function-Data", &["FAAS", "DAAS"]),
            template(3, "nature-cold", &["FAAS"]),
            template(4, "something else", &["web"]),
        ];
        let shown = |settings: &ServerlessSettings| {
            let Flavours { faas, daas } = of(settings, &templates);
            (faas.into_iter().collect::<Vec<_>>(), daas.into_iter().collect::<Vec<_>>())
        };
        let texts = |all: &[&str]| all.iter().map(|&one| one.to_owned()).collect::<Vec<_>>();
        let by_name = ServerlessSettings::default();
        assert_eq!(shown(&by_name), (texts(&["Function", "nature-cold"]), texts(&["Data"])));
        let mapping = [("small".to_owned(), 1), ("gone".to_owned(), 9)].into();
        let mapped = ServerlessSettings { mapping: Some(mapping), ..ServerlessSettings::default() };
        assert_eq!(shown(&mapped), (texts(&["small"]), texts(&[])));
        let falls_back = ServerlessSettings { mapping_falls_back: true, ..mapped };
        assert_eq!(shown(&falls_back), (texts(&["Function", "nature-cold", "small"]), texts(&["Data"])));
    }
}
