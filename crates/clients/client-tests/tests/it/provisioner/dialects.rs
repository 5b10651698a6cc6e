//! The provisioners of 2020, 2021 and 2022: whole lives of runtimes on each, told by the server or by the setting.

use axum::Json;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use client_tests::{TIMEOUT, TestServer};
use http_client::DriverError;
use provisioner::{
    AwsConfigInput, AwsZoneInput, Dialect, GardenerUpgradeInput, HttpProvisioner, OpenStackConfigInput,
    OperationState, ProviderSpecificInput, ProvisionRuntimeInput, Provisioner, UpgradeRuntimeInput,
    UpgradeShootInput,
};
use serde_json::{Value, json};

use super::fixture::{CALLER, ProvisionerFixture, runtime};

type FieldChange = fn(&mut ProvisionRuntimeInput);

async fn fixture(dialect: Dialect) -> ProvisionerFixture {
    let fixture = ProvisionerFixture::new().await;
    fixture.put("/provisioner/script", &json!({"dialect": dialect.as_str()})).await;
    fixture
}

/// What clients of any year may ask for.
fn plain(instance_id: &str) -> ProvisionRuntimeInput {
    let mut input = runtime(instance_id);
    input.cluster_config.administrators = None;
    input.cluster_config.gardener_config.eu_access = None;
    input.cluster_config.gardener_config.shoot_and_seed_same_region = None;
    input.kyma_config.as_mut().unwrap().profile = None;
    input
}

fn on_aws(instance_id: &str) -> ProvisionRuntimeInput {
    let zone = |name: &str| AwsZoneInput {
        name: name.into(),
        public_cidr: "10.250.32.0/20".into(),
        internal_cidr: "10.250.48.0/20".into(),
        worker_cidr: "10.250.0.0/19".into(),
    };
    let config = AwsConfigInput {
        vpc_cidr: "10.250.0.0/16".into(),
        aws_zones: ["eu-central-1a", "eu-central-1b"].map(zone).into(),
    };
    let mut input = plain(instance_id);
    input.cluster_config.gardener_config.provider_specific_config = ProviderSpecificInput::Aws(config);
    input
}

#[tokio::test]
async fn a_runtime_lives_on_a_provisioner_of_every_dialect() {
    for dialect in Dialect::ALL {
        let fixture = fixture(dialect).await;
        let told = fixture.provisioner.clone().with_dialect(Some(dialect));
        for (provisioner, input) in [
            (&fixture.provisioner, plain("asked-gcp")),
            (&fixture.provisioner, on_aws("asked-aws")),
            (&told, plain("told-gcp")),
            (&told, on_aws("told-aws")),
        ] {
            let what = format!("{dialect:?} {:?}", input.runtime_input.labels);
            let started = provisioner.provision_runtime(CALLER, &input).await.expect(&what);
            let ended = provisioner.operation_status(CALLER, &started.id).await.expect(&what);
            assert_eq!(ended.state, OperationState::Succeeded, "{what}");
            let id = started.runtime_id.unwrap();
            let status = provisioner.runtime_status(CALLER, &id).await.expect(&what);
            assert!(status.configuration.unwrap().kubeconfig.is_some(), "{what}");

            let kyma_config = input.kyma_config.clone().unwrap();
            let upgrade = UpgradeRuntimeInput { kyma_config };
            provisioner.upgrade_runtime(CALLER, &id, &upgrade).await.expect(&what);
            let gardener_config = GardenerUpgradeInput { auto_scaler_max: Some(7), ..Default::default() };
            let change = UpgradeShootInput { gardener_config, administrators: None };
            let changed = provisioner.upgrade_shoot(CALLER, &id, &change).await;
            match dialect {
                Dialect::Of2020 => {
                    let error = changed.unwrap_err();
                    assert!(error.is_final() && error.to_string().contains("no upgradeShoot"), "{error}");
                }
                _ => drop(changed.expect(&what)),
            }
            let operation = provisioner.deprovision_runtime(CALLER, &id).await.expect(&what);
            let ended = provisioner.operation_status(CALLER, &operation).await.expect(&what);
            assert_eq!(ended.state, OperationState::Succeeded, "{what}");
        }
    }
}

#[tokio::test]
async fn a_provisioner_of_2020_gets_one_zone_of_aws_and_no_name() {
    let fixture = fixture(Dialect::Of2020).await;
    let started = fixture.provisioner.provision_runtime(CALLER, &on_aws("i-1")).await.unwrap();
    let seen = fixture.get(&format!("/provisioner/runtimes/{}", started.runtime_id.unwrap())).await;
    let cluster = &seen["input"]["clusterConfig"]["gardenerConfig"];
    assert_eq!(cluster.get("name"), None);
    let expected = json!({"vpcCidr": "10.250.0.0/16", "zone": "eu-central-1a", "publicCidr": "10.250.32.0/20",
        "internalCidr": "10.250.48.0/20"});
    assert_eq!(cluster["providerSpecificConfig"]["awsConfig"], expected);
}

#[tokio::test]
async fn what_a_provisioner_does_not_have_is_refused_by_name_and_makes_nothing() {
    let cases: [(Dialect, &str, FieldChange); 5] = [
        (Dialect::Of2020, "ClusterConfigInput.administrators", |input| {
            input.cluster_config.administrators = Some(vec!["ada".into()]);
        }),
        (Dialect::Of2020, "ProviderSpecificInput.openStackConfig", |input| {
            let config = OpenStackConfigInput {
                zones: vec!["a".into()],
                floating_pool_name: "pool".into(),
                cloud_profile_name: "profile".into(),
                load_balancer_provider: "f5".into(),
            };
            input.cluster_config.gardener_config.provider_specific_config =
                ProviderSpecificInput::OpenStack(config);
        }),
        (Dialect::Of2020, "requires GardenerConfigInput.volumeSizeGB", |input| {
            input.cluster_config.gardener_config.volume_size_gb = None;
        }),
        (Dialect::Of2021, "GardenerConfigInput.euAccess", |input| {
            input.cluster_config.gardener_config.eu_access = Some(true);
        }),
        (Dialect::Of2021, "requires ProvisionRuntimeInput.kymaConfig", |input| input.kyma_config = None),
    ];
    for (dialect, part, change) in cases {
        let fixture = fixture(dialect).await;
        let mut input = plain("i-1");
        change(&mut input);
        let error = fixture.provisioner.provision_runtime(CALLER, &input).await.unwrap_err();
        assert!(error.is_final() && error.to_string().contains(part), "{dialect:?}: {error}");
        assert_eq!(fixture.get("/provisioner/runtimes").await["runtimes"], json!([]));
    }
}

#[tokio::test]
async fn a_query_that_the_schema_does_not_allow_is_final() {
    let fixture = fixture(Dialect::Of2020).await;
    let wrong = fixture.provisioner.clone().with_dialect(Some(Dialect::Of2022));
    let error = wrong.provision_runtime(CALLER, &plain("i-1")).await.unwrap_err();
    assert!(matches!(error, DriverError::Refused { .. }), "{error:?}");
    let error = wrong.operation_status(CALLER, "op-1").await.unwrap_err();
    assert!(error.is_final() && error.to_string().contains("lastError"), "{error}");
}

#[tokio::test]
async fn a_provisioner_that_was_replaced_is_asked_again() {
    let fixture = fixture(Dialect::Of2022).await;
    fixture.provisioner.provision_runtime(CALLER, &plain("i-1")).await.unwrap();
    for dialect in ["2020", "2022"] {
        fixture.put("/provisioner/script", &json!({ "dialect": dialect })).await;
        let started = fixture.provisioner.provision_runtime(CALLER, &plain(dialect)).await.unwrap();
        fixture.provisioner.operation_status(CALLER, &started.id).await.unwrap();
    }
    let runtimes = fixture.get("/provisioner/runtimes").await;
    assert_eq!(runtimes["runtimes"].as_array().unwrap().len(), 3, "{runtimes}");
}

#[tokio::test]
async fn a_provisioner_that_does_not_tell_its_schema_is_named_in_the_settings() {
    let silent = TestServer::start(|arrival| {
        let body: Value = serde_json::from_slice(&arrival.body).unwrap();
        if body["query"].as_str().unwrap().contains("__schema") {
            let errors = json!([{"message": "introspection disabled"}]);
            return (StatusCode::UNPROCESSABLE_ENTITY, Json(json!({"errors": errors, "data": null})))
                .into_response();
        }
        Json(json!({"data": {"result": "op-1"}})).into_response()
    })
    .await;
    let provisioner = HttpProvisioner::new(&silent.url, TIMEOUT).unwrap();
    let error = provisioner.deprovision_runtime(CALLER, "rt-1").await.unwrap_err();
    assert!(error.to_string().contains("drivers.provisioner.dialect") && !error.is_final(), "{error}");
    let told = provisioner.with_dialect(Some(Dialect::Of2021));
    assert_eq!(told.deprovision_runtime(CALLER, "rt-1").await.unwrap(), "op-1");
}
