//! The parameters of today's broker: what a plan takes and what it refuses, with the status that platforms get, on a
//! back end that has a place for everything and on one that has not.

use ::runtimes::api::osb::OsbSettings;
use ::runtimes::model::Parameters;
use ::runtimes::model::catalog::{BackendKind, Catalog};
use serde_json::{Value, json};

use crate::osb_parameter_cases::{
    ALICLOUD, AWS, AZURE, Case, FREE, GCP, GDCH, SAP, SERVICE, TRIAL, body, cases, issuer, oidc, parameters,
    pool,
};
use crate::osb_world::{BrokerFixture, broker_from, instance, settings};

async fn broker_on(backend: BackendKind, compat_keb: bool) -> BrokerFixture {
    let osb = OsbSettings { compat_keb, ..OsbSettings::default() };
    broker_from(settings(osb), Catalog::built_in().with_backends(|_| backend)).await
}

async fn answers(world: &BrokerFixture, cases: Vec<Case>) {
    for (number, (plan, more, status, part)) in cases.into_iter().enumerate() {
        let id = format!("i-{number}");
        let mut body = body(plan, &parameters(plan, &more));
        body["context"]["globalaccount_id"] = json!(id);
        let answer = world.put(&id, &body).await;
        assert_eq!(answer.status, status, "{plan} {more}: {}", answer.text);
        assert!(
            answer.text.contains(part) && !answer.text.contains("hush"),
            "{plan} {more}: {}",
            answer.text
        );
    }
}

#[tokio::test]
async fn a_back_end_with_a_place_for_everything_takes_what_is_good() {
    let cases = cases();
    assert!(cases.len() > 130, "{}", cases.len());
    answers(&broker_on(BackendKind::InfrastructureManager, false).await, cases).await;
}

#[tokio::test]
async fn the_same_is_taken_in_the_place_of_the_old_broker_but_for_what_it_ignores() {
    let ignored = [
        json!({"provider": "aws"}),
        json!({"colocateControlPlane": true}),
        json!({"networking": {"nodes": "192.168.48.0/20"}}),
    ];
    let mut cases = cases();
    for (plan, more, status, part) in &mut cases {
        if ([AWS, GDCH].contains(plan)) && *status == 400 && ignored.contains(more) {
            (*status, *part) = (202, "");
        }
    }
    answers(&broker_on(BackendKind::InfrastructureManager, true).await, cases).await;
}

#[tokio::test]
async fn the_provisioner_refuses_by_name_what_it_has_no_place_for() {
    let world = broker_on(BackendKind::Provisioner, false).await;
    let mut refused = 0;
    let mut cases = cases();
    for (plan, more, status, part) in &mut cases {
        if *status != 202 {
            continue;
        }
        let read = Parameters::read(parameters(plan, more).as_object().unwrap()).unwrap();
        if [ALICLOUD, GDCH].contains(plan) {
            (*status, *part) = (400, "makes no clusters of");
        } else if !read.unsupported_by_provisioner().is_empty() {
            refused += 1;
            (*status, *part) = (400, "the back end of this plan, provisioner, has no ");
        }
    }
    answers(&world, cases).await;
    assert!(refused > 20, "{refused}");
    let shown = world.ask("GET", "/v2/catalog").send().await;
    for (name, is_offered) in [("alicloud", false), ("gdch", false), ("own_cluster", false), ("aws", true)] {
        let plans = shown.json["services"][0]["plans"].as_array().unwrap();
        assert_eq!(plans.iter().any(|plan| plan["name"] == name), is_offered, "{name}");
    }
}

#[tokio::test]
async fn a_change_is_held_against_what_is_there() {
    let world = broker_on(BackendKind::InfrastructureManager, false).await;
    let two = json!({"additionalWorkerNodePools": [
        {"name": "general", "machineType": "m6i.large", "haZones": true, "autoScalerMin": 3, "autoScalerMax": 20},
        {"name": "gpu", "machineType": "g6.xlarge", "haZones": false, "autoScalerMin": 1, "autoScalerMax": 1}],
        "auditLogAccess": true, "oidc": {"list": [issuer(&json!({}))]}});
    assert_eq!(world.put("a", &body(AWS, &parameters(AWS, &two))).await.status, 202);
    world.until("a", "succeeded").await;
    let with = |more: Value| pool(&more);
    for (change, status, part) in [
        (with(json!({"name": "general", "haZones": false, "autoScalerMin": 1})), 400, "haZones"),
        (with(json!({"name": "general", "machineType": "g6.xlarge"})), 400, "machineType"),
        (with(json!({"name": "gpu", "haZones": false})), 400, "machineType"),
        (json!({"auditLogAccess": false}), 400, "auditLogAccess"),
        (json!({"oidc": {"clientID": "c", "issuerURL": "https://i.example.com"}}), 400, "oidc"),
        (json!({"region": "eu-west-2"}), 400, "region"),
        (json!({"networking": {"nodes": "192.168.48.0/20"}}), 400, "networking"),
        (json!({"modules": {"default": true}}), 400, "modules"),
        (json!({"colocateControlPlane": true}), 400, "colocateControlPlane"),
        (json!({"accessControlList": {"allowedCIDRs": ["5.6.7.8/16"]}}), 400, "accessControlList"),
        (json!({"oidc": {"list": []}}), 202, ""),
        (with(json!({"name": "general", "machineType": "m5.large", "autoScalerMax": 9})), 202, ""),
        (with(json!({"name": "new", "machineType": "g6.xlarge", "haZones": false})), 202, ""),
        (json!({"additionalWorkerNodePools": []}), 202, ""),
        (json!({"accessControlList": {"allowedCIDRs": ["5.6.0.0/16"]}, "ingressFiltering": true}), 202, ""),
    ] {
        let answer = world.patch("a", &json!({"service_id": SERVICE, "parameters": change})).await;
        assert_eq!(answer.status, status, "{change}: {}", answer.text);
        assert!(answer.text.contains(part), "{change}: {}", answer.text);
        world.until("a", "succeeded").await;
    }
    let shown = world.get("a").await;
    assert_eq!(shown.json["parameters"]["additionalWorkerNodePools"], json!([]));
}

#[tokio::test]
async fn an_object_of_oidc_is_laid_over_the_one_that_is_there() {
    let world = broker_on(BackendKind::InfrastructureManager, true).await;
    let first = oidc(&json!({"requiredClaims": ["a=b"], "encodedJwksArray": "e30="}));
    assert_eq!(world.put("a", &body(AWS, &parameters(AWS, &first))).await.status, 202);
    world.until("a", "succeeded").await;
    let change = json!({"oidc": {"clientID": "new", "issuerURL": "https://issuer.example.com", "groupsClaim": "",
                                 "signingAlgs": [], "requiredClaims": ["-"], "encodedJwksArray": "-"}});
    let answer = world.patch("a", &json!({"service_id": SERVICE, "parameters": change})).await;
    assert_eq!(answer.status, 202, "{}", answer.text);
    world.until("a", "succeeded").await;
    let expect = issuer(&json!({"clientID": "new"}));
    assert_eq!(world.get("a").await.json["parameters"]["oidc"], expect);
}

#[tokio::test]
async fn regions_depend_on_the_region_of_the_platform() {
    let world = broker_on(BackendKind::InfrastructureManager, true).await;
    for (number, (platform, plan, more, status)) in [
        ("cf-eu10", AWS, json!({"region": "us-west-2"}), 202),
        ("cf-eu11", AWS, json!({"region": "us-west-2"}), 400),
        ("cf-eu11", AWS, json!({"region": "eu-central-1"}), 202),
        ("cf-ch20", AZURE, json!({"region": "westeurope"}), 400),
        ("cf-ch20", AZURE, json!({"region": "switzerlandnorth"}), 202),
        ("cf-eu20", AZURE, json!({"region": "switzerlandnorth"}), 400),
        ("cf-sa30", GCP, json!({"region": "us-central1"}), 400),
        ("cf-sa30", GCP, json!({"region": "me-central2"}), 202),
        ("cf-eu20", SAP, json!({"region": "eu-de-1"}), 202),
        ("cf-eu20", SAP, json!({"region": "na-us-1"}), 400),
        ("cf-eu11", SAP, json!({"region": "eu-de-1"}), 400),
        ("cf-eu10", FREE, json!({"region": "eu-central-1"}), 202),
        ("cf-eu10", FREE, json!({"region": "westeurope"}), 400),
        ("cf-eu21", FREE, json!({"region": "westeurope"}), 202),
        ("cf-eu21", FREE, json!({"region": "eu-central-1"}), 400),
        ("cf-eu10", TRIAL, json!({"region": ""}), 202),
        ("cf-us10", TRIAL, json!({}), 202),
        ("cf-us10", AWS, json!({"region": ""}), 202),
    ]
    .into_iter()
    .enumerate()
    {
        let mut body = body(plan, &parameters(plan, &more));
        body["context"]["globalaccount_id"] = json!(format!("ga-{number}"));
        let path = format!("/oauth/{platform}{}?accepts_incomplete=true", instance(&format!("r-{number}")));
        let answer = world.ask("PUT", &path).json(&body).send().await;
        assert_eq!(answer.status, status, "{platform} {plan} {more}: {}", answer.text);
    }
    let record = |id: &'static str| {
        let engine = world.engine.clone();
        async move {
            let row = engine.resource(&format!("runtime:{id}")).await.unwrap().unwrap();
            let record: Value = serde_json::from_str(&row.record).unwrap();
            (record["provider"].as_str().unwrap().to_owned(), record["region"].as_str().unwrap().to_owned())
        }
    };
    assert_eq!(record("r-13").await, ("azure".into(), "westeurope".into()));
    assert_eq!(record("r-15").await, ("azure".into(), "westeurope".into()));
    assert_eq!(record("r-16").await, ("azure".into(), "eastus".into()));
    assert_eq!(
        record("r-17").await,
        ("aws".into(), "eu-central-1".into()),
        "the first region where none is given"
    );
    let regions = |shown: &Value, name: &str| {
        let plans = shown["services"][0]["plans"].as_array().unwrap();
        let plan = plans.iter().find(|plan| plan["name"] == name).cloned()?;
        let of = plan.pointer("/schemas/service_instance/create/parameters/properties/region/enum");
        Some(of.unwrap().as_array().unwrap().len())
    };
    let swiss = world.ask("GET", "/oauth/cf-ch20/v2/catalog").send().await.json;
    assert_eq!((regions(&swiss, "azure"), regions(&swiss, "sap-converged-cloud")), (Some(1), None));
    let all = world.ask("GET", "/v2/catalog").send().await.json;
    assert_eq!((regions(&all, "azure"), regions(&all, "sap-converged-cloud")), (Some(11), Some(7)));
}

#[tokio::test]
async fn the_old_broker_ignores_what_it_does_not_know() {
    let world = broker_on(BackendKind::InfrastructureManager, true).await;
    let more = json!({"colour": "red", "machineType": "m6i.large"});
    let mut first = body(TRIAL, &parameters(TRIAL, &more));
    assert_eq!(world.put("a", &first).await.status, 202);
    world.until("a", "succeeded").await;
    assert_eq!(world.get("a").await.json["parameters"], json!({"name": "n"}));
    first["parameters"]["colour"] = json!("blue");
    assert_eq!(world.put("a", &first).await.status, 202, "it is the same request");
    let change = json!({"service_id": SERVICE, "parameters": {"colour": "green", "machineType": "m5.large"}});
    assert_eq!(world.patch("a", &change).await.status, 200, "nothing to do");
}
