//! Everything that runtimes need, put together from the configuration.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::Clients;
use crate::model::accounts::Accounts;
use crate::model::catalog::Catalog;
use crate::model::override_source::{OverrideFiles, OverrideObjects, OverrideSource};
use crate::model::{AuditLog, Components, RuntimesSettings, ServiceManager};
use crate::workflows::external::ExternalSteps;
use ::director::{ClientCredentials, Director, HttpDirector};
use ::kubernetes::{Clusters, HttpClusters};
use ::provisioner::{HttpProvisioner, Provisioner};
use anyhow::{Context, Result, anyhow};
use engine::WallClock;
use engine::secret::SecretString;
use engine::store::{MemoryStore, Store};

use crate::no_provisioner::NoProvisioner;
use crate::settings::{
    Director as DirectorSettings, Login, Provisioner as ProvisionerSettings, RuntimeSettings, Settings,
};
use app::compose::{read, secret};

fn runtimes(runtime: &RuntimeSettings) -> Result<RuntimesSettings> {
    let catalog = parsed(runtime.catalog.as_deref(), Catalog::parse)?.unwrap_or_else(Catalog::built_in);
    let catalog = if runtime.target_secret {
        catalog.offering_target_secret().map_err(|error| anyhow!("runtime.catalog: {error}"))?
    } else {
        catalog
    };
    let components =
        parsed(runtime.components.as_deref(), Components::parse)?.unwrap_or_else(Components::built_in);
    Ok(RuntimesSettings {
        catalog: Arc::new(catalog),
        components: Arc::new(components),
        kyma_version: runtime.kyma_version.clone(),
        kubernetes_version: runtime.kubernetes_version.clone(),
        poll_max: runtime.poll.get(),
        settle: runtime.settle.get(),
        unknown_outcome: runtime.unknown_outcome,
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

fn accounts(settings: &Settings, store: Arc<dyn Store>) -> Result<Accounts> {
    let accounts = parsed(settings.runtime.accounts.as_deref(), Accounts::parse)?;
    Ok(Accounts::new(accounts.unwrap_or_else(Accounts::shared_by_all), store))
}

/// `sandbox` is the base address of the external systems to use where none is configured.
pub(crate) fn provisioner(
    config: &ProvisionerSettings,
    sandbox: Option<&str>,
) -> Result<Arc<dyn Provisioner>> {
    let own = config.url.as_ref().map(|url| url.as_str().to_owned());
    match own.or_else(|| sandbox.map(|url| format!("{url}/provisioner/graphql"))) {
        Some(url) => {
            let provisioner = HttpProvisioner::new(&url, config.timeout.get());
            let provisioner = provisioner.context("cannot use the Provisioner")?;
            Ok(Arc::new(provisioner.with_dialect(config.dialect)))
        }
        None => Ok(Arc::new(NoProvisioner)),
    }
}

/// A Director of the sandbox belongs to the Provisioner of the sandbox and to no other.
pub(crate) fn director(settings: &Settings, sandbox: Option<&str>) -> Result<Option<Arc<dyn Director>>> {
    let own = settings.director.url.as_ref().map(|url| url.as_str().to_owned());
    let sandbox = sandbox.filter(|_| settings.provisioner.url.is_none());
    let Some(url) = own.or_else(|| sandbox.map(|url| format!("{url}/director/graphql"))) else {
        return Ok(None);
    };
    let credentials = match &settings.director {
        DirectorSettings {
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
    let director = HttpDirector::new(&url, credentials, Arc::new(WallClock), settings.director.timeout.get());
    Ok(Some(Arc::new(director.context("cannot use the Director")?)))
}

fn override_sources(
    runtime: &RuntimeSettings,
    clusters: &Arc<dyn Clusters>,
) -> Result<Vec<Arc<dyn OverrideSource>>> {
    let mut sources: Vec<Arc<dyn OverrideSource>> = Vec::new();
    if let Some(dir) = &runtime.overrides {
        let files = OverrideFiles::open(dir).map_err(|error| anyhow!("runtime.overrides: {error}"))?;
        sources.push(Arc::new(files));
    }
    let objects = &runtime.override_objects;
    if let Some(path) = &objects.kubeconfig {
        let cluster = clusters.open(&secret(path)?).context("runtime.override_objects.kubeconfig")?;
        sources.push(Arc::new(OverrideObjects::new(cluster, objects.namespace.clone(), Arc::new(WallClock))));
    }
    Ok(sources)
}

/// Everything that steps need, none of it connected to anything.
pub(crate) fn unconnected() -> Clients {
    Clients {
        runtimes: Arc::new(RuntimesSettings::default()),
        provisioner: Arc::new(NoProvisioner),
        director: None,
        clusters: Arc::new(HttpClusters::new(Duration::from_secs(1))),
        accounts: Accounts::new(Accounts::shared_by_all(), Arc::new(MemoryStore::new())),
        override_sources: Vec::new(),
        external: Arc::default(),
    }
}

/// The same drivers with everything that the settings say besides addresses.
pub(crate) fn configured(settings: &Settings, store: &Arc<dyn Store>, drivers: Clients) -> Result<Clients> {
    let clusters: Arc<dyn Clusters> = Arc::new(HttpClusters::new(settings.kubernetes_timeout.get()));
    let drivers = Clients {
        runtimes: Arc::new(runtimes(&settings.runtime)?),
        accounts: accounts(settings, Arc::clone(store))?,
        override_sources: override_sources(&settings.runtime, &clusters)?,
        clusters,
        ..drivers
    };
    let Some(path) = &settings.runtime.steps else { return Ok(drivers) };
    let external = ExternalSteps::load(path, &drivers);
    let external = external.map_err(|error| anyhow!("{}: {error}", path.display()))?;
    Ok(Clients { external: Arc::new(external), ..drivers })
}

fn parsed<T>(path: Option<&Path>, parse: impl FnOnce(&str) -> Result<T, String>) -> Result<Option<T>> {
    let Some(path) = path else { return Ok(None) };
    let text = read(path)?;
    parse(&text).map(Some).map_err(|error| anyhow!("{}: {error}", path.display()))
}

fn login(login: &Login) -> Result<Option<(String, String, SecretString)>> {
    match login {
        Login { url: Some(url), username: Some(username), password_file: Some(path) } => {
            Ok(Some((url.as_str().to_owned(), username.clone(), secret(path)?)))
        }
        _ => Ok(None),
    }
}
