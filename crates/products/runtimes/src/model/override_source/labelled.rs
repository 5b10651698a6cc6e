//! An object with labels, wherever it was read: what it applies to, and in which order.

use std::collections::BTreeMap;

use super::OverrideSet;
use engine::overrides::Value;

/// Applies to every plan and version.
pub(crate) const FOR_ALL: &str = "provisioning-runtime-override";
/// The same, and only for secrets.
pub(crate) const SECRET_FOR_ALL: &str = "runtime-override";
const PLAN: &str = "overrides-plan-";
const VERSION: &str = "overrides-version-";
const COMPONENT: &str = "component";

/// One object, from a file or from a cluster.
#[derive(Debug, Clone)]
pub(crate) struct Labelled {
    pub(crate) origin: String,
    pub(crate) is_secret: bool,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) entries: BTreeMap<String, Value>,
}

pub(crate) fn plan_label(plan: &str) -> String {
    format!("{PLAN}{plan}")
}

pub(crate) fn version_label(version: &str) -> String {
    format!("{VERSION}{}", version.to_lowercase())
}

impl Labelled {
    /// An object without labels for plans applies to all of them; with some, only where one matches. The same for
    /// versions.
    pub(crate) fn applies(&self, plan: &str, version: &str) -> bool {
        let is_for_all = self.is(FOR_ALL) || (self.is_secret && self.is(SECRET_FOR_ALL));
        let fits = |prefix: &str, wanted: &str| {
            !self.labels.keys().any(|key| key.starts_with(prefix)) || self.is(wanted)
        };
        is_for_all || (fits(PLAN, &plan_label(plan)) && fits(VERSION, &version_label(version)))
    }

    fn is(&self, label: &str) -> bool {
        self.labels.get(label).is_some_and(|value| value == "true")
    }
}

/// Secrets first, then the rest; each in the order in which they come.
pub(crate) fn in_order<'a>(objects: impl IntoIterator<Item = &'a Labelled>) -> Vec<OverrideSet> {
    let (secrets, rest): (Vec<_>, Vec<_>) = objects.into_iter().partition(|object| object.is_secret);
    let set = |object: &Labelled| OverrideSet {
        origin: object.origin.clone(),
        component: object.labels.get(COMPONENT).cloned(),
        entries: object.entries.clone().into_iter().collect(),
    };
    secrets.into_iter().chain(rest).map(set).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Labels = &'static [(&'static str, &'static str)];

    #[test]
    fn labels_of_all_years_decide_what_an_object_applies_to() {
        const AZURE: &str = "overrides-plan-azure";
        const V1: &str = "overrides-version-1.24.8";
        const V2: &str = "overrides-version-pr-7";
        let table: [(bool, Labels, [bool; 3]); 12] = [
            (false, &[], [true, true, true]),
            (false, &[("component", "core")], [true, true, true]),
            (false, &[(FOR_ALL, "true")], [true, true, true]),
            (true, &[(SECRET_FOR_ALL, "true")], [true, true, true]),
            (false, &[(AZURE, "true"), (V1, "true")], [true, false, false]),
            (false, &[(AZURE, "true"), (V2, "true")], [false, true, false]),
            (false, &[(AZURE, "true"), (V1, "true"), (V2, "true")], [true, true, false]),
            (false, &[(AZURE, "true")], [true, true, false]),
            (false, &[(V1, "true")], [true, false, true]),
            (false, &[(AZURE, "false")], [false, false, false]),
            (true, &[(SECRET_FOR_ALL, "true"), (AZURE, "true")], [true, true, true]),
            (false, &[(SECRET_FOR_ALL, "true"), (AZURE, "true")], [true, true, false]),
        ];
        for (is_secret, labels, expected) in table {
            let labels: BTreeMap<_, _> = labels.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
            let object = Labelled { origin: "o".into(), is_secret, labels, entries: BTreeMap::new() };
            let asked = [("azure", "1.24.8"), ("azure", "PR-7"), ("gcp", "1.24.8")];
            let found = asked.map(|(plan, version)| object.applies(plan, version));
            assert_eq!(found, expected, "{:?}", object.labels);
        }
    }
}
