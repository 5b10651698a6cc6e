//! Our input types against the committed schema, and their secrets.

use std::collections::BTreeMap;

use serde_json::json;

use super::fit::fit;
use super::schema::Schema;
use super::*;

/// What fits the schema without a change has no field that the schema does not have.
#[track_caller]
fn check(type_name: &str, variables: &serde_json::Value) {
    let mut fitted = variables["config"].clone();
    fit(&Schema::known(Dialect::Of2022), type_name, &mut fitted).unwrap();
    assert_eq!(fitted, variables["config"]);
}

#[expect(clippy::unnecessary_wraps, reason = "most fields that are set here are optional")]
fn text(text: &str) -> Option<String> {
    Some(text.into())
}

fn kyma() -> KymaConfigInput {
    KymaConfigInput {
        version: "1.13.0".into(),
        profile: Some(KymaProfile::Evaluation),
        components: vec![
            ComponentConfigurationInput {
                component: "compass-runtime-agent".into(),
                namespace: "compass-system".into(),
                ..Default::default()
            },
            ComponentConfigurationInput {
                component: "core".into(),
                namespace: "kyma-system".into(),
                configuration: vec![
                    ConfigEntryInput::plain("domain", "x.example"),
                    ConfigEntryInput::secret("password", "hunter2".into()),
                ],
                source_url: text("https://example.com/core.tgz"),
                conflict_strategy: Some(ConflictStrategy::Replace),
            },
        ],
        configuration: vec![
            ConfigEntryInput::secret("global.key", "hunter3".into()),
            ConfigEntryInput { secret: Some(false), ..ConfigEntryInput::plain("global.name", "<secret>") },
        ],
        conflict_strategy: Some(ConflictStrategy::Merge),
    }
}

fn oidc() -> OidcConfigInput {
    OidcConfigInput {
        client_id: "c".into(),
        groups_claim: "groups".into(),
        issuer_url: "https://issuer.example".into(),
        signing_algs: vec!["RS256".into()],
        username_claim: "sub".into(),
        username_prefix: "-".into(),
    }
}

fn clouds() -> Vec<ProviderSpecificInput> {
    let zones = vec!["z-a".to_owned(), "z-b".to_owned()];
    let aws_zone = AwsZoneInput {
        name: "z-a".into(),
        public_cidr: "10.1.0.0/20".into(),
        internal_cidr: "10.2.0.0/20".into(),
        worker_cidr: "10.3.0.0/20".into(),
    };
    vec![
        ProviderSpecificInput::Gcp(GcpConfigInput { zones: zones.clone() }),
        ProviderSpecificInput::Azure(AzureConfigInput {
            vnet_cidr: "10.250.0.0/19".into(),
            zones: Some(zones.clone()),
            azure_zones: Some(vec![AzureZoneInput { name: 1, cidr: "10.250.0.0/20".into() }]),
            enable_nat_gateway: Some(true),
            idle_connection_timeout_minutes: Some(4),
        }),
        ProviderSpecificInput::Azure(AzureConfigInput {
            vnet_cidr: "10.250.0.0/19".into(),
            ..Default::default()
        }),
        ProviderSpecificInput::Aws(AwsConfigInput {
            vpc_cidr: "10.0.0.0/16".into(),
            aws_zones: vec![aws_zone],
        }),
        ProviderSpecificInput::OpenStack(OpenStackConfigInput {
            zones,
            floating_pool_name: "pool".into(),
            cloud_profile_name: "profile".into(),
            load_balancer_provider: "f5".into(),
        }),
    ]
}

fn full(provider_specific_config: ProviderSpecificInput) -> GardenerConfigInput {
    GardenerConfigInput {
        name: text("c-1"),
        kubernetes_version: "1.16.9".into(),
        volume_size_gb: Some(50),
        machine_type: "Standard_D8_v3".into(),
        machine_image: text("gardenlinux"),
        machine_image_version: text("27.1"),
        region: "westeurope".into(),
        provider: "azure".into(),
        purpose: text("development"),
        licence_type: text("TestDevelopmentAndDemo"),
        seed: text("az-eu1"),
        target_secret: "hyperscaler-1".into(),
        disk_type: text("Standard_LRS"),
        worker_cidr: "10.250.0.0/19".into(),
        pods_cidr: text("100.64.0.0/12"),
        services_cidr: text("100.104.0.0/13"),
        auto_scaler_min: 3,
        auto_scaler_max: 10,
        max_surge: 4,
        max_unavailable: 1,
        enable_kubernetes_version_auto_update: Some(true),
        enable_machine_image_version_auto_update: Some(false),
        provider_specific_config,
        oidc_config: Some(oidc()),
        dns_config: Some(DnsConfigInput {
            domain: "x.example".into(),
            providers: vec![DnsProviderInput {
                domains_include: vec!["x.example".into()],
                primary: true,
                secret_name: "dns".into(),
                kind: "route53".into(),
            }],
        }),
        exposure_class_name: text("internal"),
        shoot_networking_filter_disabled: Some(true),
        control_plane_failure_tolerance: text("zone"),
        eu_access: Some(true),
        shoot_and_seed_same_region: None,
    }
}

fn provision(gardener_config: GardenerConfigInput) -> ProvisionRuntimeInput {
    ProvisionRuntimeInput {
        runtime_input: RuntimeInput {
            name: "n".into(),
            description: text("a runtime"),
            labels: BTreeMap::from([("broker_instance_id".into(), "i-1".into())]),
        },
        cluster_config: ClusterConfigInput {
            gardener_config,
            administrators: Some(vec!["a@example".into()]),
        },
        kyma_config: Some(kyma()),
    }
}

#[test]
fn every_field_of_the_inputs_is_one_of_the_schema() {
    for cloud in clouds() {
        check("ProvisionRuntimeInput", &provision(full(cloud.clone())).wire());
        let gardener_config = GardenerUpgradeInput {
            kubernetes_version: text("1.17.0"),
            volume_size_gb: Some(60),
            machine_type: text("m"),
            machine_image: text("i"),
            machine_image_version: text("1"),
            disk_type: text("d"),
            purpose: text("production"),
            auto_scaler_min: Some(1),
            auto_scaler_max: Some(2),
            max_surge: Some(1),
            max_unavailable: Some(0),
            enable_kubernetes_version_auto_update: Some(true),
            enable_machine_image_version_auto_update: Some(true),
            provider_specific_config: Some(cloud),
            oidc_config: Some(oidc()),
            exposure_class_name: text("internal"),
            shoot_networking_filter_disabled: Some(false),
        };
        let config = UpgradeShootInput { gardener_config, administrators: Some(vec!["a@example".into()]) };
        check("UpgradeShootInput", &json!({"id": "rt-1", "config": config}));
    }
    check("UpgradeRuntimeInput", &UpgradeRuntimeInput { kyma_config: kyma() }.wire("rt-1"));
}

#[test]
fn what_is_not_set_is_not_sent() {
    let [gcp, ..] = &clouds()[..] else { unreachable!() };
    let gardener_config = GardenerConfigInput {
        name: None,
        volume_size_gb: None,
        machine_image: None,
        machine_image_version: None,
        purpose: None,
        licence_type: None,
        seed: None,
        disk_type: None,
        pods_cidr: None,
        services_cidr: None,
        enable_kubernetes_version_auto_update: None,
        enable_machine_image_version_auto_update: None,
        oidc_config: None,
        dns_config: None,
        exposure_class_name: None,
        shoot_networking_filter_disabled: None,
        control_plane_failure_tolerance: None,
        eu_access: None,
        shoot_and_seed_same_region: None,
        ..full(gcp.clone())
    };
    let input = ProvisionRuntimeInput {
        runtime_input: RuntimeInput { name: "n".into(), ..Default::default() },
        cluster_config: ClusterConfigInput { gardener_config, administrators: None },
        kyma_config: None,
    };
    let variables = input.wire();
    let expect = json!({"config": {
        "runtimeInput": {"name": "n"},
        "clusterConfig": {"gardenerConfig": {
            "kubernetesVersion": "1.16.9", "machineType": "Standard_D8_v3", "region": "westeurope",
            "provider": "azure", "targetSecret": "hyperscaler-1", "workerCidr": "10.250.0.0/19",
            "autoScalerMin": 3, "autoScalerMax": 10, "maxSurge": 4, "maxUnavailable": 1,
            "providerSpecificConfig": {"gcpConfig": {"zones": ["z-a", "z-b"]}}
        }}
    }});
    assert_eq!(variables, expect);
    let nothing = UpgradeShootInput::default();
    assert_eq!(serde_json::to_value(nothing).unwrap(), json!({"gardenerConfig": {}}));
}

#[test]
fn secrets_are_in_clear_on_the_wire_and_nowhere_else() {
    let provision = provision(full(clouds().remove(0)));
    let upgrade = UpgradeRuntimeInput { kyma_config: kyma() };
    let shown = format!("{provision:?}{upgrade:?}{}{}", provision.masked(), upgrade.masked());
    assert!(!shown.contains("hunter"), "{shown}");
    assert_eq!(shown.matches("<secret>").count(), 4 * 3);

    for (mut wire, masked) in
        [(provision.wire(), provision.masked()), (upgrade.wire("rt-1"), upgrade.masked())]
    {
        let kyma = &mut wire["config"]["kymaConfig"];
        let values = [
            kyma["components"][1]["configuration"][1]["value"].take(),
            kyma["configuration"][0]["value"].take(),
        ];
        assert_eq!(values, ["hunter2", "hunter3"]);
        // With the mask where the secrets were, both are the same.
        kyma["components"][1]["configuration"][1]["value"] = "<secret>".into();
        kyma["configuration"][0]["value"] = "<secret>".into();
        assert_eq!(wire["config"], masked["config"]);
    }
}

#[test]
fn every_query_has_one_operation_whose_field_is_called_result() {
    use super::queries::{Mutation, operation_status, runtime_status};
    for dialect in Dialect::ALL {
        let schema = Schema::known(dialect);
        let changes = [Mutation::Provision, Mutation::Deprovision, Mutation::Upgrade, Mutation::UpgradeShoot];
        let queries = changes.map(|mutation| mutation.query(&schema)).into_iter();
        for query in queries.chain([operation_status(&schema), runtime_status(&schema)]) {
            assert_eq!(query.matches("result: ").count(), 1, "{query}");
            assert!(query.starts_with("mutation(") || query.starts_with("query("), "{query}");
        }
    }
}
