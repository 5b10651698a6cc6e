//! What the broker offers: one service and its plans, from a file.

mod plan;
mod schema;

pub use plan::{Defaults, Maintenance, Plan, Provider};
pub use schema::Purpose;

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value};

/// The service and its plans. Read once, checked once.
#[derive(Debug, Clone)]
pub struct Catalog {
    pub service: Service,
    pub plans: Vec<Plan>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    pub id: String,
    pub name: String,
    pub description: String,
    #[serde(default)]
    pub tags: Vec<String>,
    #[serde(default)]
    pub metadata: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CatalogFile {
    service: Service,
    plans: Vec<Plan>,
}

const FILE_BYTES_MAX: usize = 1024 * 1024;
const TEXT_CHARS_MAX: usize = 255;

impl Catalog {
    /// The plans of the broker whose place this takes.
    ///
    /// # Panics
    /// Never: a test reads it.
    pub fn built_in() -> Catalog {
        Catalog::parse(include_str!("catalog.yaml")).expect("the built-in catalog is tested")
    }

    /// Reads a catalog file; an error names the plan and the field.
    pub fn parse(text: &str) -> Result<Catalog, String> {
        if text.len() > FILE_BYTES_MAX {
            return Err(format!("a catalog has at most {FILE_BYTES_MAX} bytes"));
        }
        let file: CatalogFile = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        let mut catalog = Catalog { service: file.service, plans: file.plans };
        catalog.check()?;
        catalog.compile()?;
        Ok(catalog)
    }

    /// Requests may name their cloud account with `targetSecret`. Plans with a schema of their own keep it.
    pub fn offering_target_secret(mut self) -> Result<Catalog, String> {
        self.plans.iter_mut().for_each(|plan| plan.target_secret = true);
        self.compile()?;
        Ok(self)
    }

    fn compile(&mut self) -> Result<(), String> {
        for plan in &mut self.plans {
            plan.compile().map_err(|error| format!("plan {}: {error}", plan.name))?;
        }
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        let Service { id, name, description, .. } = &self.service;
        short("service.id", id)?;
        short("service.name", name)?;
        short("service.description", description)?;
        if self.plans.is_empty() {
            return Err("plans: a service needs at least one plan".into());
        }
        let (mut ids, mut names) = (BTreeSet::from([id]), BTreeSet::new());
        for plan in &self.plans {
            let name = &plan.name;
            short("plans.id", &plan.id)?;
            short("plans.name", name)?;
            short("plans.description", &plan.description)?;
            if !ids.insert(&plan.id) {
                return Err(format!("plan {name}: the id {} is used twice", plan.id));
            }
            if !names.insert(name) {
                return Err(format!("plan {name}: the name is used twice"));
            }
            plan.check().map_err(|error| format!("plan {name}: {error}"))?;
        }
        Ok(())
    }

    pub fn plan(&self, id: &str) -> Option<&Plan> {
        self.plans.iter().find(|plan| plan.id == id)
    }

    pub fn plan_named(&self, name: &str) -> Option<&Plan> {
        self.plans.iter().find(|plan| plan.name == name)
    }
}

fn short(field: &str, text: &str) -> Result<(), String> {
    if (1..=TEXT_CHARS_MAX).contains(&text.chars().count()) && !text.chars().any(char::is_control) {
        return Ok(());
    }
    Err(format!("{field}: must have 1 to {TEXT_CHARS_MAX} characters and no control characters"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_built_in_catalog_has_the_plans_that_platforms_know() {
        let catalog = Catalog::built_in();
        assert_eq!(catalog.service.name, "kymaruntime");
        assert_eq!(catalog.plan("4deee563-e5ec-4731-b9b1-53b42d855f0c").unwrap().name, "azure");
        assert_eq!(catalog.plan_named("trial").unwrap().expires_after_days, Some(14));
        assert!(catalog.plans.len() >= 8);
    }

    #[test]
    fn parameters_are_checked_and_no_value_is_repeated() {
        let catalog = Catalog::built_in();
        let azure = catalog.plan_named("azure").unwrap();
        let check = |value: &Value| azure.validate(Purpose::Create, value);
        check(&json!({"name": "n", "region": "westeurope"})).unwrap();
        for (bad, part) in [
            (json!({"region": "westeurope"}), "name"),
            (json!({"name": "n"}), "region"),
            (json!({"name": "n", "region": "s3cret-place"}), "parameters.region"),
            (
                json!({"name": "n", "region": "westeurope", "autoScalerMin": "s3cret"}),
                "parameters.autoScalerMin",
            ),
            (json!({"name": "n", "region": "westeurope", "s3cretKey": 1}), "unknown"),
            (json!(["s3cret"]), "parameters"),
        ] {
            let error = check(&bad).unwrap_err();
            assert!(
                error.contains(part) && !error.contains("s3cret-") && !error.contains("\"s3cret\""),
                "{error}"
            );
        }
        catalog.plan_named("trial").unwrap().validate(Purpose::Create, &json!({"name": "n"})).unwrap();
    }

    #[test]
    fn a_request_names_its_cloud_account_only_where_that_is_allowed() {
        let asked = json!({"name": "n", "region": "westeurope", "targetSecret": "account-of-another"});
        let check = |catalog: &Catalog| {
            let azure = catalog.plan_named("azure").unwrap();
            let shown = azure.schema(Purpose::Create).unwrap().to_string().contains("targetSecret");
            (shown, azure.validate(Purpose::Create, &asked).is_ok())
        };
        let catalog = Catalog::built_in();
        assert_eq!(check(&catalog), (false, false));
        assert_eq!(check(&catalog.offering_target_secret().unwrap()), (true, true));
    }

    #[test]
    fn a_wrong_catalog_is_refused_by_name() {
        let plan = "{id: p, name: n, description: d, provider: gcp, regions: [r], machines: [m], \
                    defaults: {machine: m, min: 1, max: 2}";
        let service = "service: {id: s, name: k, description: d}\nplans:\n";
        for (plans, part) in [
            (format!("  - {plan}}}\n  - {plan}}}\n"), "used twice"),
            ("  []\n".to_owned(), "at least one plan"),
            (format!("  - {plan}, maintenance: {{version: one}}}}\n"), "semantic version"),
            (format!("  - {plan}, schemas: {{create: {{type: object}}}}}}\n"), "$schema"),
            (
                format!(
                    "  - {plan}, schemas: {{create: {{\"$schema\": x, \"$ref\": \"http://127.0.0.1/a\"}}}}}}\n"
                ),
                "$ref",
            ),
        ] {
            let error = Catalog::parse(&format!("{service}{plans}")).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
