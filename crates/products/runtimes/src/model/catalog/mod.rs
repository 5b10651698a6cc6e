//! What the broker offers: one service and its plans, from a file.

mod areas;
mod cloud;
mod limits;
mod plan;
mod schema;

pub use areas::Areas;
pub use cloud::Cloud;
pub use limits::{Between, PlanLimits};
use plan::SeenPlan;
pub use plan::{Alternative, BackendKind, CatalogPlan, Defaults, Maintenance, Provider, ProviderFrom};
pub use schema::Purpose;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use serde_json::{Map, Value};

/// The service and its plans. Read once, checked once.
#[derive(Debug, Clone)]
pub struct Catalog {
    pub service: CatalogService,
    pub plans: Vec<CatalogPlan>,
    pub eu_access: EuAccess,
    pub clouds: BTreeMap<Provider, Cloud>,
    /// What classes of regions of platforms see in its place.
    platforms: BTreeMap<String, Arc<Catalog>>,
}

/// Regions of platforms whose clusters only staff in the European Union has access to.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EuAccess {
    pub platform_regions: BTreeSet<String>,
    /// The global accounts that may have instances there; absent for all.
    pub accounts: Option<BTreeSet<String>>,
}

impl EuAccess {
    /// Whether clusters for this region of a platform are restricted.
    pub fn restricts(&self, platform_region: Option<&str>) -> bool {
        platform_region.is_some_and(|region| self.platform_regions.contains(region))
    }

    /// Whether this global account may have instances on this region of a platform.
    pub fn allows(&self, account: &str, platform_region: Option<&str>) -> bool {
        let has_access = self.accounts.as_ref().is_none_or(|accounts| accounts.contains(account));
        has_access || !self.restricts(platform_region)
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogService {
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
    service: CatalogService,
    plans: Vec<CatalogPlan>,
    #[serde(default)]
    eu_access: EuAccess,
    #[serde(default)]
    clouds: BTreeMap<Provider, Cloud>,
}

const FILE_BYTES_MAX: usize = 1024 * 1024;
const TEXT_CHARS_MAX: usize = 255;

impl Catalog {
    /// The plans of the broker whose place this takes.
    ///
    /// # Panics
    /// Never: a test reads it.
    pub fn built_in() -> Catalog {
        static BUILT_IN: LazyLock<Catalog> = LazyLock::new(|| {
            Catalog::parse(include_str!("catalog.yaml")).expect("the built-in catalog is tested")
        });
        BUILT_IN.clone()
    }

    /// Reads a catalog file; an error names the plan and the field.
    pub fn parse(text: &str) -> Result<Catalog, String> {
        if text.len() > FILE_BYTES_MAX {
            return Err(format!("a catalog has at most {FILE_BYTES_MAX} bytes"));
        }
        let file: CatalogFile = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        let CatalogFile { service, plans, eu_access, clouds } = file;
        let mut catalog = Catalog { service, plans, eu_access, clouds, platforms: BTreeMap::new() };
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
            plan.dual_stack = self.clouds.get(&plan.provider).is_some_and(|cloud| cloud.dual_stack);
            plan.compile().map_err(|error| format!("plan {}: {error}", plan.name))?;
        }
        self.platforms = self.of_platforms()?;
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        let CatalogService { id, name, description, .. } = &self.service;
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
            // The limit holds for requests that make an instance.
            let is_limited = |of: &&String| {
                self.plan_named(of).is_some_and(|plan| plan.limits.instances_per_account.is_some())
            };
            if let Some(of) = plan.changes_to.iter().find(is_limited) {
                return Err(format!(
                    "plan {name}: changes_to: {of} has limits.instances_per_account, so an instance cannot change to it"
                ));
            }
        }
        Ok(())
    }

    /// What is known of a cloud; nothing, where the file does not say.
    pub fn cloud(&self, provider: Provider) -> &Cloud {
        static UNKNOWN: LazyLock<Cloud> = LazyLock::new(Cloud::default);
        self.clouds.get(&provider).unwrap_or(&UNKNOWN)
    }

    /// Chooses what makes the clusters of each plan.
    #[must_use]
    pub fn with_backends(mut self, of: impl Fn(&CatalogPlan) -> BackendKind) -> Catalog {
        self.set_backends(&of);
        self
    }

    fn set_backends(&mut self, of: &dyn Fn(&CatalogPlan) -> BackendKind) {
        self.plans.iter_mut().for_each(|plan| plan.backend = of(plan));
        self.platforms.values_mut().for_each(|seen| Arc::make_mut(seen).set_backends(of));
    }

    /// What requests from this region of a platform see.
    pub fn of_platform(&self, region: Option<&str>) -> &Catalog {
        let class = region.and_then(|region| self.platform_class(region));
        class.and_then(|class| self.platforms.get(&class)).map_or(self, |seen| seen)
    }

    /// Every class of regions of platforms, with what it sees.
    pub fn platforms(&self) -> impl Iterator<Item = (&str, &Catalog)> {
        self.platforms.iter().map(|(class, seen)| (class.as_str(), &**seen))
    }

    /// The name under which regions of platforms that see the same are one; `None` for those that see everything.
    pub fn platform_class(&self, region: &str) -> Option<String> {
        let mut plans = self.plans.iter();
        if plans.any(|plan| plan.regions_of_platforms.contains_key(region)) {
            return Some(region.to_owned());
        }
        let is_narrow =
            |plan: &CatalogPlan| plan.listed_platforms_only || plan.provider_from == ProviderFrom::Platform;
        let cloud = || Provider::of_platform(region).map_or("other", Provider::as_str);
        self.plans.iter().any(is_narrow).then(|| cloud().to_owned())
    }

    fn of_platforms(&self) -> Result<BTreeMap<String, Arc<Catalog>>, String> {
        // One region for each cloud, and for those that belong to none.
        let samples = ["cf-xx10", "cf-xx20", "cf-xx30", "cf-xx40", "cf-xx"].map(str::to_owned);
        let listed = self.plans.iter().flat_map(|plan| plan.regions_of_platforms.keys().cloned());
        let mut seen = BTreeMap::new();
        for region in listed.chain(samples) {
            let Some(class) = self.platform_class(&region) else { continue };
            if let Entry::Vacant(entry) = seen.entry(class) {
                entry.insert(Arc::new(self.seen_from(&region)?));
            }
        }
        Ok(seen)
    }

    fn seen_from(&self, region: &str) -> Result<Catalog, String> {
        let mut plans = Vec::new();
        for plan in &self.plans {
            match plan.seen_from(region) {
                SeenPlan::Nothing => {}
                SeenPlan::Same => plans.push(plan.clone()),
                SeenPlan::Other(mut changed) => {
                    changed.dual_stack = self.cloud(changed.provider).dual_stack;
                    changed.compile()?;
                    plans.push(*changed);
                }
            }
        }
        let (service, eu_access, clouds) =
            (self.service.clone(), self.eu_access.clone(), self.clouds.clone());
        Ok(Catalog { service, plans, eu_access, clouds, platforms: BTreeMap::new() })
    }

    pub fn plan(&self, id: &str) -> Option<&CatalogPlan> {
        self.plans.iter().find(|plan| plan.id == id)
    }

    pub fn plan_named(&self, name: &str) -> Option<&CatalogPlan> {
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
    fn every_schema_that_is_made_from_a_plan_can_be_used() {
        let catalog = Catalog::built_in();
        for seen in std::iter::once(&catalog).chain(catalog.platforms().map(|(_, seen)| seen)) {
            for (plan, purpose) in seen.plans.iter().flat_map(|plan| Purpose::ALL.map(|one| (plan, one))) {
                schema::compile(plan.schema(purpose).unwrap()).unwrap();
            }
        }
    }

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
            (
                json!({"name": "n", "region": "westeurope", "colour": "s3cret"}),
                "parameters.colour: is unknown to this plan, which accepts accessControlList, ",
            ),
            (
                json!({"name": "n", "region": "westeurope", "networking": {"colour": "s3cret"}}),
                "parameters.networking.colour: is unknown; see the schema in the catalog",
            ),
            (
                json!({"name": "my runtime", "region": "westeurope"}),
                "parameters.name: must match ^[a-zA-Z0-9-]*$",
            ),
            (json!({"name": "", "region": "westeurope"}), "parameters.name: must have at least 1 character"),
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
    fn free_plans_have_a_fixed_size_and_the_others_do_not() {
        let catalog = Catalog::built_in();
        for plan in &catalog.plans {
            assert_eq!(plan.limits.fixed_size, plan.free, "{}", plan.name);
            for (purpose, names) in [
                (Purpose::Create, &["machineType", "autoScalerMin", "volumeSizeGb", "diskType"][..]),
                (Purpose::Update, &["machineType", "autoScalerMax", "maxSurge"][..]),
            ] {
                let properties = &plan.schema(purpose).unwrap()["properties"];
                for name in names {
                    assert_eq!(properties.get(name).is_some(), !plan.free, "{} {purpose} {name}", plan.name);
                }
            }
        }
        assert_eq!(catalog.plan_named("trial").unwrap().limits.instances_per_account, Some(1));
        assert!(catalog.plans.iter().all(|plan| plan.limits.bindings == 10));
    }

    #[test]
    fn the_region_of_a_test_is_that_of_its_platform() {
        let catalog = Catalog::built_in();
        let workflow_test = catalog.plan_named("trial").unwrap();
        for (asked, platform, region) in [
            (None, None, "westeurope"),
            (None, Some("cf-eu10"), "westeurope"),
            (None, Some("cf-us10"), "eastus"),
            (None, Some("cf-ap21"), "southeastasia"),
            (None, Some("cf-mars1"), "westeurope"),
            (Some("asia"), Some("cf-us10"), "southeastasia"),
        ] {
            assert_eq!(workflow_test.region(asked, platform), region, "{asked:?} {platform:?}");
        }
        let azure = catalog.plan_named("azure").unwrap();
        assert_eq!(azure.region(Some("uksouth"), Some("cf-us10")), "uksouth");
        let areas = &workflow_test.schema(Purpose::Create).unwrap()["properties"]["region"]["enum"];
        assert_eq!(*areas, json!(["europe", "us", "asia"]), "in the order of the file");
    }

    #[test]
    fn a_region_with_eu_access_is_for_the_accounts_of_the_list_or_for_all() {
        let access = |accounts: Option<&str>| EuAccess {
            platform_regions: ["cf-eu11".to_owned()].into(),
            accounts: accounts.map(|account| [account.to_owned()].into()),
        };
        assert!(access(None).allows("ga", Some("cf-eu11")) && access(None).restricts(Some("cf-eu11")));
        assert!(!access(Some("other")).allows("ga", Some("cf-eu11")));
        assert!(access(Some("ga")).allows("ga", Some("cf-eu11")));
        assert!(access(Some("other")).allows("ga", Some("cf-eu10")));
        assert!(access(Some("other")).allows("ga", None) && !access(None).restricts(None));
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
            (
                format!("  - {plan}, platform_regions: {{cf-eu10: europe}}}}\n"),
                "europe is not among the areas",
            ),
            (format!("  - {plan}, limits: {{instances_per_account: 0}}}}\n"), "limits.instances_per_account"),
            (format!("  - {plan}, limits: {{nodes: {{min: 3, max: 5}}}}}}\n"), "within limits.nodes"),
            (
                format!("  - {plan}, changes_to: [n], limits: {{instances_per_account: 1}}}}\n"),
                "changes_to: n has limits.instances_per_account",
            ),
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
