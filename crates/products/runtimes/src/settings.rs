//! The settings of runtimes and of the service broker in front of them.

use std::path::PathBuf;

use crate::api::osb::{MissingVersion, OsbSettings};
use crate::model::UnknownOutcome;
use ::config::Preset::{Is, Nothing};
use ::config::{DAY, HOUR, HttpUrl, Period, SECOND, Section, SectionReader, Setting, ValueKind, set};
use ::provisioner::Dialect;

/// Everything about runtimes.
#[derive(Debug, Clone)]
pub struct Settings {
    pub provisioner: Provisioner,
    pub director: Director,
    pub kubernetes_timeout: Period,
    pub runtime: RuntimeSettings,
    pub osb: OsbSettings,
}

#[derive(Debug, Clone)]
pub struct RuntimeSettings {
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
            "Where the Director listens, with its path. It knows which runtimes exist: with it, a runtime whose making \
             had no answer is found again."),
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
        set("drivers.kubernetes.timeout", Is("15s"), ValueKind::Time(Period::millis(10), HOUR),
            "How long one call to a cluster may be silent."),
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
            "The longest pause between two looks at what the Provisioner works on; the first ones are shorter."),
        set("runtime.settle", Is("90s"), ValueKind::Time(Period::millis(0), DAY),
            "How long after a call without an answer its effect may still show up. Should be longer than a call may take."),
        set("runtime.unknown_outcome", Is("ask"), ValueKind::OneOf(&["ask", "create_again"]),
            "What to do when it is unknown whether a runtime was made and no Director can tell: wait for an operator's \
             signal, or make one at the risk of having two."),
        set("runtime.cluster_role", Is("cluster-admin"), ValueKind::Text,
            "The cluster role that the credentials of a binding have."),
        set("runtime.expiry_check", Is("30s"), ValueKind::Time(SECOND, DAY),
            "How often the engine looks for instances and bindings whose time is over."),
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
            "Whether the broker keeps the habits of the Kyma Environment Broker where they differ from the \
             specification."),
    ];

    fn read(settings: &mut SectionReader<'_>) -> Settings {
        Settings {
            provisioner: provisioner(settings),
            director: director(settings),
            kubernetes_timeout: settings.get("drivers.kubernetes.timeout"),
            runtime: runtime(settings),
            osb: osb(settings),
        }
    }
}

fn runtime(settings: &mut SectionReader<'_>) -> RuntimeSettings {
    RuntimeSettings {
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
        service_manager: login(settings, "runtime.service_manager"),
        service_manager_always: settings.get("runtime.service_manager.always"),
        audit_log: login(settings, "runtime.audit_log"),
    }
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
