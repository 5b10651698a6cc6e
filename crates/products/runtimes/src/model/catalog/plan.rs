//! One plan: where its clusters run, and what they are like unless configured otherwise.

use std::collections::BTreeMap;
use std::sync::Arc;

use jsonschema::Validator;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::areas::Areas;
use super::limits::PlanLimits;
use super::schema::{self, Purpose};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
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
    pub machines: Vec<String>,
    pub defaults: Defaults,
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
    #[serde(skip)]
    compiled: BTreeMap<Purpose, Compiled>,
}

/// A schema as the catalog shows it, and as it checks.
#[derive(Debug, Clone)]
struct Compiled {
    schema: Value,
    validator: Arc<Validator>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    Azure,
    Gcp,
    Aws,
    Openstack,
}

impl Provider {
    /// As the Provisioner wants to read it.
    pub fn as_str(self) -> &'static str {
        match self {
            Provider::Azure => "azure",
            Provider::Gcp => "gcp",
            Provider::Aws => "aws",
            Provider::Openstack => "openstack",
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
        if self.regions.is_empty() == self.areas.is_empty() {
            return Err("either regions or areas must be given, and not both".into());
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
        for purpose in Purpose::ALL {
            let schema = self.schemas.get(&purpose).cloned().unwrap_or_else(|| schema::of(self, purpose));
            let validator =
                schema::compile(&schema).map_err(|error| format!("schemas.{purpose}: {error}"))?;
            self.compiled.insert(purpose, Compiled { schema, validator: Arc::new(validator) });
        }
        Ok(())
    }

    /// The JSON schema of the parameters, as the catalog shows it.
    pub fn schema(&self, purpose: Purpose) -> Option<&Value> {
        self.compiled.get(&purpose).map(|compiled| &compiled.schema)
    }

    /// Checks parameters. The error names the field and what is allowed, and repeats no value: it may be a secret.
    pub fn validate(&self, purpose: Purpose, parameters: &Value) -> Result<(), String> {
        match self.compiled.get(&purpose) {
            Some(compiled) => schema::check(&compiled.validator, &compiled.schema, parameters),
            None => Ok(()),
        }
    }

    /// Whether an instance of this plan can get another one.
    pub fn can_change(&self) -> bool {
        !self.changes_to.is_empty()
    }

    /// The region of the cloud that a request means: the one that it names, that of its platform, or the first one.
    pub fn region(&self, asked: Option<&str>, platform_region: Option<&str>) -> String {
        let of_platform =
            platform_region.and_then(|region| self.platform_regions.get(region)).map(String::as_str);
        let first = self.regions.first().or(self.areas.iter().next().map(|(_, region)| region));
        match asked.or(of_platform) {
            Some(name) => self.areas.region(name).unwrap_or(name).to_owned(),
            None => first.cloned().unwrap_or_default(),
        }
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
