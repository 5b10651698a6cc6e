//! The provisioner in good times and in bad ones.

use std::time::Duration;

use axum::Json;
use axum::response::IntoResponse;
use client_tests::{TIMEOUT, TestServer};
use director::Director;
use engine::secret::ExposeSecret;
use http_client::DriverError;
use provisioner::{
    Dialect, GardenerUpgradeInput, HttpProvisioner, OnBehalfOf, OperationState, OperationType, Provisioner,
    UpgradeRuntimeInput, UpgradeShootInput, provision_runtime_query,
};
use serde_json::{Value, json};

use super::fixture::{CALLER, ProvisionerFixture, runtime};

/// For servers that answer everything in the same way.
fn of_2022(url: &str) -> HttpProvisioner {
    HttpProvisioner::new(url, TIMEOUT).unwrap().with_dialect(Some(Dialect::Of2022))
}

#[tokio::test]
async fn a_runtime_is_made_changed_and_taken_down() {
    let ProvisionerFixture { sandbox: _sandbox, provisioner, .. } = &ProvisionerFixture::new().await;
    let started = provisioner.provision_runtime(CALLER, &runtime("i-1")).await.unwrap();
    assert_eq!((started.operation, started.state), (OperationType::Provision, OperationState::InProgress));
    assert_eq!(started.message, "Provisioning started");
    let runtime_id = started.runtime_id.unwrap();

    let ended = provisioner.operation_status(CALLER, &started.id).await.unwrap();
    assert_eq!((ended.state, ended.last_error), (OperationState::Succeeded, None));
    assert_eq!(ended.runtime_id.as_ref(), Some(&runtime_id));

    let gardener_config = GardenerUpgradeInput { auto_scaler_max: Some(7), ..Default::default() };
    let config = UpgradeShootInput { gardener_config, administrators: None };
    let upgrade = provisioner.upgrade_shoot(CALLER, &runtime_id, &config).await.unwrap();
    assert_eq!(upgrade.operation, OperationType::UpgradeShoot);

    let mut kyma_config = runtime("i-1").kyma_config.unwrap();
    kyma_config.version = "1.14.0".into();
    let upgrade =
        provisioner.upgrade_runtime(CALLER, &runtime_id, &UpgradeRuntimeInput { kyma_config }).await.unwrap();
    assert_eq!(upgrade.operation, OperationType::Upgrade);

    let status = provisioner.runtime_status(CALLER, &runtime_id).await.unwrap();
    assert_eq!(status.last_operation.unwrap().id, upgrade.id);
    assert_eq!(status.connection.as_deref(), Some("Connected"));
    let configuration = status.configuration.unwrap();
    assert_eq!(configuration.kyma_version.as_deref(), Some("1.14.0"));
    let gardener = configuration.gardener.unwrap();
    assert_eq!(gardener.name.as_deref(), Some("c-1234567"));
    assert_eq!((gardener.auto_scaler_min, gardener.auto_scaler_max), (Some(3), Some(7)));
    let kubeconfig = configuration.kubeconfig.unwrap();
    assert!(kubeconfig.expose_secret().contains(&format!("/clusters/{runtime_id}")));

    let operation_id = provisioner.deprovision_runtime(CALLER, &runtime_id).await.unwrap();
    let ended = provisioner.operation_status(CALLER, &operation_id).await.unwrap();
    assert_eq!((ended.operation, ended.state), (OperationType::Deprovision, OperationState::Succeeded));
}

#[tokio::test]
async fn everything_arrives_as_it_was_given_secrets_included() {
    let fixture = ProvisionerFixture::new().await;
    let input = runtime("i-\"1\"");
    let started = fixture.provisioner.provision_runtime(CALLER, &input).await.unwrap();
    let id = started.runtime_id.unwrap();
    let received = fixture.get(&format!("/provisioner/runtimes/{id}?reveal=true")).await;
    let mut expect = input.masked()["config"].take();
    expect["kymaConfig"]["components"][1]["configuration"][0]["value"] = json!("hunter2\"\n");
    expect["kymaConfig"]["configuration"][1]["value"] = json!("hunter3");
    assert_eq!(without_nulls(received["input"].clone()), expect);
    let masked = fixture.get(&format!("/provisioner/runtimes/{id}")).await;
    assert_eq!(without_nulls(masked["input"].clone()), input.masked()["config"]);
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
            fields.map(|(name, value)| (name, without_nulls(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

#[tokio::test]
async fn a_failed_operation_says_why() {
    let fixture = ProvisionerFixture::new().await;
    let failure = json!({"match": {"instance_id": "i-1"}, "operation": "Provision", "kind": "operation",
        "message": "no quota", "reason": "ERR_INFRA_QUOTA_EXCEEDED", "component": "gardener"});
    fixture.post("/provisioner/faults", &failure).await;
    let started = fixture.provisioner.provision_runtime(CALLER, &runtime("i-1")).await.unwrap();
    let ended = fixture.provisioner.operation_status(CALLER, &started.id).await.unwrap();
    assert_eq!((ended.operation, ended.state), (OperationType::Provision, OperationState::Failed));
    let error = ended.last_error.unwrap();
    assert_eq!(error.message, "no quota");
    assert_eq!((error.reason.as_str(), error.component.as_str()), ("ERR_INFRA_QUOTA_EXCEEDED", "gardener"));
    let status = fixture.provisioner.runtime_status(CALLER, &ended.runtime_id.unwrap()).await.unwrap();
    assert!(status.configuration.unwrap().kubeconfig.is_none());
}

#[tokio::test]
async fn errors_are_sorted_by_their_code() {
    let fixture = ProvisionerFixture::new().await;
    for (code, is_final) in [(400, true), (403, true), (500, false), (501, false), (502, false)] {
        let failure = json!({"operation": "Provision", "kind": "error", "error_code": code});
        fixture.post("/provisioner/faults", &failure).await;
        let error = fixture.provisioner.provision_runtime(CALLER, &runtime("i-1")).await.unwrap_err();
        assert_eq!(error.is_final(), is_final, "{code}: {error:?}");
        assert!(error.to_string().ends_with(": a scripted failure"), "{error}");
    }
    let unknown = OnBehalfOf { tenant: "", sub_account: None };
    let error = fixture.provisioner.provision_runtime(unknown, &runtime("i-1")).await.unwrap_err();
    assert_eq!(error.to_string(), "provisioner refused: tenant header is empty");
    assert_eq!(fixture.get("/provisioner/runtimes").await["runtimes"], json!([]));

    let started = fixture.provisioner.provision_runtime(CALLER, &runtime("i-1")).await.unwrap();
    let outsider = OnBehalfOf { tenant: "ga-2", sub_account: None };
    let id = started.runtime_id.unwrap();
    assert!(fixture.provisioner.deprovision_runtime(outsider, &id).await.unwrap_err().is_final());
    let error = fixture.provisioner.operation_status(CALLER, "no-such").await.unwrap_err();
    assert!(matches!(error, DriverError::Broken { .. }), "{error:?}");

    let odd = OnBehalfOf { tenant: "ga\n1", sub_account: None };
    let error = fixture.provisioner.operation_status(odd, &started.id).await.unwrap_err();
    assert_eq!(error.to_string(), "provisioner refused: the tenant has characters that no header can carry");
}

#[tokio::test]
async fn faults_come_back_sorted() {
    let fixture = ProvisionerFixture::new().await;
    let cases = [
        (json!({"kind": "drop_before"}), "not answering"),
        (json!({"kind": "garbage"}), "is broken"),
        (json!({"kind": "error", "status": 500}), "is broken: 500 Internal Server Error without a reason"),
        (json!({"kind": "error", "status": 404}), "is broken: 404 Not Found without a reason"),
        (json!({"kind": "error", "status": 503}), "is broken: 503 Service Unavailable without a reason"),
        (json!({"kind": "error", "status": 503, "retry_after_s": 9}), "asks to wait for 9 s"),
        (json!({"kind": "error", "status": 429, "retry_after_s": 9999}), "asks to wait for 300 s"),
        (json!({"kind": "error", "status": 429}), "asks to wait for 5 s"),
    ];
    for (fault, expect) in cases {
        fixture.arm("provisioner", fault.clone()).await;
        let error = fixture.provisioner.provision_runtime(CALLER, &runtime("i-1")).await.unwrap_err();
        assert!(error.to_string().contains(expect) && !error.is_final(), "{fault}: {error}");
    }
    assert_eq!(fixture.get("/provisioner/runtimes").await["runtimes"], json!([]));

    fixture.arm("provisioner", json!({"kind": "latency", "latency_ms": 30_000})).await;
    let url = fixture.url("/provisioner/graphql");
    let impatient = HttpProvisioner::new(&url, Duration::from_millis(20)).unwrap();
    let error = impatient.provision_runtime(CALLER, &runtime("i-1")).await.unwrap_err();
    assert!(matches!(error, DriverError::Unreachable { .. }), "{error:?}");
}

#[tokio::test]
async fn a_lost_answer_is_found_again_through_the_director() {
    let fixture = ProvisionerFixture::new().await;
    fixture.arm("provisioner", json!({"kind": "drop_after", "about": "provisionRuntime"})).await;
    let error = fixture.provisioner.provision_runtime(CALLER, &runtime("i-1")).await.unwrap_err();
    assert!(matches!(error, DriverError::Unreachable { .. }), "{error:?}");
    let found = fixture.director.runtimes_by_label("ga-1", "broker_instance_id", "i-1").await.unwrap();
    let [found] = found.as_slice() else { panic!("{found:?}") };
    let status = fixture.provisioner.runtime_status(CALLER, &found.id).await.unwrap();
    let operation = status.last_operation.unwrap();
    assert_eq!(operation.operation, OperationType::Provision);
    assert_eq!(operation.runtime_id.as_deref(), Some(found.id.as_str()));
    // Trying again without looking first makes a second one.
    fixture.provisioner.provision_runtime(CALLER, &runtime("i-1")).await.unwrap();
    let found = fixture.director.runtimes_by_label("ga-1", "broker_instance_id", "i-1").await.unwrap();
    assert_eq!(found.len(), 2);
}

#[tokio::test]
async fn the_wire_is_what_the_protocol_says() {
    let fake = TestServer::start(|_| Json(json!({"data": {"result": "op-1"}})).into_response()).await;
    let provisioner = of_2022(&format!("{}/deep/graphql", fake.url));
    provisioner.deprovision_runtime(CALLER, "rt-\"1").await.unwrap();
    let input = runtime("i-1");
    let unknown = OnBehalfOf { tenant: "ga-1", sub_account: None };
    let error = provisioner.provision_runtime(unknown, &input).await.unwrap_err();
    assert!(matches!(error, DriverError::Broken { .. }), "{error:?}");

    let [deprovision, provision] = &fake.arrivals()[..] else { panic!("two calls were made") };
    for name in ["content-type", "accept"] {
        assert_eq!(deprovision.headers[name], "application/json; charset=utf-8");
    }
    assert_eq!(deprovision.path, "/deep/graphql");
    assert_eq!(
        (&deprovision.headers["tenant"], &deprovision.headers["sub-account"]),
        (&"ga-1".parse().unwrap(), &"sa-1".parse().unwrap())
    );
    assert!(!provision.headers.contains_key("sub-account"));
    let body: Value = serde_json::from_slice(&deprovision.body).unwrap();
    assert_eq!(body["variables"], json!({"id": "rt-\"1"}));
    let body: Value = serde_json::from_slice(&provision.body).unwrap();
    assert_eq!(body["query"], provision_runtime_query());
    assert_eq!(body["variables"]["config"]["kymaConfig"]["configuration"][1]["value"], "hunter3");
    assert!(!provision_runtime_query().contains("hunter"));
}

#[tokio::test]
async fn an_external_system_that_quotes_its_input_does_not_get_secrets_into_our_errors() {
    let fake = TestServer::start(|arrival| {
        let message = format!("cannot read {}", String::from_utf8_lossy(&arrival.body));
        let message = message.split_once("kymaConfig").unwrap().1.to_owned();
        Json(json!({"errors": [{"message": message, "extensions": {"error_code": 400}}]})).into_response()
    });
    let provisioner = of_2022(&fake.await.url);
    let input = runtime("i-1");
    let upgrade = UpgradeRuntimeInput { kyma_config: input.kyma_config.clone().unwrap() };
    for error in [
        provisioner.provision_runtime(CALLER, &input).await.unwrap_err(),
        provisioner.upgrade_runtime(CALLER, "rt-1", &upgrade).await.unwrap_err(),
    ] {
        let text = format!("{error} {error:?}");
        assert!(error.is_final() && text.contains("<secret>") && !text.contains("hunter"), "{text}");
        assert!(error.to_string().chars().count() <= "provisioner refused: ".len() + 500);
    }
}

#[tokio::test]
async fn nothing_is_no_answer_and_too_much_is_none_either() {
    for body in [r#"{"data":{"result":null}}"#, r#"{"data":null}"#, "{}"] {
        let fake = TestServer::start(move |_| body.into_response()).await;
        let provisioner = of_2022(&fake.url);
        let error = provisioner.runtime_status(CALLER, "rt-1").await.unwrap_err();
        assert_eq!(error.to_string(), "provisioner is broken: it answered nothing and no error", "{body}");
    }
    let long = TestServer::start(|_| "x".repeat(5 * 1024 * 1024).into_response()).await;
    let provisioner = of_2022(&long.url);
    let error = provisioner.runtime_status(CALLER, "rt-1").await.unwrap_err();
    assert_eq!(error.to_string(), "provisioner is broken: the answer is longer than 4194304 bytes");
}

#[test]
fn urls_that_cannot_work_are_refused_at_once_and_not_quoted() {
    for url in ["", "localhost", "ftp://localhost", "mailto:a@b", "http://me:hunter2@localhost/graphql"] {
        let error = HttpProvisioner::new(url, TIMEOUT).unwrap_err();
        assert!(error.is_final() && !error.to_string().contains("hunter2"), "{error:?}");
    }
}
