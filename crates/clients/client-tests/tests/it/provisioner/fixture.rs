//! A sandbox with both clients pointed at it.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use client_tests::{TIMEOUT, TestClock, TestSandbox};
use director::HttpDirector;
use provisioner::{
    ClusterConfigInput, ComponentConfigurationInput, ConfigEntryInput, GardenerConfigInput, GcpConfigInput,
    HttpProvisioner, KymaConfigInput, KymaProfile, OnBehalfOf, ProviderSpecificInput, ProvisionRuntimeInput,
    RuntimeInput,
};

pub(crate) const CALLER: OnBehalfOf<'_> = OnBehalfOf { tenant: "ga-1", sub_account: Some("sa-1") };

pub(crate) struct ProvisionerFixture {
    pub(crate) sandbox: TestSandbox,
    pub(crate) provisioner: HttpProvisioner,
    pub(crate) director: HttpDirector,
}

impl ProvisionerFixture {
    pub(crate) async fn new() -> Self {
        let sandbox = TestSandbox::new().await;
        let (provisioner, director) = (sandbox.url("/provisioner/graphql"), sandbox.url("/director/graphql"));
        let clock = Arc::new(TestClock::default());
        ProvisionerFixture {
            provisioner: HttpProvisioner::new(&provisioner, TIMEOUT).unwrap(),
            director: HttpDirector::new(&director, None, clock, TIMEOUT).unwrap(),
            sandbox,
        }
    }
}

impl Deref for ProvisionerFixture {
    type Target = TestSandbox;

    fn deref(&self) -> &TestSandbox {
        &self.sandbox
    }
}

pub(crate) fn runtime(instance_id: &str) -> ProvisionRuntimeInput {
    let zones = vec!["europe-west4-a".to_owned()];
    let component = |component: &str, configuration| ComponentConfigurationInput {
        component: component.into(),
        namespace: "kyma-system".into(),
        configuration,
        ..Default::default()
    };
    ProvisionRuntimeInput {
        runtime_input: RuntimeInput {
            name: "n".into(),
            description: Some("with \"quotes\", { braces } and\nlines".into()),
            labels: BTreeMap::from([
                ("broker_instance_id".into(), instance_id.into()),
                ("global_subaccount_id".into(), "sa-1".into()),
            ]),
        },
        cluster_config: ClusterConfigInput {
            gardener_config: gardener(ProviderSpecificInput::Gcp(GcpConfigInput { zones })),
            administrators: Some(vec!["a@example".into()]),
        },
        kyma_config: Some(KymaConfigInput {
            version: "1.13.0".into(),
            profile: Some(KymaProfile::Production),
            components: vec![
                component("compass-runtime-agent", vec![]),
                component("core", vec![ConfigEntryInput::secret("db.password", "hunter2\"\n".into())]),
            ],
            configuration: vec![
                ConfigEntryInput::plain("global.domain", "x.example"),
                ConfigEntryInput::secret("global.key", "hunter3".into()),
            ],
            conflict_strategy: None,
        }),
    }
}

fn gardener(provider_specific_config: ProviderSpecificInput) -> GardenerConfigInput {
    GardenerConfigInput {
        name: Some("c-1234567".into()),
        kubernetes_version: "1.16.9".into(),
        volume_size_gb: Some(30),
        machine_type: "n1-standard-4".into(),
        machine_image: None,
        machine_image_version: None,
        region: "europe-west4".into(),
        provider: "gcp".into(),
        purpose: Some("development".into()),
        licence_type: None,
        seed: None,
        target_secret: "hyperscaler-1".into(),
        disk_type: Some("pd-standard".into()),
        worker_cidr: "10.250.0.0/19".into(),
        pods_cidr: None,
        services_cidr: None,
        auto_scaler_min: 3,
        auto_scaler_max: 4,
        max_surge: 4,
        max_unavailable: 1,
        enable_kubernetes_version_auto_update: None,
        enable_machine_image_version_auto_update: None,
        provider_specific_config,
        oidc_config: None,
        dns_config: None,
        exposure_class_name: None,
        shoot_networking_filter_disabled: None,
        control_plane_failure_tolerance: None,
        eu_access: Some(true),
        shoot_and_seed_same_region: Some(true),
    }
}
