//! The resource that Infrastructure Manager acts on: the parameters of the request over the defaults of the plan.

use std::collections::BTreeMap;

use infrastructure_manager::{INSTANCE_ID, KYMA_NAME, RUNTIME_ID};
use serde_json::{Map, Value, json};

use super::workers::Workers;
use crate::backend::NewRuntime;
use crate::model::catalog::CatalogPlan;
use crate::model::instance::InstanceRecord;
use crate::model::parameters::{Oidc, OidcConfig, Parameters};

const PODS: &str = "10.96.0.0/13";
const SERVICES: &str = "10.104.0.0/13";
/// Licences whose clusters have no filter for their traffic.
const UNFILTERED: [&str; 3] = ["CUSTOMER", "PARTNER", "TRIAL"];

/// Parameters that were given and that this back end has no place for, by name.
pub(super) fn without_place(parameters: &Parameters) -> Vec<&'static str> {
    let given = [
        ("parameters.kymaVersion", parameters.kyma_version.is_some()),
        ("parameters.components", !parameters.components.is_empty()),
    ];
    given.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect()
}

/// Overrides are for installers of Kyma: nothing takes them here.
pub(super) fn left_out(new: &NewRuntime<'_>) -> Vec<String> {
    let components = new.overrides.components.keys();
    let mut names: Vec<String> = components.map(|name| format!("overrides of {name}")).collect();
    if !new.overrides.global.is_empty() {
        names.push("overrides of all components".into());
    }
    names
}

pub(super) fn labels(instance: &InstanceRecord, plan: &CatalogPlan, id: &str) -> BTreeMap<String, String> {
    let own = |name: &str, value: &str| (format!("kyma-project.io/{name}"), value.to_owned());
    let plan = plan.on(&instance.provider);
    let mut labels = BTreeMap::from([
        (INSTANCE_ID.to_owned(), instance.instance_id.clone()),
        (RUNTIME_ID.to_owned(), id.to_owned()),
        (KYMA_NAME.to_owned(), id.to_owned()),
        own("broker-plan-id", &plan.id),
        own("broker-plan-name", &plan.name),
        own("global-account-id", &instance.account),
        own("subaccount-id", &instance.subaccount),
        own("shoot-name", &instance.shoot),
        own("region", &instance.region),
        own("provider", provider_label(plan.provider.as_str())),
    ]);
    labels.extend(instance.platform_region.as_deref().map(|region| own("platform-region", region)));
    labels
}

fn provider_label(provider: &str) -> &str {
    match provider {
        "aws" => "AWS",
        "azure" => "Azure",
        "gcp" => "GCP",
        "openstack" => "SapConvergedCloud",
        "alicloud" => "Alicloud",
        "gdch" => "GDCH",
        other => other,
    }
}

pub(super) fn spec(new: &NewRuntime<'_>) -> Value {
    let (parameters, instance) = (new.from.parameters, new.from.instance);
    let plan = new.from.plan.on(&instance.provider);
    let workers = Workers {
        plan: &plan,
        cloud: new.from.runtimes.catalog.cloud(plan.provider),
        region: &instance.region,
    };
    let purpose =
        parameters.purpose.as_deref().unwrap_or(if plan.free { "evaluation" } else { "production" });
    let mut spec = json!({
        "shoot": {
            "name": instance.shoot,
            "region": instance.region,
            "platformRegion": instance.platform_region.clone().unwrap_or_default(),
            "purpose": purpose,
            "secretBindingName": new.from.cloud_account,
            "kubernetes": {
                "version": new.from.runtimes.kubernetes_version,
                "kubeAPIServer": api_server(parameters),
            },
            "provider": {
                "type": plan.provider.as_str(),
                "workers": [workers.main(parameters)],
                "additionalWorkers": workers.additional(parameters, &Value::Null),
            },
            "networking": networking(parameters, &plan.defaults.worker_cidr),
        },
        "security": {
            "administrators": administrators(parameters, &instance.user),
            "networking": {"filter": filter(parameters, new.licence)},
        },
    });
    if let Some(is_colocated) = parameters.colocate_control_plane {
        spec["shoot"]["enforceSeedLocation"] = json!(is_colocated);
    }
    // Only true is ever written: it cannot be taken back.
    if parameters.audit_log_access == Some(true) {
        spec["auditLogAccessEnabled"] = json!(true);
    }
    spec
}

fn api_server(parameters: &Parameters) -> Map<String, Value> {
    let mut fields = Map::new();
    if let Some(oidc) = &parameters.oidc {
        fields.insert("additionalOidcConfig".into(), issuers(oidc));
    }
    let list = parameters.access_control_list.as_ref().filter(|list| !list.allowed_cidrs.is_empty());
    if let Some(list) = list {
        fields.insert("acl".into(), json!({"allowedCIDRs": list.allowed_cidrs}));
    }
    fields
}

fn networking(parameters: &Parameters, nodes: &str) -> Value {
    let asked = parameters.networking.clone().unwrap_or_default();
    let mut networking = json!({
        "type": "calico",
        "nodes": asked.nodes.as_deref().unwrap_or(nodes),
        "pods": asked.pods.as_deref().unwrap_or(PODS),
        "services": asked.services.as_deref().unwrap_or(SERVICES),
    });
    if let Some(dual_stack) = asked.dual_stack {
        networking["dualStack"] = json!(dual_stack);
    }
    networking
}

fn administrators(parameters: &Parameters, user: &str) -> Vec<String> {
    let of_user = || Some(user.to_owned()).filter(|user| !user.is_empty()).into_iter().collect();
    parameters.administrators.clone().unwrap_or_else(of_user)
}

fn filter(parameters: &Parameters, licence: Option<&str>) -> Value {
    let is_filtered = licence.is_none_or(|licence| !UNFILTERED.contains(&licence));
    let ingress = is_filtered && parameters.ingress_filtering == Some(true);
    json!({"egress": {"enabled": is_filtered}, "ingress": {"enabled": ingress}})
}

/// The issuers of the cluster. What an object leaves out has the values that Kubernetes users expect.
pub(super) fn issuers(oidc: &Oidc) -> Value {
    let default = OidcConfig {
        groups_claim: Some("groups".into()),
        signing_algs: Some(vec!["RS256".into()]),
        username_claim: Some("sub".into()),
        username_prefix: Some("-".into()),
        ..OidcConfig::default()
    };
    oidc.issuers(&default).iter().map(issuer).collect()
}

fn issuer(config: &OidcConfig) -> Value {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| {
        fields.insert(name.to_owned(), value);
    };
    put("clientID", json!(config.client_id));
    put("issuerURL", json!(config.issuer_url));
    let texts = [
        ("groupsClaim", &config.groups_claim),
        ("groupsPrefix", &config.groups_prefix),
        ("usernameClaim", &config.username_claim),
        ("usernamePrefix", &config.username_prefix),
        ("jwks", &config.encoded_jwks_array),
    ];
    for (name, value) in texts {
        if let Some(value) = value {
            put(name, json!(value));
        }
    }
    if let Some(algorithms) = &config.signing_algs {
        put("signingAlgs", json!(algorithms));
    }
    if let Some(claims) = &config.required_claims {
        let pairs = claims.iter().filter_map(|claim| claim.split_once('='));
        put("requiredClaims", pairs.map(|(name, value)| (name.to_owned(), json!(value))).collect());
    }
    Value::Object(fields)
}
