//! What the Runtime Provisioner has no field for. It is refused by name, because to leave it out in silence would make
//! another cluster than the one that was asked for.

use super::{Oidc, OidcConfig, Parameters};
use crate::model::catalog::{BackendKind, CatalogPlan, Provider};

const ELSEWHERE: &str = "leave it out, or have the plan use the back end infrastructure-manager";
const NO_PREFIX: &str = "-";

impl Parameters {
    /// The names of the parameters that the Provisioner has no place for, without the prefix `parameters.`.
    pub fn unsupported_by_provisioner(&self) -> Vec<String> {
        let is_set = |flag: Option<bool>| flag == Some(true);
        let pools = self.additional_worker_node_pools.as_deref().unwrap_or_default();
        let cidrs = self.access_control_list.as_ref().map_or(0, |list| list.allowed_cidrs.len());
        let dual_stack = self.networking.as_ref().and_then(|networking| networking.dual_stack);
        let mut gaps: Vec<String> = [
            ("additionalWorkerNodePools", !pools.is_empty()),
            ("modules", self.modules.is_some()),
            ("accessControlList", cidrs > 0),
            ("ingressFiltering", is_set(self.ingress_filtering)),
            ("gvisor", self.gvisor.is_some_and(|gvisor| gvisor.enabled)),
            ("auditLogAccess", is_set(self.audit_log_access)),
            ("networking.dualStack", is_set(dual_stack)),
        ]
        .into_iter()
        .filter(|(_, is_used)| *is_used)
        .map(|(name, _)| name.to_owned())
        .collect();
        gaps.extend(self.oidc.as_ref().and_then(oidc_gap));
        gaps
    }

    /// Whether the back end of the plan has a place for everything that is new.
    pub fn check_backend(&self, plan: &CatalogPlan, old: Option<&Parameters>) -> Result<(), String> {
        let backend = plan.backend.as_str();
        if plan.provider == Provider::OwnCluster {
            return Err(format!(
                "plan_id: {}: a cluster of your own cannot be brought along, since both back ends make the clusters that \
                 they manage; choose a plan that names a cloud",
                plan.name
            ));
        }
        if !plan.backend.has(plan.provider) {
            let provider = plan.provider.as_str();
            return Err(format!(
                "plan_id: the back end of this plan, {backend}, makes no clusters of {provider}"
            ));
        }
        let mut gaps = match plan.backend {
            BackendKind::Provisioner => self.unsupported_by_provisioner(),
            BackendKind::InfrastructureManager => Vec::new(),
        };
        let known = old.map(Parameters::unsupported_by_provisioner).unwrap_or_default();
        gaps.retain(|gap| !known.contains(gap));
        let Some(first) = gaps.first() else { return Ok(()) };
        let place = first.split(' ').next().unwrap_or(first);
        let all = gaps.join(", ");
        Err(format!("parameters.{place}: the back end of this plan, {backend}, has no {all}; {ELSEWHERE}"))
    }
}

/// The Provisioner knows one issuer, and six of its fields.
fn oidc_gap(oidc: &Oidc) -> Option<String> {
    let (config, place) = match oidc {
        Oidc::Object(config) => (config, "oidc"),
        Oidc::List { list } if list.len() > 1 => return Some("oidc.list with more than one issuer".into()),
        Oidc::List { list } => (list.first()?, "oidc.list.0"),
    };
    let config = config.over(&OidcConfig::default());
    let prefix = config.groups_prefix.filter(|prefix| prefix != NO_PREFIX);
    [
        ("encodedJwksArray", config.encoded_jwks_array.is_some()),
        ("requiredClaims", config.required_claims.is_some()),
        ("groupsPrefix", prefix.is_some()),
    ]
    .into_iter()
    .find_map(|(field, is_used)| is_used.then(|| format!("{place}.{field}")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_has_no_place_is_named_and_what_changes_nothing_passes() {
        let gaps = |parameters: Value| -> Vec<String> {
            let read: Parameters = serde_json::from_value(parameters).unwrap();
            read.unsupported_by_provisioner()
        };
        let issuer = |more: (&str, Value)| {
            let mut config = json!({"clientID": "c", "issuerURL": "https://i.example.com"});
            config[more.0] = more.1;
            config
        };
        for (parameters, expect) in [
            (json!({}), vec![]),
            (
                json!({"additionalWorkerNodePools": [], "ingressFiltering": false, "gvisor": {"enabled": false},
                    "accessControlList": {"allowedCIDRs": []}, "auditLogAccess": false,
                    "networking": {"nodes": "n", "pods": "p", "services": "s", "dualStack": false},
                    "colocateControlPlane": true, "additionalVolumeSizeGi": 9}),
                vec![],
            ),
            (json!({"additionalWorkerNodePools": [{"name": "a"}]}), vec!["additionalWorkerNodePools"]),
            (json!({"modules": {"default": true}}), vec!["modules"]),
            (json!({"accessControlList": {"allowedCIDRs": ["1.2.3.4/32"]}}), vec!["accessControlList"]),
            (
                json!({"ingressFiltering": true, "gvisor": {"enabled": true}}),
                vec!["ingressFiltering", "gvisor"],
            ),
            (json!({"networking": {"dualStack": true}}), vec!["networking.dualStack"]),
            (json!({"auditLogAccess": true}), vec!["auditLogAccess"]),
            (json!({"oidc": issuer(("groupsClaim", json!("g")))}), vec![]),
            (json!({"oidc": issuer(("groupsPrefix", json!("-")))}), vec![]),
            (json!({"oidc": issuer(("groupsPrefix", json!("oidc:")))}), vec!["oidc.groupsPrefix"]),
            (json!({"oidc": issuer(("requiredClaims", json!(["a=b"])))}), vec!["oidc.requiredClaims"]),
            (json!({"oidc": issuer(("requiredClaims", json!(["-"])))}), vec![]),
            (
                json!({"oidc": {"list": [issuer(("encodedJwksArray", json!("e30=")))]}}),
                vec!["oidc.list.0.encodedJwksArray"],
            ),
            (json!({"oidc": {"list": [{}, {}]}}), vec!["oidc.list with more than one issuer"]),
            (json!({"oidc": {"list": []}}), vec![]),
        ] {
            assert_eq!(gaps(parameters.clone()), expect, "{parameters}");
        }
    }
}
