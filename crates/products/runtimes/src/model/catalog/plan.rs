//! One plan: where its clusters run, and what they are like unless configured otherwise.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, OnceLock};

use jsonschema::Validator;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::areas::Areas;
use super::limits::PlanLimits;
use super::schema::{self, Purpose};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "most are fields of the file")]
pub struct CatalogPlan {
    pub id: String,
    pub name: String,
    pub description: String,
    pub provider: Provider,
    #[serde(default)]
    pub free: bool,
    #[serde(default = "yes")]
    pub bindable: bool,
    /// The plans that an instance of this one may change to, by name.
    #[serde(default)]
    pub changes_to: Vec<String>,
    /// The first one is the default where a region may be left out.
    #[serde(default)]
    pub regions: Vec<String>,
    /// Instead of regions: parts of the world, with the region that stands for each. The first one is the default.
    #[serde(default)]
    pub areas: Areas,
    /// The area of a request that names none, by the region of the platform in its path.
    #[serde(default)]
    pub platform_regions: BTreeMap<String, String>,
    /// The regions for requests of one region of a platform, in place of `regions`.
    #[serde(default)]
    pub regions_of_platforms: BTreeMap<String, Vec<String>>,
    /// Whether regions of platforms that are not listed there do not see the plan.
    #[serde(default)]
    pub listed_platforms_only: bool,
    pub machines: Vec<String>,
    /// More machine types, for additional pools alone.
    #[serde(default)]
    pub pool_machines: Vec<String>,
    pub defaults: Defaults,
    /// The same plan on other clouds.
    #[serde(default)]
    pub alternatives: Vec<Alternative>,
    /// What chooses among them.
    #[serde(default)]
    pub provider_from: ProviderFrom,
    /// Parameters that this plan does not take.
    #[serde(default)]
    pub refuses: BTreeSet<String>,
    #[serde(default)]
    pub limits: PlanLimits,
    /// After this time an instance is suspended for good.
    #[serde(default)]
    pub expires_after_days: Option<u32>,
    #[serde(default)]
    pub maintenance: Option<Maintenance>,
    #[serde(default)]
    pub metadata: Map<String, Value>,
    /// Schemas that take the place of the ones made from the fields above.
    #[serde(default)]
    schemas: BTreeMap<Purpose, Value>,
    /// Whether a request may name its cloud account.
    #[serde(skip)]
    pub(crate) target_secret: bool,
    /// What makes its clusters.
    #[serde(skip)]
    pub backend: BackendKind,
    /// Whether its clusters can have IPv6 beside IPv4.
    #[serde(skip)]
    pub(crate) dual_stack: bool,
    #[serde(skip)]
    compiled: BTreeMap<Purpose, Compiled>,
}

/// What a region of a platform sees of a plan.
pub(crate) enum SeenPlan {
    Nothing,
    Same,
    /// Not compiled yet.
    Other(Box<CatalogPlan>),
}

/// A schema as the catalog shows it, and as it checks. Both are made with the first request: a catalog has hundreds of
/// them, and a process uses few.
#[derive(Debug, Clone)]
struct Compiled {
    schema: Arc<LazyLock<Value, MakeSchema>>,
    validator: Arc<OnceLock<Validator>>,
}

type MakeSchema = Box<dyn FnOnce() -> Value + Send>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    Azure,
    Gcp,
    Aws,
    Openstack,
    Alicloud,
    Gdch,
    /// The user brings the cluster.
    #[serde(rename = "own_cluster")]
    OwnCluster,
}

/// What makes and changes the clusters of a plan. The names are saved with instances.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackendKind {
    #[default]
    Provisioner,
    InfrastructureManager,
}

impl BackendKind {
    pub fn as_str(self) -> &'static str {
        match self {
            BackendKind::Provisioner => "provisioner",
            BackendKind::InfrastructureManager => "infrastructure-manager",
        }
    }

    /// Whether it makes clusters on this cloud.
    pub fn has(self, provider: Provider) -> bool {
        match self {
            BackendKind::Provisioner => {
                !matches!(provider, Provider::Alicloud | Provider::Gdch | Provider::OwnCluster)
            }
            BackendKind::InfrastructureManager => provider != Provider::OwnCluster,
        }
    }
}

/// A plan on another cloud than its first one.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alternative {
    pub provider: Provider,
    #[serde(default)]
    pub regions: Vec<String>,
    #[serde(default)]
    pub areas: Areas,
    pub machines: Vec<String>,
    pub defaults: Defaults,
}

/// What chooses the cloud of a plan that is on several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderFrom {
    /// The parameter `provider`.
    #[default]
    Parameter,
    /// The first digit of the region of the platform.
    Platform,
}

impl Provider {
    /// As back ends want to read it.
    pub fn as_str(self) -> &'static str {
        match self {
            Provider::Azure => "azure",
            Provider::Gcp => "gcp",
            Provider::Aws => "aws",
            Provider::Openstack => "openstack",
            Provider::Alicloud => "alicloud",
            Provider::Gdch => "gdch",
            Provider::OwnCluster => "own_cluster",
        }
    }

    /// The cloud below a region of a platform such as `cf-eu20`: its first digit says which.
    pub fn of_platform(region: &str) -> Option<Provider> {
        match region.chars().find(char::is_ascii_digit)? {
            '1' => Some(Provider::Aws),
            '2' => Some(Provider::Azure),
            '3' => Some(Provider::Gcp),
            '4' => Some(Provider::Alicloud),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Defaults {
    pub machine: String,
    #[serde(default)]
    pub disk: Option<String>,
    #[serde(default)]
    pub volume_gb: Option<i32>,
    pub min: i32,
    pub max: i32,
    #[serde(default = "surge")]
    pub max_surge: i32,
    #[serde(default = "unavailable")]
    pub max_unavailable: i32,
    #[serde(default = "worker_cidr")]
    pub worker_cidr: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Maintenance {
    pub version: String,
    #[serde(default)]
    pub description: Option<String>,
}

fn yes() -> bool {
    true
}

fn surge() -> i32 {
    4
}

fn unavailable() -> i32 {
    1
}

fn worker_cidr() -> String {
    "10.250.0.0/19".into()
}

impl CatalogPlan {
    pub(crate) fn check(&self) -> Result<(), String> {
        let places = |regions: &[String], areas: &Areas| regions.is_empty() != areas.is_empty();
        if !places(&self.regions, &self.areas) && self.provider != Provider::OwnCluster {
            return Err("either regions or areas must be given, and not both".into());
        }
        for other in &self.alternatives {
            if !places(&other.regions, &other.areas) || !other.machines.contains(&other.defaults.machine) {
                let provider = other.provider.as_str();
                return Err(format!(
                    "alternatives: {provider} needs either regions or areas, and its default among its machines"
                ));
            }
        }
        if !self.machines.contains(&self.defaults.machine) {
            return Err(format!("defaults.machine: {} is not among the machines", self.defaults.machine));
        }
        if self.defaults.min > self.defaults.max {
            return Err("defaults.min: is larger than defaults.max".into());
        }
        let is_area = |name: &String| self.areas.iter().any(|(area, _)| area == name);
        if let Some((from, to)) = self.platform_regions.iter().find(|(_, to)| !is_area(to)) {
            return Err(format!("platform_regions.{from}: {to} is not among the areas"));
        }
        self.limits.check(&self.defaults)?;
        match &self.maintenance {
            Some(Maintenance { version, .. }) if !is_semantic_version(version) => {
                Err(format!("maintenance.version: {version:?} is not a semantic version such as 1.2.3"))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn compile(&mut self) -> Result<(), String> {
        self.compiled.clear();
        let plan = Arc::new(self.clone());
        for purpose in Purpose::ALL {
            let validator = OnceLock::new();
            // One that a person wrote may be wrong, and is refused at the start.
            let schema: MakeSchema = if let Some(schema) = self.schemas.get(&purpose).cloned() {
                let made = schema::compile(&schema).map_err(|error| format!("schemas.{purpose}: {error}"))?;
                validator.get_or_init(|| made);
                Box::new(move || schema)
            } else {
                let plan = Arc::clone(&plan);
                Box::new(move || schema::of(&plan, purpose))
            };
            let (schema, validator) = (Arc::new(LazyLock::new(schema)), Arc::new(validator));
            self.compiled.insert(purpose, Compiled { schema, validator });
        }
        Ok(())
    }

    /// The JSON schema of the parameters, as the catalog shows it.
    pub fn schema(&self, purpose: Purpose) -> Option<&Value> {
        self.compiled.get(&purpose).map(|compiled| &**compiled.schema)
    }

    /// Checks parameters. The error names the field and what is allowed, and repeats no value: it may be a secret.
    pub fn validate(&self, purpose: Purpose, parameters: &Value) -> Result<(), String> {
        let Some(Compiled { schema, validator }) = self.compiled.get(&purpose) else { return Ok(()) };
        if validator.get().is_none() {
            let made = schema::compile(schema)?;
            validator.get_or_init(|| made);
        }
        validator.get().map_or(Ok(()), |validator| schema::check(validator, schema, parameters))
    }

    /// Whether an instance of this plan can get another one.
    pub fn can_change(&self) -> bool {
        !self.changes_to.is_empty()
    }

    /// The machine types of additional pools.
    pub fn machines_of_pools(&self) -> impl Iterator<Item = &String> {
        self.machines.iter().chain(&self.pool_machines)
    }

    /// Whether a request chooses the cloud with a parameter.
    pub(crate) fn chooses_provider(&self) -> bool {
        self.provider_from == ProviderFrom::Parameter
    }

    /// Every cloud that it is on.
    pub fn providers(&self) -> impl Iterator<Item = Provider> {
        std::iter::once(self.provider).chain(self.alternatives.iter().map(|other| other.provider))
    }

    /// The plan on the cloud of this name, in any spelling: itself, or one of its alternatives, with the same schemas.
    pub fn on(&self, provider: &str) -> Cow<'_, CatalogPlan> {
        let provider = &*provider.to_lowercase();
        let is_meant = |other: &&Alternative| other.provider.as_str() == provider;
        match self.alternatives.iter().find(is_meant).filter(|_| self.provider.as_str() != provider) {
            Some(other) => Cow::Owned(self.with(other)),
            None => Cow::Borrowed(self),
        }
    }

    fn with(&self, other: &Alternative) -> CatalogPlan {
        let mut plan = self.clone();
        plan.provider = other.provider;
        plan.regions.clone_from(&other.regions);
        plan.areas.clone_from(&other.areas);
        plan.machines.clone_from(&other.machines);
        plan.defaults.clone_from(&other.defaults);
        plan
    }

    /// What requests from a region of a platform get in its place.
    pub(crate) fn seen_from(&self, platform_region: &str) -> SeenPlan {
        let listed = self.regions_of_platforms.get(platform_region);
        if self.listed_platforms_only && listed.is_none() {
            return SeenPlan::Nothing;
        }
        let wanted = Provider::of_platform(platform_region);
        let other = self.alternatives.iter().find(|other| Some(other.provider) == wanted);
        let other = other.filter(|_| self.provider_from == ProviderFrom::Platform);
        let mut seen = other.map(|other| self.with(other));
        if let Some(regions) = listed {
            seen.get_or_insert_with(|| self.clone()).regions.clone_from(regions);
        }
        seen.map_or(SeenPlan::Same, |seen| SeenPlan::Other(Box::new(seen)))
    }

    /// The region of the cloud that a request means: the one that it names, that of its platform, or the first one.
    pub fn region(&self, asked: Option<&str>, platform_region: Option<&str>) -> String {
        let first = self.regions.first().or(self.areas.iter().next().map(|(_, region)| region));
        match asked.or(self.area_of(platform_region)) {
            Some(name) => self.areas.region(name).unwrap_or(name).to_owned(),
            None => first.cloned().unwrap_or_default(),
        }
    }

    /// The area of a region of a platform.
    pub fn area_of(&self, platform_region: Option<&str>) -> Option<&str> {
        platform_region.and_then(|region| self.platform_regions.get(region)).map(String::as_str)
    }
}

fn is_semantic_version(text: &str) -> bool {
    let core = text.split(['-', '+']).next().unwrap_or_default();
    let mut parts = core.split('.');
    let is_number = |part: Option<&str>| {
        part.is_some_and(|part| {
            !part.is_empty()
                && part.chars().all(|c| c.is_ascii_digit())
                && (part.len() == 1 || !part.starts_with('0'))
        })
    };
    is_number(parts.next()) && is_number(parts.next()) && is_number(parts.next()) && parts.next().is_none()
}
