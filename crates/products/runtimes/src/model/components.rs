//! The components of Kyma, in the order in which they are installed.

use std::collections::BTreeSet;

use serde::Deserialize;

/// One part of Kyma.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    pub name: String,
    pub namespace: String,
    #[serde(default)]
    pub source_url: Option<String>,
    /// Installed only when a request names it.
    #[serde(default)]
    pub optional: bool,
}

/// All of them. The order is the order of installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Components(Vec<Component>);

const FILE_BYTES_MAX: usize = 1024 * 1024;
/// Without it no Provisioner makes a runtime.
const AGENT: &str = "compass-runtime-agent";

impl Components {
    /// # Panics
    /// Never: a test reads it.
    pub fn built_in() -> Components {
        Components::parse(include_str!("components.yaml")).expect("the built-in components are tested")
    }

    pub fn parse(text: &str) -> Result<Components, String> {
        if text.len() > FILE_BYTES_MAX {
            return Err(format!("a list of components has at most {FILE_BYTES_MAX} bytes"));
        }
        let list: Vec<Component> = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        let mut names = BTreeSet::new();
        if let Some(twice) = list.iter().find(|component| !names.insert(component.name.to_lowercase())) {
            return Err(format!("component {} is listed twice", twice.name));
        }
        if !list.iter().any(|component| component.name == AGENT && !component.optional) {
            return Err(format!("the component {AGENT} is missing"));
        }
        Ok(Components(list))
    }

    /// What a request gets: everything that is not optional, and what it names. Case does not matter.
    pub fn wanted(&self, asked: &[String]) -> impl Iterator<Item = &Component> {
        let asked: BTreeSet<String> = asked.iter().map(|name| name.to_lowercase()).collect();
        self.0.iter().filter(move |one| !one.optional || asked.contains(&one.name.to_lowercase()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_optional_component_comes_only_when_it_is_named() {
        let components = Components::built_in();
        let names = |asked: &[String]| -> Vec<String> {
            components.wanted(asked).map(|component| component.name.clone()).collect()
        };
        assert!(names(&[]).contains(&AGENT.to_owned()));
        assert!(!names(&[]).contains(&"kiali".to_owned()));
        assert!(names(&["Kiali".into()]).contains(&"kiali".to_owned()));
    }

    #[test]
    fn a_list_that_cannot_work_is_refused() {
        for (text, part) in [
            ("[]", "compass-runtime-agent"),
            ("[{name: a, namespace: n}, {name: A, namespace: n}]", "twice"),
            ("[{name: a}]", "namespace"),
        ] {
            let error = Components::parse(text).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
