//! The settings of runtimes and of the service broker in front of them.

mod infrastructure_manager;

use std::collections::BTreeMap;
use std::path::PathBuf;

pub(crate) use self::infrastructure_manager::InfrastructureManager;
use crate::api::osb::{MissingVersion, OsbSettings};
use crate::backend::BackendKind;
use crate::model::UnknownOutcome;
use crate::model::orchestration::window::Windows;
use ::config::Preset::{Is, Nothing};
use ::config::{
    ConfigValue, DAY, HOUR, HttpUrl, Period, SECOND, Section, SectionReader, Setting, TreeEntry, TreeNode,
    ValueKind, set,
};
use ::provisioner::Dialect;

/// Everything about runtimes.
#[derive(Debug, Clone)]
pub struct Settings {
    pub provisioner: Provisioner,
    pub director: Director,
    pub infrastructure_manager: InfrastructureManager,
    pub kubernetes_timeout: Period,
    pub runtime: RuntimeSettings,
    pub osb: OsbSettings,
}

#[derive(Debug, Clone)]
pub struct RuntimeSettings {
    pub backend: BackendKind,
    pub backends: BTreeMap<String, BackendKind>,
    pub catalog: Option<PathBuf>,
    pub components: Option<PathBuf>,
    pub accounts: Option<PathBuf>,
    pub target_secret: bool,
    pub overrides: Option<PathBuf>,
    pub override_objects: OverrideObjects,
    pub steps: Option<PathBuf>,
    pub kyma_version: String,
    pub kubernetes_version: String,
    pub poll: Period,
    pub settle: Period,
    pub unknown_outcome: UnknownOutcome,
    pub cluster_role: String,
    pub expiry_check: Period,
    pub upgrade_check: Period,
    pub maintenance_windows: Windows,
    pub service_manager: Login,
    pub service_manager_always: bool,
    pub audit_log: Login,
}

#[derive(Debug, Clone)]
pub struct OverrideObjects {
    pub kubeconfig: Option<PathBuf>,
    pub namespace: String,
}

/// An address with a user; all of it is given, or nothing.
#[derive(Debug, Clone)]
pub struct Login {
    pub url: Option<HttpUrl>,
    pub username: Option<String>,
    pub password_file: Option<PathBuf>,
}

#[derive(Debug, Clone)]
pub struct Provisioner {
    pub url: Option<HttpUrl>,
    pub timeout: Period,
    /// `None` asks the Provisioner.
    pub dialect: Option<Dialect>,
}

#[derive(Debug, Clone)]
pub struct Director {
    pub url: Option<HttpUrl>,
    pub timeout: Period,
    pub token_url: Option<HttpUrl>,
    pub client_id: Option<String>,
    pub client_secret_file: Option<PathBuf>,
    pub scope: Option<String>,
}

impl Section for Settings {
    #[rustfmt::skip]
    const SETTINGS: &'static [Setting] = &[
        set("drivers.provisioner.url", Nothing, ValueKind::Url,
            "Where the Runtime Provisioner listens, with its path, usually `/graphql`."),
        set("drivers.provisioner.timeout", Is("30s"), ValueKind::Time(Period::millis(10), HOUR),
            "How long one call to the Provisioner may be silent; a whole call ends after twice that."),
        set("drivers.provisioner.dialect", Is("auto"), ValueKind::OneOf(&["auto", "2020", "2021", "2022"]),
            "Which schema the Provisioner has, by the first year of it. With `auto` the server asks the Provisioner for its \
             schema; name the year where introspection is turned off there."),
        set("drivers.director.url", Nothing, ValueKind::Url,
            "Where the Director listens, with its path. It lists the runtimes that exist, so that one whose create \
             call had no answer is found again."),
        set("drivers.director.timeout", Is("30s"), ValueKind::Time(Period::millis(10), HOUR),
            "How long one call to the Director may be silent."),
        set("drivers.director.token_url", Nothing, ValueKind::Url,
            "Where tokens for the Director are issued. Without it calls carry none."),
        set("drivers.director.client_id", Nothing, ValueKind::Text,
            "The client that asks for those tokens."),
        set("drivers.director.client_secret_file", Nothing, ValueKind::Path,
            "The file with the client's secret."),
        set("drivers.director.scope", Nothing, ValueKind::Text,
            "The scope of those tokens."),
        set("drivers.infrastructure_manager.kubeconfig", Nothing, ValueKind::Path,
            "The kubeconfig of the cluster with the `Runtime` resources that Infrastructure Manager acts on.").external(true),
        set("drivers.infrastructure_manager.namespace", Is("kcp-system"), ValueKind::Text,
            "The namespace of those resources."),
        set("drivers.infrastructure_manager.timeout", Is("30s"), ValueKind::Time(Period::millis(10), HOUR),
            "How long one call to that cluster may be silent; a whole call ends after twice that."),
        set("drivers.infrastructure_manager.poll", Is("5m"), ValueKind::Time(Period::millis(10), HOUR),
            "The longest pause between two looks at a resource that changes. A watch ends the pause early; the first pauses \
             are shorter."),
        set("drivers.infrastructure_manager.grace", Is("2m"), ValueKind::Time(Period::millis(0), HOUR),
            "How long after a change a status may still be that from before. After that time it counts as it is."),
        set("drivers.infrastructure_manager.create_limit", Is("60m"), ValueKind::Time(SECOND, DAY),
            "After this time a new runtime that is not ready has failed."),
        set("drivers.infrastructure_manager.update_limit", Is("180m"), ValueKind::Time(SECOND, DAY),
            "After this time a change that is not ready has failed."),
        set("drivers.infrastructure_manager.delete_limit", Is("60m"), ValueKind::Time(SECOND, DAY),
            "After this time a removal that is not over has failed."),
        set("drivers.infrastructure_manager.kyma_template", Nothing, ValueKind::Path,
            "The YAML file with a `Kyma` resource. With it, one is written for each runtime that is ready, and deleted \
             before the runtime."),
        set("drivers.infrastructure_manager.kyma_limit", Is("15m"), ValueKind::Time(SECOND, DAY),
            "How long the deletion of a `Kyma` resource is waited for. What is left then is listed, and the runtime removed."),
        set("drivers.infrastructure_manager.accounts.kubeconfig", Nothing, ValueKind::Path,
            "The kubeconfig of the Gardener project whose `CredentialsBinding` resources are the cloud accounts of runtimes \
             that Infrastructure Manager makes. Without it: those of `runtime.accounts`.").external(true),
        set("drivers.infrastructure_manager.accounts.namespace", Is("garden-kyma"), ValueKind::Text,
            "The namespace of that project."),
        set("drivers.infrastructure_manager.accounts.rules", Nothing, ValueKind::Path,
            "The YAML file with the rules that say which of those accounts a plan uses, such as `gcp(PR=cf-sa30) -> PR,HR`. \
             Without it: those of the plan's provider, shared for plans that are free."),
        set("drivers.infrastructure_manager.accounts.clusters_max", Is("0"), ValueKind::Whole(0, 1_000_000),
            "How many clusters an account of a tenant takes before the tenant gets another; 0 is no limit."),
        set("drivers.kubernetes.timeout", Is("15s"), ValueKind::Time(Period::millis(10), HOUR),
            "How long one call to a cluster may be silent."),
        set("runtime.backend", Is("provisioner"), ValueKind::OneOf(&["provisioner", "infrastructure-manager"]),
            "What makes the clusters of new instances. An instance keeps the back end that it began with."),
        set("runtime.backends", Nothing, ValueKind::Map("a map of plans to provisioner or infrastructure-manager"),
            "Another back end for new instances of some plans, such as `{aws: infrastructure-manager}`."),
        set("runtime.catalog", Nothing, ValueKind::Path,
            "The YAML file with the service and its plans. Without it: the built-in ones."),
        set("runtime.components", Nothing, ValueKind::Path,
            "The YAML file with the components of a runtime, in the order of installation. Without it: the built-in \
             ones."),
        set("runtime.accounts", Nothing, ValueKind::Path,
            "The YAML file with the accounts of the clouds. Without it one shared account per cloud is assumed, \
             `shared-azure` and so on."),
        set("runtime.target_secret", Is("false"), ValueKind::Switch,
            "Whether a request may choose its cloud account with the parameter `targetSecret`, among those that its tenant \
             may use. Off: the parameter is not in the catalog and is refused."),
        set("runtime.overrides", Nothing, ValueKind::Path,
            "The directory with overrides for runtimes, watched for changes."),
        set("runtime.override_objects.kubeconfig", Nothing, ValueKind::Path,
            "The kubeconfig of the cluster whose labelled ConfigMaps and Secrets are overrides for runtimes.").external(true),
        set("runtime.override_objects.namespace", Is("kcp-system"), ValueKind::Text,
            "The namespace of those objects."),
        set("runtime.steps", Nothing, ValueKind::Path,
            "The YAML file that declares external steps.").external(true),
        set("runtime.kyma_version", Is("1.24.8"), ValueKind::Text,
            "The version of Kyma for requests that name none."),
        set("runtime.kubernetes_version", Is("1.21.5"), ValueKind::Text,
            "The version of Kubernetes for new clusters."),
        set("runtime.poll", Is("30s"), ValueKind::Time(Period::millis(50), HOUR),
            "The longest pause between two polls of the Provisioner; the first ones are shorter."),
        set("runtime.settle", Is("90s"), ValueKind::Time(Period::millis(0), DAY),
            "How long after a call without an answer its effect may still show up. Should be longer than a call may take."),
        set("runtime.unknown_outcome", Is("ask"), ValueKind::OneOf(&["ask", "create_again"]),
            "What to do when it is unknown whether a runtime was made and no Director can tell: wait for an operator's \
             signal, or make one at the risk of having two."),
        set("runtime.cluster_role", Is("cluster-admin"), ValueKind::Text,
            "The cluster role that the credentials of a binding have."),
        set("runtime.expiry_check", Is("30s"), ValueKind::Time(SECOND, DAY),
            "How often the engine looks for instances and bindings whose time is over."),
        set("runtime.upgrade_check", Is("1s"), ValueKind::Time(Period::millis(50), HOUR),
            "How often the engine checks the progress of upgrades of many runtimes, and begins the next ones."),
        set("runtime.maintenance_windows", Is("22:00-02:00"), ValueKind::Text,
            "When runtimes may be upgraded that wait for their maintenance window, in UTC. Rules are separated by `;` and \
             the first that fits counts: `plan=trial 00:00-06:00; region=westeurope 20:00-04:00 Sat,Sun; 22:00-02:00`. A \
             rule may name `account`, `plan` and `region`; the last one names none."),
        set("runtime.service_manager.url", Nothing, ValueKind::Url,
            "The service manager of runtimes whose request brings none."),
        set("runtime.service_manager.username", Nothing, ValueKind::Text,
            "The user of that service manager."),
        set("runtime.service_manager.password_file", Nothing, ValueKind::Path,
            "The file with that user's password."),
        set("runtime.service_manager.always", Is("false"), ValueKind::Switch,
            "Whether it is used also when the request brings another one."),
        set("runtime.audit_log.url", Nothing, ValueKind::Url,
            "Where runtimes send their audit log."),
        set("runtime.audit_log.username", Nothing, ValueKind::Text,
            "The user of that audit log."),
        set("runtime.audit_log.password_file", Nothing, ValueKind::Path,
            "The file with that user's password."),
        set("osb.gone", Is("false"), ValueKind::Switch,
            "Whether `last_operation` answers 410 as soon as a deletion is over, instead of 200 with `succeeded` first."),
        set("osb.catalog_level", Is("2.17"), ValueKind::OneOf(&["2.11", "2.12", "2.13", "2.14", "2.15", "2.16", "2.17"]),
            "The version of the API whose fields the catalog shows; older platforms may refuse newer fields."),
        set("osb.missing_version", Is("412"), ValueKind::Whole(400, 412),
            "The status for requests without `X-Broker-API-Version`: 412 or 400."),
        set("osb.retry_after", Is("2s"), ValueKind::Time(SECOND, HOUR),
            "How long a platform is asked to wait before it polls again."),
        set("osb.bind_wait", Is("15s"), ValueKind::Time(SECOND, Period::minutes(10)),
            "How long a synchronous binding may take."),
        set("compat.keb", Is("false"), ValueKind::Switch,
            "Whether the broker answers as the Kyma Environment Broker does where that differs from the \
             specification."),
    ];

    fn read(settings: &mut SectionReader<'_>) -> Settings {
        Settings {
            provisioner: provisioner(settings),
            director: director(settings),
            infrastructure_manager: InfrastructureManager::read(settings),
            kubernetes_timeout: settings.get("drivers.kubernetes.timeout"),
            runtime: runtime(settings),
            osb: osb(settings),
        }
    }
}

fn runtime(settings: &mut SectionReader<'_>) -> RuntimeSettings {
    RuntimeSettings {
        backend: settings.one_of("runtime.backend", &BackendKind::NAMES),
        backends: settings.get_if_set("runtime.backends", backends).unwrap_or_default(),
        catalog: settings.get("runtime.catalog"),
        components: settings.get("runtime.components"),
        accounts: settings.get("runtime.accounts"),
        target_secret: settings.get("runtime.target_secret"),
        overrides: settings.get("runtime.overrides"),
        override_objects: OverrideObjects {
            kubeconfig: settings.get("runtime.override_objects.kubeconfig"),
            namespace: settings.get("runtime.override_objects.namespace"),
        },
        steps: settings.get("runtime.steps"),
        kyma_version: settings.get("runtime.kyma_version"),
        kubernetes_version: settings.get("runtime.kubernetes_version"),
        poll: settings.get("runtime.poll"),
        settle: settings.get("runtime.settle"),
        unknown_outcome: settings.one_of(
            "runtime.unknown_outcome",
            &[("ask", UnknownOutcome::Ask), ("create_again", UnknownOutcome::CreateAgain)],
        ),
        cluster_role: settings.get("runtime.cluster_role"),
        expiry_check: settings.get("runtime.expiry_check"),
        upgrade_check: settings.get("runtime.upgrade_check"),
        maintenance_windows: windows(settings),
        service_manager: login(settings, "runtime.service_manager"),
        service_manager_always: settings.get("runtime.service_manager.always"),
        audit_log: login(settings, "runtime.audit_log"),
    }
}

fn windows(settings: &mut SectionReader<'_>) -> Windows {
    let text: String = settings.get("runtime.maintenance_windows");
    Windows::parse(&text).unwrap_or_else(|error| {
        settings.refuse("runtime.maintenance_windows", error);
        Windows::default()
    })
}

fn backends(node: &TreeNode) -> Result<BTreeMap<String, BackendKind>, Box<TreeNode>> {
    let ConfigValue::Map(entries) = &node.value else { return Err(Box::new(node.clone())) };
    let kind = |node: &TreeNode| match &node.value {
        ConfigValue::Text(text) => {
            BackendKind::NAMES.iter().find(|(name, _)| name == text).map(|(_, kind)| *kind)
        }
        _ => None,
    };
    let entry = |TreeEntry { key, node, .. }: &TreeEntry| {
        kind(node).map(|kind| (key.clone(), kind)).ok_or_else(|| Box::new(node.clone()))
    };
    entries.iter().map(entry).collect()
}

fn login(settings: &mut SectionReader<'_>, section: &str) -> Login {
    let login = Login {
        url: settings.get(&format!("{section}.url")),
        username: settings.get(&format!("{section}.username")),
        password_file: settings.get(&format!("{section}.password_file")),
    };
    let given = [login.url.is_some(), login.username.is_some(), login.password_file.is_some()];
    if given.contains(&true) && given.contains(&false) {
        let path = format!("{section}.url");
        settings.refuse(&path, format!("{section} needs url, username and password_file, or none of them"));
    }
    login
}

fn provisioner(settings: &mut SectionReader<'_>) -> Provisioner {
    Provisioner {
        url: settings.get("drivers.provisioner.url"),
        timeout: settings.get("drivers.provisioner.timeout"),
        dialect: settings.get::<String>("drivers.provisioner.dialect").parse().ok(),
    }
}

fn director(settings: &mut SectionReader<'_>) -> Director {
    let director = Director {
        url: settings.get("drivers.director.url"),
        timeout: settings.get("drivers.director.timeout"),
        token_url: settings.get("drivers.director.token_url"),
        client_id: settings.get("drivers.director.client_id"),
        client_secret_file: settings.get("drivers.director.client_secret_file"),
        scope: settings.get("drivers.director.scope"),
    };
    let is_whole = director.client_id.is_some() && director.client_secret_file.is_some();
    if director.token_url.is_some() && !is_whole {
        let message = "token_url needs client_id and client_secret_file beside it".to_owned();
        settings.refuse("drivers.director.token_url", message);
    }
    director
}

fn osb(settings: &mut SectionReader<'_>) -> OsbSettings {
    let missing_version = match settings.get::<u64>("osb.missing_version") {
        400 => MissingVersion::BadRequest,
        412 => MissingVersion::PreconditionFailed,
        other => {
            settings.refuse("osb.missing_version", format!("expected 400 or 412, got {other}"));
            MissingVersion::PreconditionFailed
        }
    };
    let level: String = settings.get("osb.catalog_level");
    OsbSettings {
        compat_keb: settings.get("compat.keb"),
        catalog_level: (2, level.split('.').nth(1).and_then(|minor| minor.parse().ok()).unwrap_or(17)),
        gone: settings.get("osb.gone"),
        missing_version,
        retry_after: settings.get::<Period>("osb.retry_after").get(),
        bind_wait: settings.get::<Period>("osb.bind_wait").get(),
        ..OsbSettings::default()
    }
}
