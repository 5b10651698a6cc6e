//! What the Provisioner is asked for: the parameters of the request over the defaults of the plan, the components
//! with their overrides, and labels by which the runtime can be found again.

use std::collections::BTreeMap;

use provisioner::{
    AwsConfigInput, AwsZoneInput, AzureConfigInput, ClusterConfigInput, ComponentConfigurationInput,
    ConfigEntryInput, ConflictStrategy, GardenerConfigInput, GardenerUpgradeInput, GcpConfigInput,
    KymaConfigInput, OidcConfigInput, OpenStackConfigInput, ProviderSpecificInput, ProvisionRuntimeInput,
    RuntimeInput, UpgradeShootInput,
};

use super::catalog::{CatalogPlan, Provider};
use super::instance::InstanceRecord;
use super::parameters::{Oidc, Parameters};
use super::settings::RuntimesSettings;
use engine::overrides::{Entries, PassOverrides, Value};

/// Labels by which a runtime belongs to an instance and to one try of making it.
pub(crate) const INSTANCE_LABEL: &str = "broker_instance_id";
pub(crate) const SUBACCOUNT_LABEL: &str = "global_subaccount_id";
pub(crate) const TOKEN_LABEL: &str = "provision_engine_token";

/// A name has this many characters, of which the last five tell equal names apart.
const NAME_CHARS_MAX: usize = 36;
const SUFFIX_CHARS: usize = 5;
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
pub(crate) fn upgrade_shoot(plan: &CatalogPlan, old: &Parameters, new: &Parameters) -> UpgradeShootInput {
    fn changed<T: PartialEq + Clone>(old: Option<&T>, new: Option<&T>) -> Option<T> {
        new.filter(|_| old != new).cloned()
    }
    let machine = new.machine_type.clone().unwrap_or_else(|| plan.defaults.machine.clone());
    let gardener = GardenerUpgradeInput {
        machine_type: changed(old.machine_type.as_ref(), Some(&machine)),
        auto_scaler_min: changed(old.auto_scaler_min.as_ref(), new.auto_scaler_min.as_ref()),
        auto_scaler_max: changed(old.auto_scaler_max.as_ref(), new.auto_scaler_max.as_ref()),
        max_surge: changed(old.max_surge.as_ref(), new.max_surge.as_ref()),
        max_unavailable: changed(old.max_unavailable.as_ref(), new.max_unavailable.as_ref()),
        oidc_config: changed(old.oidc.as_ref(), new.oidc.as_ref()).as_ref().map(oidc),
        ..GardenerUpgradeInput::default()
    };
    let administrators = changed(old.administrators.as_ref(), new.administrators.as_ref());
    UpgradeShootInput { gardener_config: gardener, administrators }
}

fn gardener(from: &RequestInputs<'_>) -> GardenerConfigInput {
    let (parameters, defaults) = (from.parameters, &from.plan.defaults);
    let worker_cidr = parameters.networking.as_ref().and_then(|networking| networking.nodes.clone());
    GardenerConfigInput {
        name: Some(from.instance.shoot.clone()),
        kubernetes_version: from.runtimes.kubernetes_version.clone(),
        volume_size_gb: parameters.volume_size_gb.or(defaults.volume_gb),
        machine_type: parameters.machine_type.clone().unwrap_or_else(|| defaults.machine.clone()),
        machine_image: None,
        machine_image_version: None,
        region: from.instance.region.clone(),
        provider: from.plan.provider.as_str().to_owned(),
        purpose: parameters.purpose.clone().or_else(|| Some("development".into())),
        licence_type: None,
        seed: None,
        target_secret: from.cloud_account.to_owned(),
        disk_type: parameters.disk_type.clone().or_else(|| defaults.disk.clone()),
        worker_cidr: worker_cidr.unwrap_or_else(|| defaults.worker_cidr.clone()),
        pods_cidr: None,
        services_cidr: None,
        auto_scaler_min: parameters.auto_scaler_min.unwrap_or(defaults.min),
        auto_scaler_max: parameters.auto_scaler_max.unwrap_or(defaults.max),
        max_surge: parameters.max_surge.unwrap_or(defaults.max_surge),
        max_unavailable: parameters.max_unavailable.unwrap_or(defaults.max_unavailable),
        enable_kubernetes_version_auto_update: None,
        enable_machine_image_version_auto_update: None,
        provider_specific_config: specific(from),
        oidc_config: parameters.oidc.as_ref().map(oidc),
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
    }
}

fn specific(from: &RequestInputs<'_>) -> ProviderSpecificInput {
    let region = &from.instance.region;
    let cidr = from.plan.defaults.worker_cidr.clone();
    let asked = from.parameters.zones.clone();
    let lettered = |separator: &str| -> Vec<String> {
        ["a", "b", "c"].iter().map(|letter| format!("{region}{separator}{letter}")).collect()
    };
    match from.plan.provider {
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
        Provider::Openstack => ProviderSpecificInput::OpenStack(OpenStackConfigInput {
            zones: asked.unwrap_or_else(|| lettered("")),
            floating_pool_name: "FloatingIP-external-kyma-01".into(),
            cloud_profile_name: "converged-cloud-kyma".into(),
            load_balancer_provider: "f5".into(),
        }),
    }
}

fn oidc(asked: &Oidc) -> OidcConfigInput {
    let or = |value: &Option<String>, default: &str| value.clone().unwrap_or_else(|| default.to_owned());
    OidcConfigInput {
        client_id: asked.client_id.clone(),
        groups_claim: or(&asked.groups_claim, "groups"),
        issuer_url: asked.issuer_url.clone(),
        signing_algs: asked.signing_algs.clone().unwrap_or_else(|| vec!["RS256".into()]),
        username_claim: or(&asked.username_claim, "sub"),
        username_prefix: or(&asked.username_prefix, "-"),
    }
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
