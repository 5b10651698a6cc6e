//! What the Provisioner is asked for: the parameters of the request over the defaults of the plan, the components
//! with their overrides, and labels by which the runtime can be found again.

use std::collections::BTreeMap;

use provisioner::{
    AwsConfigInput, AwsZoneInput, AzureConfigInput, ClusterConfigInput, ComponentConfigurationInput,
    ConfigEntryInput, ConflictStrategy, GardenerConfigInput, GardenerUpgradeInput, GcpConfigInput,
    KymaConfigInput, OidcConfigInput, OpenStackConfigInput, ProviderSpecificInput, ProvisionRuntimeInput,
    RuntimeInput, UpgradeShootInput,
};

use super::catalog::{CatalogPlan, Cloud, Provider};
use super::instance::InstanceRecord;
use super::orchestration::Change;
use super::parameters::{Oidc, OidcConfig, Parameters};
use super::settings::RuntimesSettings;
use engine::overrides::{Entries, PassOverrides, Value};

/// Labels by which a runtime belongs to an instance and to one try of making it.
pub(crate) const INSTANCE_LABEL: &str = "broker_instance_id";
pub(crate) const SUBACCOUNT_LABEL: &str = "global_subaccount_id";
pub(crate) const TOKEN_LABEL: &str = "provision_engine_token";

/// A name has this many characters, of which the last five tell equal names apart.
const NAME_CHARS_MAX: usize = 36;
const SUFFIX_CHARS: usize = 5;
const ZONES_MAX: usize = 3;
const AWS_ZONES: [(&str, &str, &str); 3] = [
    ("10.250.32.0/20", "10.250.48.0/20", "10.250.0.0/19"),
    ("10.250.96.0/20", "10.250.112.0/20", "10.250.64.0/19"),
    ("10.250.160.0/20", "10.250.176.0/20", "10.250.128.0/19"),
];

/// Everything a request is made of.
pub(crate) struct RequestInputs<'a> {
    pub(crate) runtimes: &'a RuntimesSettings,
    pub(crate) plan: &'a CatalogPlan,
    pub(crate) instance: &'a InstanceRecord,
    pub(crate) parameters: &'a Parameters,
    pub(crate) cloud_account: &'a str,
    pub(crate) token: &'a str,
}

/// A request, and the components that got overrides but are not part of it.
pub(crate) struct BuiltRequest<T> {
    pub(crate) request: T,
    pub(crate) unknown_components: Vec<String>,
}

pub(crate) fn provision(
    from: &RequestInputs<'_>,
    overrides: PassOverrides,
) -> BuiltRequest<ProvisionRuntimeInput> {
    let BuiltRequest { request: kyma, unknown_components } = kyma(from, overrides);
    let labels = BTreeMap::from([
        (INSTANCE_LABEL.to_owned(), from.instance.instance_id.clone()),
        (SUBACCOUNT_LABEL.to_owned(), from.instance.subaccount.clone()),
        (TOKEN_LABEL.to_owned(), from.token.to_owned()),
    ]);
    let name = runtime_name(&from.parameters.name, from.token);
    let request = ProvisionRuntimeInput {
        runtime_input: RuntimeInput { name, description: None, labels },
        cluster_config: ClusterConfigInput {
            gardener_config: gardener(from),
            administrators: from.parameters.administrators.clone(),
        },
        kyma_config: Some(kyma),
    };
    BuiltRequest { request, unknown_components }
}

pub(crate) fn kyma(from: &RequestInputs<'_>, overrides: PassOverrides) -> BuiltRequest<KymaConfigInput> {
    let mut left = overrides.components;
    let components = from.runtimes.components.wanted(&from.parameters.components).map(|component| {
        ComponentConfigurationInput {
            component: component.name.clone(),
            namespace: component.namespace.clone(),
            configuration: entries(left.remove(&component.name).unwrap_or_default()),
            source_url: component.source_url.clone(),
            conflict_strategy: None,
        }
    });
    let components = components.collect();
    let version = from.parameters.kyma_version.clone();
    let request = KymaConfigInput {
        version: version.unwrap_or_else(|| from.runtimes.kyma_version.clone()),
        profile: None,
        components,
        configuration: entries(overrides.global),
        conflict_strategy: Some(ConflictStrategy::Replace),
    };
    BuiltRequest { request, unknown_components: left.into_keys().collect() }
}

/// What an update changes in the cluster; everything else stays.
pub(crate) fn upgrade_shoot(
    plan: &CatalogPlan,
    cloud: &Cloud,
    old: &Parameters,
    new: &Parameters,
) -> UpgradeShootInput {
    fn changed<T: PartialEq + Clone>(old: Option<&T>, new: Option<&T>) -> Option<T> {
        new.filter(|_| old != new).cloned()
    }
    let machine = new.machine_type.clone().unwrap_or_else(|| plan.defaults.machine.clone());
    let volume = |of: &Parameters| volume_gb(plan, of).filter(|_| of.additional_volume_size_gi.is_some());
    let gardener = GardenerUpgradeInput {
        machine_type: changed(old.machine_type.as_ref(), Some(&machine))
            .map(|machine| cloud.machine(&machine)),
        volume_size_gb: changed(volume(old).as_ref(), volume(new).as_ref()),
        auto_scaler_min: changed(old.auto_scaler_min.as_ref(), new.auto_scaler_min.as_ref()),
        auto_scaler_max: changed(old.auto_scaler_max.as_ref(), new.auto_scaler_max.as_ref()),
        max_surge: changed(old.max_surge.as_ref(), new.max_surge.as_ref()),
        max_unavailable: changed(old.max_unavailable.as_ref(), new.max_unavailable.as_ref()),
        oidc_config: changed(old.oidc.as_ref(), new.oidc.as_ref()).as_ref().and_then(oidc),
        ..GardenerUpgradeInput::default()
    };
    let administrators = changed(old.administrators.as_ref(), new.administrators.as_ref());
    UpgradeShootInput { gardener_config: gardener, administrators }
}

/// The request that an upgrade of this runtime sends, for people.
pub fn shown_upgrade(change: &Change, runtime_id: &str) -> serde_json::Value {
    let mut shown = serde_json::json!({"runtimeID": runtime_id});
    if change.changes_cluster() {
        let config = GardenerUpgradeInput {
            kubernetes_version: change.kubernetes_version.clone(),
            machine_image: change.machine_image.clone(),
            machine_image_version: change.machine_image_version.clone(),
            ..GardenerUpgradeInput::default()
        };
        shown["clusterConfig"] = serde_json::json!(config);
    }
    if let Some(version) = &change.kyma_version {
        shown["kymaConfig"] = serde_json::json!({"version": version});
    }
    shown
}

/// The same for a runtime that is a resource of Infrastructure Manager.
pub fn shown_patch(change: &Change, runtime_id: &str) -> serde_json::Value {
    let mut shown = serde_json::json!({"method": "PATCH", "kind": "Runtime", "name": runtime_id});
    if let Some(version) = &change.kubernetes_version {
        shown["spec"] = serde_json::json!({"shoot": {"kubernetes": {"version": version}}});
    }
    let image = [("name", &change.machine_image), ("version", &change.machine_image_version)];
    for (member, text) in image {
        if let Some(text) = text {
            shown["worker"]["machine"]["image"][member] = serde_json::json!(text);
        }
    }
    shown
}

fn gardener(from: &RequestInputs<'_>) -> GardenerConfigInput {
    let plan = from.plan.on(&from.instance.provider);
    let (parameters, defaults) = (from.parameters, &plan.defaults);
    let cloud = from.runtimes.catalog.cloud(plan.provider);
    let networking = parameters.networking.clone().unwrap_or_default();
    let machine = parameters.machine_type.as_ref().unwrap_or(&defaults.machine);
    GardenerConfigInput {
        name: Some(from.instance.shoot.clone()),
        kubernetes_version: from.runtimes.kubernetes_version.clone(),
        volume_size_gb: volume_gb(&plan, parameters),
        machine_type: cloud.machine(machine),
        machine_image: None,
        machine_image_version: None,
        region: from.instance.region.clone(),
        provider: plan.provider.as_str().to_owned(),
        purpose: parameters.purpose.clone().or_else(|| Some("development".into())),
        licence_type: None,
        seed: None,
        target_secret: from.cloud_account.to_owned(),
        disk_type: parameters.disk_type.clone().or_else(|| defaults.disk.clone()),
        worker_cidr: networking.nodes.unwrap_or_else(|| defaults.worker_cidr.clone()),
        pods_cidr: networking.pods,
        services_cidr: networking.services,
        auto_scaler_min: parameters.auto_scaler_min.unwrap_or(defaults.min),
        auto_scaler_max: parameters.auto_scaler_max.unwrap_or(defaults.max),
        max_surge: parameters.max_surge.unwrap_or(defaults.max_surge),
        max_unavailable: parameters.max_unavailable.unwrap_or(defaults.max_unavailable),
        enable_kubernetes_version_auto_update: None,
        enable_machine_image_version_auto_update: None,
        provider_specific_config: specific(from, &plan),
        oidc_config: parameters.oidc.as_ref().and_then(oidc),
        dns_config: None,
        exposure_class_name: None,
        shoot_networking_filter_disabled: None,
        control_plane_failure_tolerance: None,
        eu_access: from
            .runtimes
            .catalog
            .eu_access
            .restricts(from.instance.platform_region.as_deref())
            .then_some(true),
        shoot_and_seed_same_region: parameters.colocate_control_plane.filter(|is_same| *is_same),
    }
}

fn volume_gb(plan: &CatalogPlan, parameters: &Parameters) -> Option<i32> {
    let size = parameters.volume_size_gb.or(plan.defaults.volume_gb);
    let more = parameters.additional_volume_size_gi;
    match (size, more) {
        (Some(size), Some(more)) => Some(size.saturating_add(more)),
        (size, more) => size.or(more),
    }
}

fn specific(from: &RequestInputs<'_>, plan: &CatalogPlan) -> ProviderSpecificInput {
    let region = &from.instance.region;
    let cidr = plan.defaults.worker_cidr.clone();
    let asked = from.parameters.zones.clone();
    let cloud = from.runtimes.catalog.cloud(plan.provider);
    let lettered = |separator: &str| -> Vec<String> {
        let usual = || ["a", "b", "c"].map(str::to_owned).to_vec();
        let letters = cloud.zones.get(region).cloned().unwrap_or_else(usual);
        letters.iter().take(ZONES_MAX).map(|letter| format!("{region}{separator}{letter}")).collect()
    };
    match plan.provider {
        Provider::Gcp => {
            ProviderSpecificInput::Gcp(GcpConfigInput { zones: asked.unwrap_or_else(|| lettered("-")) })
        }
        Provider::Azure => {
            let zones = asked.unwrap_or_else(|| ["1", "2", "3"].map(str::to_owned).to_vec());
            ProviderSpecificInput::Azure(AzureConfigInput {
                vnet_cidr: cidr,
                zones: Some(zones),
                ..AzureConfigInput::default()
            })
        }
        Provider::Aws => {
            let names = asked.unwrap_or_else(|| lettered(""));
            let zones = names.into_iter().zip(AWS_ZONES).map(|(name, (public, internal, worker))| {
                let (public_cidr, internal_cidr) = (public.to_owned(), internal.to_owned());
                AwsZoneInput { name, public_cidr, internal_cidr, worker_cidr: worker.to_owned() }
            });
            ProviderSpecificInput::Aws(AwsConfigInput {
                vpc_cidr: "10.250.0.0/16".into(),
                aws_zones: zones.collect(),
            })
        }
        // The others are refused before: the Provisioner does not know them.
        Provider::Openstack | Provider::Alicloud | Provider::Gdch | Provider::OwnCluster => {
            ProviderSpecificInput::OpenStack(OpenStackConfigInput {
                zones: asked.unwrap_or_else(|| lettered("")),
                floating_pool_name: "FloatingIP-external-kyma-01".into(),
                cloud_profile_name: "converged-cloud-kyma".into(),
                load_balancer_provider: "f5".into(),
            })
        }
    }
}

/// The Provisioner knows one issuer; a request with more of them is refused before. `None` is that of the Provisioner.
fn oidc(asked: &Oidc) -> Option<OidcConfigInput> {
    let default = OidcConfig {
        groups_claim: Some("groups".into()),
        signing_algs: Some(vec!["RS256".into()]),
        username_claim: Some("sub".into()),
        username_prefix: Some("-".into()),
        ..OidcConfig::default()
    };
    let issuer = asked.issuers(&default).into_iter().next()?.over(&default);
    (!issuer.client_id.is_empty()).then(|| OidcConfigInput {
        client_id: issuer.client_id,
        groups_claim: issuer.groups_claim.unwrap_or_default(),
        issuer_url: issuer.issuer_url,
        signing_algs: issuer.signing_algs.unwrap_or_default(),
        username_claim: issuer.username_claim.unwrap_or_default(),
        username_prefix: issuer.username_prefix.unwrap_or_default(),
    })
}

fn entries(entries: Entries) -> Vec<ConfigEntryInput> {
    let entry = |(key, value)| match value {
        Value::Public(text) | Value::Plain(text) => ConfigEntryInput::plain(key, text),
        Value::Secret(secret) => ConfigEntryInput::secret(key, secret),
    };
    entries.into_iter().map(entry).collect()
}

/// Letters, digits, dashes and dots of the name that was asked for, and an end that is the same on every try.
fn runtime_name(asked: &str, token: &str) -> String {
    let kept = asked.chars().filter(|c| c.is_ascii_alphanumeric() || "-.".contains(*c));
    let kept: String = kept.take(NAME_CHARS_MAX - SUFFIX_CHARS - 1).collect();
    let suffix = &token[token.len().saturating_sub(SUFFIX_CHARS)..];
    format!("{}-{suffix}", kept.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_what_is_allowed_and_gets_the_end_of_the_token() {
        assert_eq!(runtime_name("My Runtime!/<x>", "0123-abcdef"), "myruntimex-bcdef");
        assert_eq!(runtime_name(&"long".repeat(20), "0123-abcdef").len(), NAME_CHARS_MAX);
        assert_eq!(runtime_name("", "abcdef"), "-bcdef");
    }
}
