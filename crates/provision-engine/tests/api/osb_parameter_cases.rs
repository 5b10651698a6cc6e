//! The table of parameters: the plan, what is asked for, the status, and what an error says.

use serde_json::{Value, json};

pub(crate) const SERVICE: &str = "47c9dcbf-ff30-448e-ab36-d3bad66ba281";
pub(crate) const AZURE: &str = "4deee563-e5ec-4731-b9b1-53b42d855f0c";
pub(crate) const AZURE_LITE: &str = "8cb22518-aa26-44c5-91a0-e669ec9bf443";
pub(crate) const AWS: &str = "361c511f-f939-4621-b228-d0fb79a1fe15";
pub(crate) const GCP: &str = "ca6e5357-707f-4565-bbbd-b3ab732597c6";
pub(crate) const SAP: &str = "03b812ac-c991-4528-b5bd-08b303523a63";
pub(crate) const TRIAL: &str = "7d55d31d-35ae-4438-bf13-6ffdfa107d9f";
pub(crate) const FREE: &str = "b1a5764e-2ea1-4f95-94c0-2b4538b37b55";
pub(crate) const ALICLOUD: &str = "9f2c3b4d-5e6f-7a8b-9c0d-1e2f3a4b5c6d";
pub(crate) const GDCH: &str = "024e11fb-40df-4753-a992-24d136e2d15c";
pub(crate) const OWN_CLUSTER: &str = "03e3cb66-a4c6-4c6a-b4b0-5d42224debea";
pub(crate) const BUILD_AWS: &str = "6aae0ff3-89f7-4f12-86de-51466145422e";

pub(crate) fn body(plan: &str, parameters: &Value) -> Value {
    json!({
        "service_id": SERVICE, "plan_id": plan, "organization_guid": "o", "space_guid": "s",
        "context": {"globalaccount_id": format!("ga-{plan}"), "subaccount_id": "sa", "user_id": "u"},
        "parameters": parameters,
    })
}

fn region(plan: &str) -> &'static str {
    match plan {
        AZURE | AZURE_LITE => "westeurope",
        GCP => "europe-west3",
        GDCH => "us-west16",
        SAP => "eu-de-1",
        _ => "eu-central-1",
    }
}

/// A name and a region, and these.
pub(crate) fn parameters(plan: &str, more: &Value) -> Value {
    let mut all = json!({"name": "n"});
    if ![TRIAL, OWN_CLUSTER].contains(&plan) {
        all["region"] = json!(region(plan));
    }
    all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    all
}

pub(crate) fn pool(more: &Value) -> Value {
    let mut pool = json!({"name": "a", "machineType": "m6i.large", "haZones": true, "autoScalerMin": 3, "autoScalerMax": 20});
    pool.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"additionalWorkerNodePools": [pool]})
}

pub(crate) fn issuer(more: &Value) -> Value {
    let mut issuer = json!({
        "clientID": "c", "issuerURL": "https://issuer.example.com", "groupsClaim": "g", "groupsPrefix": "-",
        "usernameClaim": "u", "usernamePrefix": "-", "signingAlgs": ["RS256"],
    });
    issuer.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    issuer
}

pub(crate) fn oidc(more: &Value) -> Value {
    json!({"oidc": issuer(more)})
}

fn oidc_list(more: &Value) -> Value {
    json!({"oidc": {"list": [issuer(more)]}})
}

/// The plan, what is asked for beside a name and a region, the status, and what an error says.
pub(crate) type Case = (&'static str, Value, u16, &'static str);

fn pools() -> Vec<Case> {
    let two = |one: &str, other: &str| {
        let make = |name: &str| pool(&json!({"name": name}))["additionalWorkerNodePools"][0].clone();
        json!({"additionalWorkerNodePools": [make(one), make(other)]})
    };
    let names = "additionalWorkerNodePools.0.name";
    vec![
        (AWS, json!({"additionalWorkerNodePools": []}), 202, ""),
        (AWS, pool(&json!({})), 202, ""),
        (AWS, two("a", "b"), 202, ""),
        (AWS, two("a", "a"), 400, "additionalWorkerNodePools"),
        (AWS, pool(&json!({"haZones": false, "autoScalerMin": 0, "autoScalerMax": 1})), 202, ""),
        (AWS, pool(&json!({"haZones": false, "autoScalerMin": 0, "autoScalerMax": 0})), 400, "autoScalerMax"),
        (AWS, pool(&json!({"autoScalerMin": 2})), 400, "additionalWorkerNodePools.0.autoScalerMin"),
        (AWS, pool(&json!({"autoScalerMin": 21})), 400, "additionalWorkerNodePools.0.autoScalerMin"),
        (AWS, pool(&json!({"autoScalerMin": -1})), 400, "additionalWorkerNodePools.0.autoScalerMin"),
        (AWS, pool(&json!({"autoScalerMax": 301})), 400, "additionalWorkerNodePools.0.autoScalerMax"),
        (AWS, pool(&json!({"autoScalerMin": "3"})), 400, "additionalWorkerNodePools.0.autoScalerMin"),
        (AWS, pool(&json!({"name": ""})), 400, names),
        (AWS, pool(&json!({"name": "cpu-worker-0"})), 400, names),
        (AWS, pool(&json!({"name": "cpu-worker-00"})), 202, ""),
        (AWS, pool(&json!({"name": "Upper"})), 400, names),
        (AWS, pool(&json!({"name": "-a"})), 400, names),
        (AWS, pool(&json!({"name": "a-"})), 400, names),
        (AWS, pool(&json!({"name": "a".repeat(15)})), 202, ""),
        (AWS, pool(&json!({"name": "a".repeat(16)})), 400, names),
    ]
}

fn pool_machines() -> Vec<Case> {
    vec![
        (AWS, pool(&json!({"machineType": "g6.xlarge", "haZones": false, "autoScalerMin": 1})), 202, ""),
        (
            AWS,
            pool(&json!({"machineType": "Standard_D2s_v5"})),
            400,
            "additionalWorkerNodePools.0.machineType",
        ),
        (AWS, pool(&json!({"machineType": ""})), 400, "additionalWorkerNodePools.0.machineType"),
        (AWS, pool(&json!({"colour": "red"})), 400, "additionalWorkerNodePools.0.colour"),
        (AWS, json!({"additionalWorkerNodePools": [{"name": "a"}]}), 400, "machineType is missing"),
        (AWS, json!({"additionalWorkerNodePools": "a"}), 400, "additionalWorkerNodePools"),
        (
            AWS,
            pool(&json!({"labels": {"a": "b", "example.com/c": ""}, "annotations": {"x": "any thing"}})),
            202,
            "",
        ),
        (AWS, pool(&json!({"labels": {"a": "not a label"}})), 400, "additionalWorkerNodePools.0.labels.a"),
        (AWS, pool(&json!({"labels": {"-a": "b"}})), 400, "additionalWorkerNodePools.0.labels"),
        (AWS, pool(&json!({"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]})), 202, ""),
        (AWS, pool(&json!({"taints": [{"key": "k", "effect": "Never"}]})), 400, "taints.0.effect"),
        (AWS, pool(&json!({"taints": [{"key": "", "effect": "NoSchedule"}]})), 400, "taints.0.key"),
        (
            AWS,
            pool(
                &json!({"taints": [{"key": "k", "effect": "NoSchedule"}, {"key": "k", "value": "w", "effect": "NoSchedule"}]}),
            ),
            400,
            "taints.1",
        ),
        (AWS, pool(&json!({"gvisor": {"enabled": true}, "additionalVolumeSizeGi": 10})), 202, ""),
        (AWS, pool(&json!({"additionalVolumeSizeGi": -1})), 400, "additionalVolumeSizeGi"),
        (BUILD_AWS, pool(&json!({})), 202, ""),
        (TRIAL, pool(&json!({})), 400, "additionalWorkerNodePools"),
        (FREE, pool(&json!({})), 400, "additionalWorkerNodePools"),
        (
            AZURE_LITE,
            json!({"additionalWorkerNodePools": [
            {"name": "a", "machineType": "Standard_D2s_v5", "autoScalerMin": 0, "autoScalerMax": 40}]}),
            202,
            "",
        ),
        (
            AZURE_LITE,
            json!({"additionalWorkerNodePools": [
            {"name": "a", "machineType": "Standard_D2s_v5", "autoScalerMin": 0, "autoScalerMax": 41}]}),
            400,
            "autoScalerMax",
        ),
        (AZURE_LITE, pool(&json!({"machineType": "Standard_D2s_v5"})), 400, "haZones"),
    ]
}

fn issuers() -> Vec<Case> {
    vec![
        (AWS, json!({"oidc": {"clientID": "c", "issuerURL": "https://i.example.com"}}), 202, ""),
        (
            AWS,
            json!({"oidc": {"clientID": "", "issuerURL": "", "groupsClaim": "", "signingAlgs": []}}),
            202,
            "",
        ),
        (AWS, json!({"oidc": {}}), 202, ""),
        (AWS, json!({"oidc": {"clientID": "c"}}), 400, "oidc: issuerURL is missing"),
        (AWS, json!({"oidc": {"clientID": "c", "issuerURL": "http://i.example.com"}}), 400, "oidc.issuerURL"),
        (AWS, json!({"oidc": {"clientID": "", "issuerURL": "https://i.example.com"}}), 400, "oidc.clientID"),
        (AWS, oidc(&json!({"signingAlgs": ["RS256", "none"]})), 400, "oidc.signingAlgs"),
        (AWS, oidc(&json!({"groupsPrefix": "oidc:"})), 202, ""),
        (AWS, oidc(&json!({"requiredClaims": ["a=b", "c=d"]})), 202, ""),
        (AWS, oidc(&json!({"requiredClaims": ["-"]})), 202, ""),
        (AWS, oidc(&json!({"requiredClaims": ["a"]})), 400, "oidc.requiredClaims"),
        (AWS, oidc(&json!({"encodedJwksArray": "eyJrZXlzIjpbXX0="})), 202, ""),
        (AWS, oidc(&json!({"encodedJwksArray": "-"})), 202, ""),
        (AWS, oidc(&json!({"encodedJwksArray": "not base64"})), 400, "oidc.encodedJwksArray"),
        (AWS, oidc(&json!({"colour": "red"})), 400, "oidc.colour"),
        (AWS, oidc(&json!({"list": []})), 400, "oidc"),
        (AWS, json!({"oidc": {"list": []}}), 202, ""),
        (AWS, oidc_list(&json!({})), 202, ""),
        (AWS, json!({"oidc": {"list": [issuer(&json!({})), issuer(&json!({"clientID": "d"}))]}}), 202, ""),
        (AWS, json!({"oidc": {"list": [issuer(&json!({})), issuer(&json!({}))]}}), 400, "oidc.list"),
        (
            AWS,
            json!({"oidc": {"list": [{"clientID": "c", "issuerURL": "https://i.example.com"}]}}),
            400,
            "oidc.list.0",
        ),
        (AWS, oidc_list(&json!({"requiredClaims": ["a=b"]})), 202, ""),
        (AWS, oidc_list(&json!({"requiredClaims": ["-"]})), 400, "oidc.list.0.requiredClaims"),
        (AWS, oidc_list(&json!({"encodedJwksArray": "eyJrZXlzIjpbXX0="})), 202, ""),
        (AWS, oidc_list(&json!({"encodedJwksArray": "-"})), 400, "oidc.list.0.encodedJwksArray"),
        (AWS, oidc_list(&json!({"issuerURL": "https://i.example.com?a=b"})), 400, "oidc.list.0.issuerURL"),
        (AWS, oidc_list(&json!({"groupsClaim": ""})), 400, "oidc.list.0.groupsClaim"),
        (TRIAL, oidc_list(&json!({})), 202, ""),
    ]
}

fn others() -> Vec<Case> {
    let module = |more: Value| json!({"modules": {"list": [more]}});
    vec![
        (AWS, json!({"modules": {"default": true}}), 202, ""),
        (AWS, json!({"modules": {"default": true, "channel": "fast"}}), 202, ""),
        (AWS, json!({"modules": {"list": []}}), 202, ""),
        (
            AWS,
            module(json!({"name": "keda", "channel": "regular", "customResourcePolicy": "Ignore"})),
            202,
            "",
        ),
        (AWS, module(json!({"name": "keda", "channel": "", "customResourcePolicy": ""})), 202, ""),
        (AWS, json!({"modules": {"channel": "fast", "list": [{"name": "keda"}]}}), 202, ""),
        (AWS, module(json!({"name": ""})), 400, "modules.list.0.name"),
        (AWS, module(json!({"name": "keda", "channel": "slow"})), 400, "modules.list.0.channel"),
        (
            AWS,
            module(json!({"name": "keda", "customResourcePolicy": "Keep"})),
            400,
            "modules.list.0.customResourcePolicy",
        ),
        (AWS, module(json!({"name": "keda", "colour": "red"})), 400, "modules.list.0.colour"),
        (AWS, json!({"modules": {"default": true, "list": []}}), 400, "modules"),
        (
            AWS,
            json!({"modules": {"list": [{"name": "keda"}, {"name": "keda", "channel": "fast"}]}}),
            400,
            "modules.list.1.name",
        ),
        (TRIAL, json!({"modules": {"list": [{"name": "keda"}]}}), 202, ""),
    ]
}

fn filters() -> Vec<Case> {
    let acl = |cidrs: Value| json!({"accessControlList": {"allowedCIDRs": cidrs}});
    vec![
        (AWS, acl(json!([])), 202, ""),
        (AWS, acl(json!(["5.6.0.0/16", "7.8.9.10/32"])), 202, ""),
        (AWS, acl(json!(["5.6.7.8/16"])), 400, "accessControlList.allowedCIDRs.0"),
        (AWS, acl(json!(["hush"])), 400, "accessControlList.allowedCIDRs.0"),
        (AWS, acl(json!("5.6.0.0/16")), 400, "accessControlList.allowedCIDRs"),
        (AWS, json!({"accessControlList": {}}), 400, "allowedCIDRs is missing"),
        (SAP, acl(json!(["5.6.0.0/16"])), 400, "accessControlList"),
        (AWS, json!({"ingressFiltering": true}), 202, ""),
        (AZURE, json!({"ingressFiltering": true}), 202, ""),
        (AWS, json!({"ingressFiltering": false}), 202, ""),
        (AWS, json!({"ingressFiltering": "yes"}), 400, "ingressFiltering"),
        (SAP, json!({"ingressFiltering": true}), 400, "ingressFiltering"),
        (TRIAL, json!({"ingressFiltering": false}), 400, "ingressFiltering"),
    ]
}

fn networks() -> Vec<Case> {
    let networking = |networking: Value| json!({"networking": networking});
    vec![
        (AWS, json!({"colocateControlPlane": true}), 202, ""),
        (AWS, json!({"colocateControlPlane": 1}), 400, "colocateControlPlane"),
        (GDCH, json!({"colocateControlPlane": true}), 400, "colocateControlPlane"),
        (AWS, networking(json!({"nodes": "192.168.48.0/20"})), 202, ""),
        (
            AWS,
            networking(
                json!({"nodes": "192.168.48.0/20", "pods": "10.104.0.0/24", "services": "10.105.0.0/24"}),
            ),
            202,
            "",
        ),
        (AWS, networking(json!({"nodes": "192.168.48.0/20", "dualStack": true})), 202, ""),
        (GCP, networking(json!({"nodes": "192.168.48.0/20", "dualStack": true})), 202, ""),
        (
            AZURE,
            networking(json!({"nodes": "192.168.48.0/20", "dualStack": true})),
            400,
            "networking.dualStack",
        ),
        (AWS, networking(json!({"pods": "10.104.0.0/24"})), 400, "nodes is missing"),
        (AWS, networking(json!({"nodes": "1abcd"})), 400, "networking.nodes"),
        (AWS, networking(json!({"nodes": "10.250.0.1/19"})), 400, "networking.nodes"),
        (AWS, networking(json!({"nodes": "10.250.0.0/24"})), 400, "networking.nodes"),
        (AWS, networking(json!({"nodes": "10.242.0.0/18"})), 400, "networking.nodes"),
        (
            AWS,
            networking(json!({"nodes": "192.168.48.0/20", "pods": "10.104.0.0/13"})),
            400,
            "networking.services",
        ),
    ]
}

fn sizes() -> Vec<Case> {
    let networking = |networking: Value| json!({"networking": networking});
    vec![
        (AWS, json!({"gvisor": {"enabled": true}}), 202, ""),
        (AWS, json!({"gvisor": {}}), 400, "enabled is missing"),
        (AWS, json!({"additionalVolumeSizeGi": 20}), 202, ""),
        (AWS, json!({"additionalVolumeSizeGi": -1}), 400, "additionalVolumeSizeGi"),
        (AWS, json!({"auditLogAccess": true}), 202, ""),
        (TRIAL, json!({"auditLogAccess": true}), 400, "auditLogAccess"),
        (TRIAL, json!({"provider": "aws"}), 202, ""),
        (TRIAL, json!({"provider": "AWS", "region": "us"}), 202, ""),
        (TRIAL, json!({"provider": "GDCH"}), 400, "provider"),
        (AWS, json!({"provider": "aws"}), 400, "provider"),
        (AWS, json!({"machineType": "mi.large"}), 202, ""),
        (AWS, json!({"machineType": "m6i.16xlarge"}), 202, ""),
        (AWS, json!({"machineType": "g6.xlarge"}), 400, "machineType"),
        (GCP, json!({"machineType": "c2d-highmem-32"}), 400, "machineType"),
        (AWS, json!({"region": "eastus"}), 400, "region"),
        (FREE, json!({"region": "eastus"}), 400, "region"),
        (AZURE, json!({"autoScalerMin": 2}), 400, "autoScalerMin"),
        (AZURE, json!({"autoScalerMin": 3, "autoScalerMax": 300}), 202, ""),
        (AZURE, json!({"autoScalerMin": 21}), 400, "autoScalerMin"),
        (AZURE_LITE, json!({"autoScalerMin": 2, "autoScalerMax": 41}), 400, "autoScalerMax"),
        (ALICLOUD, json!({}), 202, ""),
        (ALICLOUD, json!({"machineType": "ecs.g9i.16xlarge"}), 202, ""),
        (GDCH, json!({}), 202, ""),
        (GDCH, networking(json!({"nodes": "192.168.48.0/20"})), 400, "networking"),
        (
            OWN_CLUSTER,
            json!({"kubeconfig": "k", "shootName": "s", "shootDomain": "d.example.com"}),
            400,
            "plan_id: own_cluster: a cluster of your own cannot be brought along",
        ),
        (OWN_CLUSTER, json!({}), 400, "kubeconfig is missing"),
    ]
}

pub(crate) fn cases() -> Vec<Case> {
    [pools(), pool_machines(), issuers(), others(), filters(), networks(), sizes()].concat()
}
