//! The provisioner when it says no, when its operations fail, and when the network does.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::caller::{HttpClient, PROVISION, config, only_error};

const DEPROVISION: &str = "mutation($id: String!) { result: deprovisionRuntime(id: $id) }";
const STATUS: &str = "query($id: String!) { result: runtimeOperationStatus(id: $id) { state } }";
const RUNTIME: &str =
    "query($id: String!) { result: runtimeStatus(id: $id) { hibernationStatus { hibernated } } }";

#[tokio::test]
async fn a_call_without_a_tenant_is_refused_with_its_class() {
    let caller = HttpClient::new().await;
    let calls = [
        (json!({"query": PROVISION, "variables": {"config": config("i-1")}}), json!({"result": null})),
        (json!({"query": RUNTIME, "variables": {"id": "x"}}), json!({"result": null})),
        (json!({"query": DEPROVISION, "variables": {"id": "x"}}), json!(null)),
    ];
    for (call, data) in calls {
        for tenant in [None, Some("")] {
            let request = caller.request(Method::POST, "/provisioner/graphql").json(&call);
            let request =
                tenant.into_iter().fold(request, |request, tenant| request.header("tenant", tenant));
            let response = request.send().await.unwrap();
            assert_eq!(response.status(), StatusCode::OK);
            let body: Value = response.json().await.unwrap();
            assert_eq!(body["data"], data, "{body}");
            assert_eq!(only_error(&body), ("tenant header is empty".into(), json!(400)));
        }
    }
    assert_eq!(caller.ledger().await, []);
}

#[tokio::test]
async fn requests_that_break_a_rule_make_nothing() {
    let caller = HttpClient::new().await;
    let cases = [
        ("/runtimeInput", json!("text"), "runtimeInput is missing"),
        ("/clusterConfig", json!("text"), "clusterConfig must be an object"),
        ("/clusterConfig/gardenerConfig", json!(7), "gardenerConfig must be an object"),
        ("/kymaConfig/components", json!([]), "components is empty"),
        ("/kymaConfig/components/0/component", json!("core"), "compass-runtime-agent is required"),
        ("/kymaConfig/version", json!("0.0.1"), "\"0.0.1\" was not found"),
        ("/kymaConfig/version", json!("latest"), "\"latest\" was not found"),
    ];
    for (pointer, value, part) in cases {
        let mut config = config("i-1");
        *config.pointer_mut(pointer).unwrap() = value;
        let (message, code) = caller.error(PROVISION, json!({"config": config})).await;
        assert!(message.contains(part), "{message:?} does not contain {part:?}");
        assert_eq!(code, 400, "{pointer}");
    }
    assert_eq!(caller.ledger().await, []);
    assert_eq!(caller.get("/provisioner/runtimes").await, json!({"runtimes": []}));
}

#[tokio::test]
async fn what_the_schema_does_not_allow_is_not_executed() {
    let caller = HttpClient::new().await;
    let mut cases = vec![("{ nothing }".to_owned(), json!({})), ("mutation {".to_owned(), json!({}))];
    let changes = [
        ("/runtimeInput", json!(null)),
        ("/runtimeInput/name", json!(null)),
        ("/clusterConfig/gardenerConfig/autoScalerMin", json!("three")),
        ("/clusterConfig/gardenerConfig/providerSpecificConfig/azureConfig/zones", json!([null])),
        ("/kymaConfig/components/0", json!({"component": "c", "namespace": "n", "colour": "red"})),
        ("/kymaConfig/configuration/0/secret", json!("yes")),
    ];
    for (pointer, value) in changes {
        let mut config = config("i-1");
        *config.pointer_mut(pointer).unwrap() = value;
        cases.push((PROVISION.to_owned(), json!({"config": config})));
    }
    for (open, close) in [("[", "]"), ("{a:", "}"), ("{a", "}")] {
        for times in [33, 1000, 300_000] {
            let (open, close) = (open.repeat(times), close.repeat(times));
            cases.push((format!("{{ result: runtimeStatus(id: {open}"), json!({})));
            cases.push((
                format!("{{ result: runtimeStatus(id: {open}1{close}) {{ hibernationStatus }} }}"),
                json!({}),
            ));
            cases.push((format!("{open}{close}"), json!({})));
        }
    }
    for (query, variables) in cases {
        let response = caller.try_call(&query, variables.clone()).await.unwrap();
        assert_eq!(response.status(), StatusCode::UNPROCESSABLE_ENTITY, "{variables}");
        let body: Value = response.json().await.unwrap();
        assert!(!body["errors"][0]["message"].as_str().unwrap().is_empty());
        assert_eq!(body["data"], json!(null));
    }
    let garbled = caller.request(Method::POST, "/provisioner/graphql").body("{").send().await.unwrap();
    assert_eq!(garbled.status(), StatusCode::BAD_REQUEST);
    let huge = json!({"query": "#".repeat(3 * 1024 * 1024)});
    assert_eq!(caller.send(Method::POST, "/provisioner/graphql", huge).await, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(caller.ledger().await, []);
}

#[tokio::test]
async fn a_long_list_of_overrides_fits() {
    let caller = HttpClient::new().await;
    let mut config = config("i-1");
    let entry = |number: usize| json!({"key": format!("key{number}"), "value": "x".repeat(1000)});
    config["kymaConfig"]["configuration"] = (0..1000).map(entry).collect();
    let answer = caller.provision(&config).await;
    let id = answer["runtimeID"].as_str().unwrap();
    let seen = caller.get(&format!("/provisioner/runtimes/{id}?reveal=true")).await;
    assert!(seen["input"] == config, "not all of the overrides arrived");
}

#[tokio::test]
async fn one_operation_at_a_time_works_on_a_runtime() {
    let caller = HttpClient::new().await;
    caller.script(json!({"provision_ms": 60_000, "deprovision_ms": 60_000})).await;
    let id = json!({"id": caller.provision(&config("i-1")).await["runtimeID"]});
    let hibernate = "mutation($id: String!) { result: hibernateRuntime(id: $id) { id } }";
    for query in [DEPROVISION, hibernate] {
        let (message, code) = caller.error(query, id.clone()).await;
        assert!(message.contains("the last one is in progress"), "{message}");
        assert_eq!(code, 400);
    }
    caller.advance(60).await;
    caller.result(DEPROVISION, id.clone()).await;
    assert_eq!(caller.error(DEPROVISION, id.clone()).await.1, 400);
    caller.advance(60).await;
    // It is gone now, and a runtime that is gone is as unknown as one that never was.
    assert_eq!(caller.error(DEPROVISION, id.clone()).await.1, 500);
    assert_eq!(caller.error(RUNTIME, id).await.1, 500);
}

#[tokio::test]
async fn unknown_ids_are_an_internal_error_and_foreign_ones_a_bad_request() {
    let caller = HttpClient::new().await;
    let upgrade =
        "mutation($id: String!) { result: upgradeShoot(id: $id, config: {gardenerConfig: {}}) { id } }";
    for query in [DEPROVISION, STATUS, RUNTIME, upgrade] {
        let (message, code) = caller.error(query, json!({"id": "unknown"})).await;
        assert!(message.contains("\"unknown\" was not found"), "{message}");
        assert_eq!(code, 500);
    }
    let answer = caller.provision(&config("i-1")).await;
    let own = [(DEPROVISION, &answer["runtimeID"]), (RUNTIME, &answer["runtimeID"]), (STATUS, &answer["id"])];
    for (query, id) in own {
        let request = caller.request(Method::POST, "/provisioner/graphql").header("tenant", "ga-2");
        let response = request.json(&json!({"query": query, "variables": {"id": id}})).send().await.unwrap();
        let (message, code) = only_error(&response.json().await.unwrap());
        assert!(message.contains("tenant"), "{message}");
        assert_eq!(code, 400);
    }
    assert_eq!(caller.status(&answer["id"]).await["state"], "Succeeded");
}

#[tokio::test]
async fn scripted_operations_fail_with_a_reason_for_those_who_match() {
    let caller = HttpClient::new().await;
    let failure = json!({
        "match": {"instance_id": "i-1"}, "operation": "Provision", "kind": "operation",
        "message": "quota", "reason": "ERR_INFRA_QUOTA_EXCEEDED", "component": "gardener",
    });
    caller.fail(failure).await;
    let spared = caller.provision(&config("i-2")).await;
    let hit = caller.provision(&config("i-1")).await;
    assert_eq!(caller.status(&spared["id"]).await["state"], "Succeeded");
    let status = caller.status(&hit["id"]).await;
    assert_eq!((&status["state"], &status["message"]), (&json!("Failed"), &json!("quota")));
    let error = json!({"errMessage": "quota", "reason": "ERR_INFRA_QUOTA_EXCEEDED", "component": "gardener"});
    assert_eq!(status["lastError"], error);
    // It is still there, so a client has to take it back.
    assert_eq!(caller.ledger().await.len(), 2);
    let id = hit["runtimeID"].as_str().unwrap();
    let upgrade =
        "mutation($id: String!) { result: upgradeShoot(id: $id, config: {gardenerConfig: {}}) { id } }";
    assert_eq!(caller.error(upgrade, json!({"id": id})).await.1, 400);
    caller.fail(json!({"match": {"runtime_id": id}, "operation": "Deprovision", "kind": "operation"})).await;
    let operation = caller.deprovision(id).await;
    assert_eq!(caller.status(&operation).await["state"], "Failed");
    assert_eq!(caller.ledger().await.len(), 2);
    let operation = caller.deprovision(id).await;
    assert_eq!(caller.status(&operation).await["state"], "Succeeded");
    assert_eq!(caller.ledger().await.len(), 1);
}

#[tokio::test]
async fn scripted_errors_refuse_the_call_until_they_are_spent_or_cleared() {
    let caller = HttpClient::new().await;
    let failure = |code: u16, times: u32| {
        json!({"match": {"tenant": "ga-1", "name": "name of i-1"}, "operation": "Provision", "kind": "error",
               "error_code": code, "times": times})
    };
    caller.fail(failure(502, 1)).await;
    caller.fail(failure(403, 0)).await;
    let config = json!({"config": config("i-1")});
    for code in [502, 403, 403] {
        assert_eq!(caller.error(PROVISION, config.clone()).await, ("a scripted failure".into(), json!(code)));
    }
    assert_eq!(caller.get("/provisioner/faults").await["faults"][0]["hits"], 2);
    assert_eq!(caller.ledger().await, []);
    caller.send(Method::DELETE, "/provisioner/faults", json!(null)).await;
    let answer = caller.result(PROVISION, config).await;
    caller.fail(json!({"operation": "Status", "kind": "error", "error_code": 501})).await;
    assert_eq!(caller.error(STATUS, json!({"id": answer["id"]})).await.1, 501);
    assert_eq!(caller.status(&answer["id"]).await["state"], "Succeeded");
}

#[tokio::test]
async fn nonsense_in_scripts_is_refused() {
    let caller = HttpClient::new().await;
    let cases = [
        (Method::PUT, "/provisioner/script", json!({"provision_s": 1})),
        (Method::PUT, "/provisioner/script", json!({"provision_ms": 8 * 24 * 3600 * 1000})),
        (Method::POST, "/provisioner/faults", json!({"operation": "Explode", "kind": "error"})),
        (Method::POST, "/provisioner/faults", json!({"operation": "Status", "kind": "operation"})),
        (
            Method::POST,
            "/provisioner/faults",
            json!({"operation": "Upgrade", "kind": "error", "error_code": 1}),
        ),
        (
            Method::POST,
            "/provisioner/faults",
            json!({"operation": "Upgrade", "kind": "error", "match": {"x": "y"}}),
        ),
        (Method::POST, "/clock", json!({"advance_ms": -1})),
    ];
    for (method, path, body) in cases {
        assert_eq!(caller.send(method, path, body.clone()).await, StatusCode::BAD_REQUEST, "{path} {body}");
    }
    let script = json!({"provision_ms": 0, "deprovision_ms": 0, "upgrade_ms": 0, "dialect": "2022"});
    assert_eq!(caller.get("/provisioner/script").await, script);
    assert_eq!(caller.get("/provisioner/faults").await, json!({"faults": []}));
}

#[tokio::test]
async fn a_lost_answer_leaves_a_runtime_that_no_one_was_told_about() {
    let caller = HttpClient::new().await;
    let first = caller.provision(&config("i-0")).await;
    caller.arm(json!({"system": "provisioner", "kind": "drop_after", "about": "provisionRuntime"})).await;
    // It waits for its call and spares the others.
    let operation = caller.deprovision(first["runtimeID"].as_str().unwrap()).await;
    assert_eq!(caller.status(&operation).await["state"], "Succeeded");
    let error = caller.try_call(PROVISION, json!({"config": config("i-1")})).await.unwrap_err();
    assert!(error.is_request(), "{error:?}");
    let seen = caller.get("/provisioner/runtimes?instance_id=i-1").await;
    let id = seen["runtimes"][0]["id"].as_str().unwrap();
    assert_eq!(seen["runtimes"][0]["is_provisioned"], true);
    assert_eq!(caller.ledger().await, [("provisioner".into(), "runtime".into(), id.into())]);
}

#[tokio::test]
async fn faults_hit_the_calls_but_not_the_controls() {
    let caller = HttpClient::new().await;
    for kind in ["error", "garbage", "drop_before"] {
        caller.arm(json!({"system": "provisioner", "kind": kind})).await;
    }
    caller.get("/provisioner/script").await;
    let variables = json!({"config": config("i-1")});
    let error = caller.try_call(PROVISION, variables.clone()).await.unwrap();
    assert_eq!(error.status(), StatusCode::SERVICE_UNAVAILABLE);
    let garbage = caller.try_call(PROVISION, variables.clone()).await.unwrap();
    assert!(garbage.json::<Value>().await.is_err());
    assert!(caller.try_call(PROVISION, variables).await.is_err());
    assert_eq!(caller.ledger().await, []);
    caller.runtime("i-1").await;
}
