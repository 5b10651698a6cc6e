//! The JSON schemas of a plan's parameters: made from the plan, compiled once, and the judge of every request.

mod errors;
mod parts;

pub(crate) use errors::check;

use std::fmt;

use jsonschema::Validator;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::plan::{CatalogPlan, Provider};
use parts::{flag, text};

const DRAFT: &str = "http://json-schema.org/draft-07/schema#";
const SCHEMA_BYTES_MAX: usize = 64 * 1024;
/// What a request chooses in a plan whose size is not fixed.
const SIZES: [&str; 13] = [
    "machineType",
    "autoScalerMin",
    "autoScalerMax",
    "maxSurge",
    "maxUnavailable",
    "zones",
    "diskType",
    "volumeSizeGb",
    "additionalWorkerNodePools",
    "additionalVolumeSizeGi",
    "colocateControlPlane",
    "gvisor",
    "auditLogAccess",
];
/// In this order forms show parameters; what is not here comes last.
const ORDER: [&str; 20] = [
    "name",
    "kubeconfig",
    "shootName",
    "shootDomain",
    "region",
    "provider",
    "colocateControlPlane",
    "machineType",
    "autoScalerMin",
    "autoScalerMax",
    "additionalVolumeSizeGi",
    "gvisor",
    "additionalWorkerNodePools",
    "modules",
    "networking",
    "accessControlList",
    "oidc",
    "administrators",
    "ingressFiltering",
    "auditLogAccess",
];

/// What parameters are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    Create,
    Update,
    Bind,
}

impl Purpose {
    pub const ALL: [Purpose; 3] = [Purpose::Create, Purpose::Update, Purpose::Bind];
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Purpose::Create => "create",
            Purpose::Update => "update",
            Purpose::Bind => "bind",
        })
    }
}

pub(crate) fn of(plan: &CatalogPlan, purpose: Purpose) -> Value {
    match purpose {
        Purpose::Create => create(plan),
        Purpose::Update => object(&offered(plan, changeable(plan)), &[]),
        Purpose::Bind => object(
            &members(json!({"expiration_seconds": {
                "type": "integer", "minimum": 600, "maximum": 7200, "default": 600,
                "title": "Lifetime of the credentials in seconds",
            }})),
            &[],
        ),
    }
}

fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// With the words by which forms of platforms know how to show it.
fn object(properties: &Map<String, Value>, required: &[&str]) -> Value {
    let rest = properties.keys().map(String::as_str).filter(|name| !ORDER.contains(name));
    let order: Vec<&str> =
        ORDER.into_iter().filter(|name| properties.contains_key(*name)).chain(rest).collect();
    json!({
        "$schema": DRAFT, "type": "object", "additionalProperties": false, "required": required,
        "_show_form_view": true, "_load_current_config": true, "_controlsOrder": order,
        "properties": properties,
    })
}

fn create(plan: &CatalogPlan) -> Value {
    let areas: Vec<&String> = plan.areas.iter().map(|(area, _)| area).collect();
    let (regions, volume) = (&plan.regions, plan.limits.volume_gb);
    let places = if areas.is_empty() { json!(regions) } else { json!(areas) };
    let mut properties = changeable(plan);
    properties.extend(members(json!({
        "region": {"type": "string", "enum": places, "title": "Region"},
        "kymaVersion": text("Kyma version"),
        "components": {"type": "array", "maxItems": 100, "uniqueItems": true, "items": text("Component"),
                       "title": "Optional components to install"},
        "zones": {"type": "array", "maxItems": 3, "uniqueItems": true, "items": text("Zone")},
        "diskType": text("Type of the disks"),
        "volumeSizeGb": {"type": "integer", "minimum": volume.min, "maximum": volume.max,
                         "title": "Size of a disk in GB"},
        "purpose": text("Purpose"),
        "modules": parts::modules(),
        "networking": parts::networking(plan),
        "colocateControlPlane": flag("Control plane in the region of the nodes", "Cannot be changed later."),
    })));
    if plan.target_secret {
        properties.insert("targetSecret".into(), text("Name of the cloud account to use"));
    }
    let clouds: Vec<&str> = plan.providers().map(Provider::as_str).collect();
    if clouds.len() > 1 && plan.chooses_provider() {
        // The old broker's users write `AWS`, `Azure` and `GCP`.
        let spelled = clouds.iter().flat_map(|name| [(*name).to_owned(), spelling(name)]);
        let spelled: Vec<String> = spelled.collect();
        properties.insert("provider".into(), json!({"type": "string", "enum": spelled, "title": "Cloud"}));
    }
    let mut required: Vec<&str> = if areas.is_empty() { vec!["name", "region"] } else { vec!["name"] };
    if plan.provider == Provider::OwnCluster {
        properties.retain(|name, _| ["name", "administrators", "oidc", "modules"].contains(&name.as_str()));
        properties.extend(members(json!({
            "kubeconfig": {"type": "string", "minLength": 1, "maxLength": 32768, "title": "Kubeconfig"},
            "shootName": {"type": "string", "pattern": "^[a-zA-Z0-9-]+$", "maxLength": 64, "title": "Name of the cluster"},
            "shootDomain": {"type": "string", "pattern": "^[a-zA-Z0-9.-]+$", "maxLength": 253,
                            "title": "Domain of the cluster"},
        })));
        required = vec!["name", "kubeconfig", "shootName", "shootDomain"];
    }
    object(&offered(plan, properties), &required)
}

fn spelling(provider: &str) -> String {
    match provider {
        "azure" => "Azure".into(),
        "openstack" => "SapConvergedCloud".into(),
        "alicloud" => "Alicloud".into(),
        other => other.to_uppercase(),
    }
}

/// Leaves out what a request cannot choose in this plan.
fn offered(plan: &CatalogPlan, mut properties: Map<String, Value>) -> Map<String, Value> {
    let is_fixed = |name: &str| plan.limits.fixed_size && SIZES.contains(&name);
    properties.retain(|name, _| !is_fixed(name) && !plan.refuses.contains(name));
    properties
}

/// What can also be changed later.
fn changeable(plan: &CatalogPlan) -> Map<String, Value> {
    let nodes = plan.limits.nodes;
    let count = |least: i32, title: &str, about: &str| json!({"type": "integer", "minimum": least, "maximum": nodes.max, "title": title, "description": about});
    members(json!({
        "name": {"type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[a-zA-Z0-9-]*$", "title": "Name"},
        "machineType": {"type": "string", "enum": plan.machines, "default": plan.defaults.machine,
                        "title": "Machine type"},
        "autoScalerMin": count(nodes.min, "Auto scaler min", "Fewest nodes of the worker pool."),
        "autoScalerMax": count(nodes.min, "Auto scaler max", "Most nodes of the worker pool."),
        "maxSurge": count(1, "Max surge", "Nodes above the wanted number during an update."),
        "maxUnavailable": count(0, "Max unavailable", "Nodes below the wanted number during an update."),
        "additionalVolumeSizeGi": parts::additional_volume(),
        "gvisor": parts::gvisor(),
        "additionalWorkerNodePools": parts::worker_pools(plan),
        "accessControlList": parts::access_control_list(),
        "administrators": {"type": "array", "maxItems": 50, "items": text("User"), "title": "Administrators"},
        "oidc": parts::oidc(),
        "ingressFiltering": flag("Block traffic from embargoed countries", "At the ingress of the cluster."),
        "auditLogAccess": flag("Access to the audit log", "Cannot be turned off again."),
    }))
}

/// Refuses what a platform could not use, and anything that would make us fetch something.
pub(crate) fn compile(schema: &Value) -> Result<Validator, String> {
    if schema.get("$schema").is_none() {
        return Err("must name its $schema".into());
    }
    if schema.to_string().len() > SCHEMA_BYTES_MAX {
        return Err(format!("must have at most {SCHEMA_BYTES_MAX} bytes"));
    }
    if let Some(target) = outside_reference(schema) {
        return Err(format!("$ref must stay inside the schema, not lead to {target}"));
    }
    jsonschema::validator_for(schema).map_err(|error| error.to_string())
}

fn outside_reference(schema: &Value) -> Option<&str> {
    match schema {
        Value::Object(map) => {
            let target = map.get("$ref").and_then(Value::as_str).filter(|target| !target.starts_with('#'));
            target.or_else(|| map.values().find_map(outside_reference))
        }
        Value::Array(items) => items.iter().find_map(outside_reference),
        _ => None,
    }
}
