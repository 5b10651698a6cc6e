//! The schemas of the parameters that have members of their own.

use serde_json::{Map, Value, json};

use crate::model::catalog::plan::CatalogPlan;

/// An optional prefix that is a domain, and a name.
const KEY: &str =
    "^([a-zA-Z0-9]([-a-zA-Z0-9_.]{0,251}[a-zA-Z0-9])?/)?[a-zA-Z0-9]([-a-zA-Z0-9_.]{0,61}[a-zA-Z0-9])?$";
const LABEL_VALUE: &str = "^([a-zA-Z0-9]([-a-zA-Z0-9_.]{0,61}[a-zA-Z0-9])?)?$";
const CIDR: &str = "^[0-9a-fA-F.:]{2,45}/[0-9]{1,3}$";
const POOLS_MAX: usize = 50;
const POOL_NAME_CHARS_MAX: usize = 15;
const ISSUERS_MAX: usize = 20;
const CIDRS_MAX: usize = 100;
const MODULES_MAX: usize = 100;
const VOLUME_GI_MAX: usize = 1000;

pub(super) fn text(title: &str) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": 256, "title": title})
}

/// Without a default: a form that shows one sends it, and so asks for something.
pub(super) fn flag(title: &str, about: &str) -> Value {
    json!({"type": "boolean", "title": title, "description": about})
}

/// An object with these members, shown in this order, and no others.
fn object(order: &[&str], required: &[&str], properties: &Value) -> Map<String, Value> {
    let schema = json!({
        "type": "object", "additionalProperties": false, "properties": properties, "required": required,
        "_controlsOrder": order,
    });
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

fn titled(mut schema: Map<String, Value>, title: &str) -> Value {
    schema.insert("title".into(), json!(title));
    Value::Object(schema)
}

/// Either one issuer or a list of them.
pub(super) fn oidc() -> Value {
    const ORDER: [&str; 9] = [
        "clientID",
        "issuerURL",
        "groupsClaim",
        "groupsPrefix",
        "usernameClaim",
        "usernamePrefix",
        "signingAlgs",
        "requiredClaims",
        "encodedJwksArray",
    ];
    let issuer = |length_min: u8, items_min: u8, claim: &str| {
        let text = |title: &str| json!({"type": "string", "minLength": length_min, "maxLength": 256, "title": title});
        json!({
            "clientID": text("Client ID"), "issuerURL": text("Issuer URL, with https"),
            "groupsClaim": text("Claim with the groups"), "groupsPrefix": text("Prefix of groups, - for none"),
            "usernameClaim": text("Claim with the user name"), "usernamePrefix": text("Prefix of user names, - for none"),
            "signingAlgs": {"type": "array", "minItems": items_min, "maxItems": 10, "items": {"type": "string"},
                            "title": "Signing algorithms"},
            "requiredClaims": {"type": "array", "maxItems": 50, "title": "Required claims, each as claim=value",
                               "items": {"type": "string", "pattern": claim}},
            "encodedJwksArray": {"type": "string", "maxLength": 32768, "title": "JSON Web Key Set in base64"},
        })
    };
    let of_list = object(
        &ORDER,
        &[
            "clientID",
            "issuerURL",
            "groupsClaim",
            "usernameClaim",
            "usernamePrefix",
            "signingAlgs",
            "groupsPrefix",
        ],
        &issuer(1, 1, "^[^=]+=[^=]+$"),
    );
    let list = json!({"list": {"type": "array", "maxItems": ISSUERS_MAX, "uniqueItems": true, "items": of_list,
                               "title": "Issuers; an empty list is none"}});
    let single = object(&ORDER, &["clientID", "issuerURL"], &issuer(0, 0, "^([^=]+=[^=]+|-)$"));
    json!({
        "type": "object", "title": "OIDC",
        "description": "Who may sign in: {\"list\": […] } with whole issuers, or the fields of one issuer.",
        "oneOf": [titled(object(&["list"], &[], &list), "List"), titled(single, "One issuer")],
    })
}

pub(super) fn modules() -> Value {
    let channel = json!({"type": "string", "enum": ["regular", "fast"], "title": "Channel"});
    let of_module =
        json!({"type": "string", "enum": ["", "regular", "fast"], "default": "", "title": "Channel"});
    let default = json!({"type": "boolean", "title": "The modules of the plan"});
    let module = object(
        &["name", "channel", "customResourcePolicy"],
        &[],
        &json!({"name": text("Name"), "channel": of_module,
                "customResourcePolicy": {"type": "string", "enum": ["", "CreateAndDelete", "Ignore"], "default": "",
                                         "title": "Whether the default resource of the module is made"}}),
    );
    let list = json!({"type": "array", "maxItems": MODULES_MAX, "uniqueItems": true, "items": module,
                      "title": "Modules; an empty list is none"});
    let of_plan = object(&["default", "channel"], &[], &json!({"default": default, "channel": channel}));
    let chosen = object(&["channel", "list"], &["list"], &json!({"channel": channel, "list": list}));
    json!({
        "type": "object", "title": "Modules",
        "description": "The modules of the plan with {\"default\": true}, or exactly those of {\"list\": […]}.",
        "oneOf": [titled(of_plan, "Default"), titled(chosen, "Custom")],
    })
}

pub(super) fn worker_pools(plan: &CatalogPlan) -> Value {
    let max = plan.limits.nodes.max;
    let machines: Vec<&String> = plan.machines_of_pools().collect();
    let count = |least: i32, title: &str| json!({"type": "integer", "minimum": least, "maximum": max, "title": title});
    let pairs = |title: &str, value: Value| {
        json!({"type": "object", "maxProperties": 100, "title": title,
        "propertyNames": {"pattern": KEY}, "additionalProperties": value})
    };
    let taint = object(
        &["key", "value", "effect"],
        &["key", "effect"],
        &json!({
            "key": {"type": "string", "minLength": 1, "pattern": KEY, "title": "Key"},
            "value": {"type": "string", "pattern": LABEL_VALUE, "title": "Value"},
            "effect": {"type": "string", "enum": ["NoSchedule", "PreferNoSchedule", "NoExecute"], "title": "Effect"},
        }),
    );
    let mut properties = json!({
        "name": {"type": "string", "minLength": 1, "maxLength": POOL_NAME_CHARS_MAX,
                 "pattern": "^(?!cpu-worker-0$)[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "title": "Name"},
        "machineType": {"type": "string", "enum": machines, "title": "Machine type"},
        "haZones": {"type": "boolean", "default": true, "title": "Spread over three zones; cannot be changed later"},
        "autoScalerMin": count(0, "Fewest nodes, 3 with haZones"),
        "autoScalerMax": count(1, "Most nodes"),
        "labels": pairs("Labels", json!({"type": "string", "pattern": LABEL_VALUE})),
        "annotations": pairs("Annotations", json!({"type": "string", "maxLength": 4096})),
        "taints": {"type": "array", "maxItems": 50, "items": taint, "title": "Taints"},
        "gvisor": gvisor(),
        "additionalVolumeSizeGi": additional_volume(),
    });
    let mut required = vec!["name", "machineType", "haZones", "autoScalerMin", "autoScalerMax"];
    if let Value::Object(properties) = &mut properties {
        if plan.limits.single_zone {
            properties.remove("haZones");
            required.retain(|name| *name != "haZones");
        }
        properties.retain(|name, _| !plan.refuses.contains(name));
    }
    let order: Vec<&str> =
        properties.as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect();
    let pool = object(&order, &required, &properties);
    json!({"type": "array", "maxItems": POOLS_MAX, "uniqueItems": true, "items": pool,
           "title": "Additional worker node pools",
           "description": "In a change the whole list; a pool that is not in it is removed."})
}

pub(super) fn networking(plan: &CatalogPlan) -> Value {
    let network = |title: &str| json!({"type": "string", "pattern": CIDR, "title": title});
    let mut properties = json!({
        "nodes": network("Network of the nodes, at most /23"), "pods": network("Network of the pods"),
        "services": network("Network of the services"),
    });
    if plan.dual_stack {
        properties["dualStack"] = flag("IPv6 beside IPv4", "Cannot be changed later.");
    }
    let order: Vec<&str> =
        properties.as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect();
    titled(object(&order, &["nodes"], &properties), "Networking")
}

pub(super) fn access_control_list() -> Value {
    let cidrs = json!({"allowedCIDRs": {
        "type": "array", "maxItems": CIDRS_MAX, "title": "Networks that may reach the API server; none for all",
        "items": {"type": "string", "maxLength": 64},
    }});
    titled(object(&["allowedCIDRs"], &["allowedCIDRs"], &cidrs), "Access control list")
}

pub(super) fn gvisor() -> Value {
    let enabled = json!({"enabled": {"type": "boolean", "title": "Run containers in gVisor"}});
    titled(object(&["enabled"], &["enabled"], &enabled), "gVisor")
}

pub(super) fn additional_volume() -> Value {
    json!({"type": "integer", "minimum": 0, "maximum": VOLUME_GI_MAX,
           "title": "Size of a disk in Gi, on top of that of the plan"})
}
