//! Names in a catalog: which service and which plan is meant.

use anyhow::{Result, bail};

use super::parameters::nearest;
use super::{Catalog, Ids, ServicePlan};
use crate::client::wire::ServiceOffering;
use app::output::printable;

/// A plan, and the service that has it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OfferedPlan<'a> {
    pub(crate) service: &'a ServiceOffering,
    pub(crate) plan: &'a ServicePlan,
}

impl OfferedPlan<'_> {
    pub(crate) fn is_bindable(&self) -> bool {
        self.plan.bindable.unwrap_or(self.service.bindable)
    }

    pub(crate) fn ids(&self) -> Ids {
        Ids { service: self.service.id.clone(), plan: self.plan.id.clone() }
    }

    fn shown(&self) -> String {
        printable(&format!("{}/{} ({})", self.service.name, self.plan.name, self.plan.id))
    }
}

impl Catalog {
    pub(crate) fn offers(&self) -> impl Iterator<Item = OfferedPlan<'_>> {
        self.services
            .iter()
            .flat_map(|service| service.plans.iter().map(move |plan| OfferedPlan { service, plan }))
    }

    pub(crate) fn offer_of(&self, ids: &Ids) -> Option<OfferedPlan<'_>> {
        self.offers().find(|offer| offer.service.id == ids.service && offer.plan.id == ids.plan)
    }

    /// The plan of this name or id, in the service of that name or id.
    pub(crate) fn find(&self, service: Option<&str>, plan: &str) -> Result<OfferedPlan<'_>> {
        let services: Vec<&ServiceOffering> = match service {
            Some(name) => vec![self.service(name)?],
            None => self.services.iter().collect(),
        };
        let offers: Vec<OfferedPlan<'_>> =
            self.offers().filter(|offer| services.iter().any(|it| it.id == offer.service.id)).collect();
        let meant: Vec<&OfferedPlan<'_>> =
            offers.iter().filter(|offer| offer.plan.name == plan || offer.plan.id == plan).collect();
        match meant.as_slice() {
            [one] => Ok(**one),
            [] => bail!(
                "there is no plan {plan:?}{}",
                known(plan, offers.iter().map(|it| it.plan.name.as_str()))
            ),
            several => {
                let shown: Vec<String> = several.iter().map(|offer| offer.shown()).collect();
                bail!(
                    "plan {plan:?} may be any of {}; say which with --service, or by its id",
                    shown.join(", ")
                )
            }
        }
    }

    /// The service of this name or id.
    pub(crate) fn service(&self, name: &str) -> Result<&ServiceOffering> {
        match self.services.iter().find(|service| service.name == name || service.id == name) {
            Some(service) => Ok(service),
            None => bail!(
                "there is no service {name:?}{}",
                known(name, self.services.iter().map(|service| service.name.as_str()))
            ),
        }
    }
}

/// How a sentence ends that says that a name is not known.
fn known<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let meant = nearest(name, names.iter().copied());
    let meant = meant.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
    let all = if names.is_empty() {
        "the catalog is empty".into()
    } else {
        format!("known are {}", names.join(", "))
    };
    printable(&format!("{meant}; {all}")).replace("?; ", "? ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn catalog() -> Catalog {
        let plan = |id: &str, name: &str| json!({"id": id, "name": name, "description": "d"});
        serde_json::from_value(json!({"services": [
            {"id": "s1", "name": "runtime", "plans": [plan("p1", "small"), plan("p2", "large")]},
            {"id": "s2", "name": "database", "plans": [plan("p3", "small")]},
        ]}))
        .unwrap()
    }

    #[test]
    fn a_plan_is_found_by_name_or_id() {
        for (service, plan, expected) in [
            (None, "large", Ok("p2")),
            (None, "p3", Ok("p3")),
            (Some("database"), "small", Ok("p3")),
            (Some("s1"), "small", Ok("p1")),
            (
                None,
                "small",
                Err("plan \"small\" may be any of runtime/small (p1), database/small (p3); \
                     say which with --service, or by its id"),
            ),
            (
                None,
                "larg",
                Err("there is no plan \"larg\"; did you mean `large`? known are small, large, small"),
            ),
            (Some("database"), "large", Err("there is no plan \"large\"; known are small")),
            (
                Some("databse"),
                "x",
                Err("there is no service \"databse\"; did you mean `database`? known are runtime, database"),
            ),
        ] {
            let found = catalog();
            let found =
                found.find(service, plan).map(|offer| offer.plan.id.as_str()).map_err(|it| it.to_string());
            assert_eq!(found, expected.map_err(str::to_owned), "{service:?} {plan}");
        }
        assert!(Catalog { services: vec![] }.find(None, "x").unwrap_err().to_string().contains("is empty"));
    }
}
