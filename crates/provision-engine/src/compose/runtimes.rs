//! Everything that runtimes need, put together from the configuration.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ::director::{ClientCredentials, Director, HttpDirector};
use ::kubernetes::{Clusters, HttpClusters};
use ::provisioner::{HttpProvisioner, Provisioner};
use ::runtimes::Clients;
use ::runtimes::api::osb::{MissingVersion, OsbSettings};
use ::runtimes::model::accounts::Accounts;
use ::runtimes::model::catalog::Catalog;
use ::runtimes::model::override_source::{OverrideFiles, OverrideObjects, OverrideSource};
use ::runtimes::model::{AuditLog, Components, Runtimes, ServiceManager, UnknownOutcome};
use ::runtimes::workflows::external::ExternalSteps;
use ::runtimes::workflows::provision::Provision;
use anyhow::{Context, Result, anyhow};
use engine::secret::SecretString;
use engine::store::Store;
use engine::{WallClock, Workflow};
use server::sandbox_access;
use server::{Bearers, CodeFlow, CodeFlowSettings, Oidc, OidcSettings};
use tracing::{info, warn};

use super::nobody::NobodyProvisions;
use crate::config::{self, Config, Login};

/// Small files only: a configuration is read by people.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// As whom the sandbox's identity provider knows us.
const SANDBOX_CLIENT: &str = "provision-engine-console";

pub(super) fn runtimes(config: &Config) -> Result<Runtimes> {
    let runtime = &config.runtime;
    let catalog = parsed(runtime.catalog.as_deref(), Catalog::parse)?.unwrap_or_else(Catalog::built_in);
    let catalog = if runtime.target_secret {
        catalog.offering_target_secret().map_err(|error| anyhow!("runtime.catalog: {error}"))?
    } else {
        catalog
    };
    let components =
        parsed(runtime.components.as_deref(), Components::parse)?.unwrap_or_else(Components::built_in);
    Ok(Runtimes {
        catalog: Arc::new(catalog),
        components: Arc::new(components),
        kyma_version: runtime.kyma_version.clone(),
        kubernetes_version: runtime.kubernetes_version.clone(),
        poll_max: runtime.poll.get(),
        settle: runtime.settle.get(),
        unknown_outcome: match runtime.unknown_outcome.as_str() {
            "create_again" => UnknownOutcome::CreateAgain,
            _ => UnknownOutcome::Ask,
        },
        cluster_role: runtime.cluster_role.clone(),
        service_manager: login(&runtime.service_manager)?.map(|(url, username, password)| ServiceManager {
            url,
            username,
            password,
            always: runtime.service_manager_always,
        }),
        audit_log: login(&runtime.audit_log)?.map(|(url, username, password)| AuditLog {
            url,
            username,
            password,
        }),
    })
}

pub(super) fn accounts(config: &Config, store: Arc<dyn Store>) -> Result<Accounts> {
    let accounts = parsed(config.runtime.accounts.as_deref(), Accounts::parse)?;
    Ok(Accounts::new(accounts.unwrap_or_else(Accounts::shared_by_all), store))
}

/// `sandbox` is the base address of the far sides to use where none is configured.
pub(super) fn provisioner(
    config: &config::Provisioner,
    sandbox: Option<&str>,
) -> Result<Arc<dyn Provisioner>> {
    let own = config.url.as_ref().map(|url| url.as_str().to_owned());
    match own.or_else(|| sandbox.map(|url| format!("{url}/provisioner/graphql"))) {
        Some(url) => {
            let provisioner = HttpProvisioner::new(&url, config.timeout.get());
            let provisioner = provisioner.context("cannot use the Provisioner")?;
            Ok(Arc::new(provisioner.with_dialect(config.dialect)))
        }
        None => Ok(Arc::new(NobodyProvisions)),
    }
}

/// A Director of the sandbox belongs to the Provisioner of the sandbox and to no other.
pub(super) fn director(config: &config::Drivers, sandbox: Option<&str>) -> Result<Option<Arc<dyn Director>>> {
    let own = config.director.url.as_ref().map(|url| url.as_str().to_owned());
    let sandbox = sandbox.filter(|_| config.provisioner.url.is_none());
    let Some(url) = own.or_else(|| sandbox.map(|url| format!("{url}/director/graphql"))) else {
        return Ok(None);
    };
    let credentials = match &config.director {
        config::Director {
            token_url: Some(url),
            client_id: Some(id),
            client_secret_file: Some(path),
            scope,
            ..
        } => Some(ClientCredentials {
            token_url: url.as_str().to_owned(),
            client_id: id.clone(),
            client_secret: secret(path)?,
            scope: scope.clone(),
        }),
        _ => None,
    };
    let director = HttpDirector::new(&url, credentials, Arc::new(WallClock), config.director.timeout.get());
    Ok(Some(Arc::new(director.context("cannot use the Director")?)))
}

pub(super) fn clusters(timeout: Duration) -> Arc<dyn Clusters> {
    Arc::new(HttpClusters::new(timeout))
}

pub(super) fn override_sources(
    config: &Config,
    clusters: &Arc<dyn Clusters>,
) -> Result<Vec<Arc<dyn OverrideSource>>> {
    let mut sources: Vec<Arc<dyn OverrideSource>> = Vec::new();
    if let Some(dir) = &config.runtime.overrides {
        let files = OverrideFiles::open(dir).map_err(|error| anyhow!("runtime.overrides: {error}"))?;
        sources.push(Arc::new(files));
    }
    let objects = &config.runtime.override_objects;
    if let Some(path) = &objects.kubeconfig {
        let cluster = clusters.open(&secret(path)?).context("runtime.override_objects.kubeconfig")?;
        sources.push(Arc::new(OverrideObjects::new(cluster, objects.namespace.clone(), Arc::new(WallClock))));
    }
    Ok(sources)
}

/// The same drivers with the steps that are declared.
pub(super) fn with_external_steps(config: &Config, drivers: Clients) -> Result<Clients> {
    let Some(path) = &config.runtime.steps else { return Ok(drivers) };
    let external = ExternalSteps::load(path, &drivers);
    let external = external.map_err(|error| anyhow!("{}: {error}", path.display()))?;
    Ok(Clients { external: Arc::new(external), ..drivers })
}

pub(super) fn osb(config: &Config) -> OsbSettings {
    let osb = &config.osb;
    let minor = osb.catalog_level.split('.').nth(1).and_then(|minor| minor.parse().ok()).unwrap_or(17);
    OsbSettings {
        compat_keb: osb.compat_keb,
        catalog_level: (2, minor),
        gone: osb.gone,
        missing_version: match osb.missing_version {
            400 => MissingVersion::BadRequest,
            _ => MissingVersion::PreconditionFailed,
        },
        retry_after: osb.retry_after.get(),
        bind_wait: osb.bind_wait.get(),
        // Longer than any operation may take: a platform that gave up earlier would delete what is nearly done.
        polling_max: Provision::DEADLINE.min(config.engine.operation_deadline.get()) * 5 / 4,
    }
}

/// Who vouches for bearer tokens that are not ours.
pub(super) fn bearers(config: &Config) -> Result<Option<Arc<dyn Bearers>>> {
    let oidc = &config.osb.oidc;
    let (Some(issuer), Some(audience)) = (&oidc.issuer, &oidc.audience) else { return Ok(None) };
    let mut settings = OidcSettings::new(issuer.as_str(), audience).with_groups(oidc.groups.clone());
    settings.scope = Some(oidc.scope.clone());
    settings.org_claim.clone_from(&config.launch.organisation_claim);
    let oidc = Oidc::new(settings, Arc::new(WallClock)).map_err(|error| anyhow!("osb.oidc: {error}"))?;
    Ok(Some(Arc::new(oidc)))
}

/// Where people sign in: at the issuer that is configured, or else at that of the sandbox. There everybody on this
/// machine is an admin with one click, so it is closed beside any system that is not the sandbox's.
pub(super) fn code_flow(config: &Config, sandbox: Option<&str>) -> Result<Option<Arc<CodeFlow>>> {
    let oidc = &config.osb.oidc;
    let (issuer, client_id, prefix) = match (&oidc.issuer, &oidc.client_id, sandbox) {
        (Some(issuer), Some(client_id), _) => (issuer.as_str().to_owned(), client_id.clone(), None),
        (None, _, Some(url)) => {
            if let Some(path) = config.external_systems().next() {
                info!(setting = path, "the sign-in of the sandbox is closed: a setting names another system");
                return Ok(None);
            }
            let issuer = format!("{}/identity-provider", url.trim_end_matches('/'));
            (issuer, SANDBOX_CLIENT.to_owned(), Some(sandbox_access::PREFIX))
        }
        _ => return Ok(None),
    };
    let mut settings = OidcSettings::new(issuer, &client_id).with_groups(oidc.groups.clone());
    settings.name_prefix = prefix.unwrap_or(settings.name_prefix);
    settings.org_claim.clone_from(&config.launch.organisation_claim);
    let client = CodeFlowSettings {
        client_id,
        client_secret: oidc.client_secret_file.as_deref().map(secret).transpose()?,
        scopes: oidc.scopes.split_whitespace().map(str::to_owned).collect(),
    };
    match CodeFlow::new(settings, client, Arc::new(WallClock)) {
        Ok(flow) => Ok(Some(Arc::new(flow))),
        Err(error) if oidc.issuer.is_some() => Err(anyhow!("osb.oidc: {error}")),
        Err(error) => {
            warn!(%error, "nobody can sign in at the sandbox");
            Ok(None)
        }
    }
}

fn parsed<T>(path: Option<&Path>, parse: impl FnOnce(&str) -> Result<T, String>) -> Result<Option<T>> {
    let Some(path) = path else { return Ok(None) };
    let text = read(path)?;
    parse(&text).map(Some).map_err(|error| anyhow!("{}: {error}", path.display()))
}

fn read(path: &Path) -> Result<String> {
    let name = path.display();
    let size = fs::metadata(path).with_context(|| format!("cannot read {name}"))?.len();
    if size > FILE_BYTES_MAX {
        return Err(anyhow!("{name} is larger than {FILE_BYTES_MAX} bytes"));
    }
    fs::read_to_string(path).with_context(|| format!("cannot read {name}"))
}

/// Without the end of its line, which is not part of a password.
pub(super) fn secret(path: &Path) -> Result<SecretString> {
    Ok(SecretString::from(read(path)?.trim_end_matches(['\n', '\r'])))
}

fn login(login: &Login) -> Result<Option<(String, String, SecretString)>> {
    match login {
        Login { url: Some(url), username: Some(username), password_file: Some(path) } => {
            Ok(Some((url.as_str().to_owned(), username.clone(), secret(path)?)))
        }
        _ => Ok(None),
    }
}
