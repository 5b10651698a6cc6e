//! Everything that runtimes need, put together from the configuration.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::Clients;
use crate::backend::BackendKind;
use crate::model::account_rules::AccountRules;
use crate::model::accounts::Accounts;
use crate::model::bound_accounts::BoundAccounts;
use crate::model::catalog::{Catalog, CatalogPlan};
use crate::model::override_source::{OverrideFiles, OverrideObjects, OverrideSource};
use crate::model::records::Records;
use crate::model::{AuditLog, Components, KymaTemplate, ManagerSettings, RuntimesSettings, ServiceManager};
use crate::workflows::external::ExternalSteps;
use ::director::{ClientCredentials, Director, HttpDirector};
use ::http_client::client_builder;
use ::infrastructure_manager::{ApiAccess, HttpCredentialsBindings, HttpRuntimeResources, RuntimeResources};
use ::kubernetes::{Clusters, HttpClusters};
use ::provisioner::{HttpProvisioner, Provisioner};
use anyhow::{Context, Result, anyhow};
use engine::WallClock;
use engine::secret::SecretString;
use engine::store::{MemoryStore, Store};
use reqwest::Response;

use crate::no_provisioner::NoProvisioner;
use crate::settings::{
    Director as DirectorSettings, InfrastructureManager, Login, Provisioner as ProvisionerSettings,
    RuntimeSettings, Settings,
};
use app::compose::{read, secret};

const SANDBOX_TIMEOUT: Duration = Duration::from_secs(10);

fn runtimes(settings: &Settings) -> Result<RuntimesSettings> {
    let runtime = &settings.runtime;
    let catalog = parsed(runtime.catalog.as_deref(), Catalog::parse)?.unwrap_or_else(Catalog::built_in);
    let catalog = if runtime.target_secret {
        catalog.offering_target_secret().map_err(|error| anyhow!("runtime.catalog: {error}"))?
    } else {
        catalog
    };
    let components =
        parsed(runtime.components.as_deref(), Components::parse)?.unwrap_or_else(Components::built_in);
    let backends = backends(runtime, &catalog)?;
    let backend = |plan: &CatalogPlan| backends.get(&plan.name).copied().unwrap_or(runtime.backend);
    let catalog = Arc::new(catalog.with_backends(backend));
    Ok(RuntimesSettings {
        catalog,
        components: Arc::new(components),
        infrastructure_manager: manager_settings(&settings.infrastructure_manager)?,
        kyma_version: runtime.kyma_version.clone(),
        kubernetes_version: runtime.kubernetes_version.clone(),
        windows: runtime.maintenance_windows.clone(),
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

/// A plan that is not in the catalog is a mistake, and its instances would go elsewhere.
fn backends(runtime: &RuntimeSettings, catalog: &Catalog) -> Result<BTreeMap<String, BackendKind>> {
    match runtime.backends.keys().find(|plan| catalog.plan_named(plan).is_none()) {
        Some(plan) => Err(anyhow!("runtime.backends: the catalog has no plan {plan:?}")),
        None => Ok(runtime.backends.clone()),
    }
}

fn manager_settings(settings: &InfrastructureManager) -> Result<ManagerSettings> {
    Ok(ManagerSettings {
        poll: settings.poll.get(),
        grace: settings.grace.get(),
        create_limit: settings.create_limit.get(),
        update_limit: settings.update_limit.get(),
        delete_limit: settings.delete_limit.get(),
        kyma: parsed(settings.kyma_template.as_deref(), KymaTemplate::parse)?,
        kyma_limit: settings.kyma_limit.get(),
    })
}

/// `sandbox` is the base address of the external systems to use where none is configured.
pub(crate) async fn runtime_resources(
    config: &InfrastructureManager,
    sandbox: Option<&str>,
) -> Result<Option<Arc<dyn RuntimeResources>>> {
    let kubeconfig = match (&config.kubeconfig, sandbox) {
        (Some(path), _) => secret(path)?,
        (None, Some(url)) => sandbox_kubeconfig(url).await?,
        (None, None) => return Ok(None),
    };
    let access = ApiAccess::Kubeconfig(kubeconfig);
    let resources = HttpRuntimeResources::new(&access, &config.namespace, config.timeout.get());
    Ok(Some(Arc::new(resources.context("drivers.infrastructure_manager.kubeconfig")?)))
}

/// Of the stand-in for Infrastructure Manager in the sandbox, for a user with the rights of a broker.
async fn sandbox_kubeconfig(url: &str) -> Result<SecretString> {
    let client = client_builder(SANDBOX_TIMEOUT).build().context("cannot use the sandbox")?;
    let request = client.get(format!("{url}/infrastructure-manager/kubeconfig?user=keb"));
    let answer = request.send().await.and_then(Response::error_for_status);
    let text = answer.context("cannot use the sandbox")?.text().await.context("cannot use the sandbox")?;
    Ok(text.into())
}

fn bound_accounts(
    config: &InfrastructureManager,
    runtimes: &RuntimesSettings,
    records: &Records,
) -> Result<Option<BoundAccounts>> {
    let Some(path) = &config.accounts.kubeconfig else { return Ok(None) };
    let access = ApiAccess::Kubeconfig(secret(path)?);
    let bindings = HttpCredentialsBindings::new(&access, &config.accounts.namespace, config.timeout.get());
    let bindings = bindings.context("drivers.infrastructure_manager.accounts.kubeconfig")?;
    let rules = parsed(config.accounts.rules.as_deref(), AccountRules::parse)?;
    let rules = rules.unwrap_or_else(|| AccountRules::built_in(&runtimes.catalog));
    Ok(Some(BoundAccounts {
        bindings: Arc::new(bindings),
        rules: Arc::new(rules),
        clusters_max: u32::try_from(config.accounts.clusters_max).ok().filter(|max| *max > 0),
        records: records.clone(),
    }))
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
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    Clients {
        runtimes: Arc::new(RuntimesSettings::default()),
        provisioner: Arc::new(NoProvisioner),
        director: None,
        clusters: Arc::new(HttpClusters::new(Duration::from_secs(1))),
        runtime_resources: None,
        accounts: Accounts::new(Accounts::shared_by_all(), Arc::clone(&store)),
        bound_accounts: None,
        records: Records::new(store),
        override_sources: Vec::new(),
        external: Arc::default(),
    }
}

/// The same drivers with everything that the settings say besides addresses.
pub(crate) fn configured(settings: &Settings, store: &Arc<dyn Store>, drivers: Clients) -> Result<Clients> {
    let clusters: Arc<dyn Clusters> = Arc::new(HttpClusters::new(settings.kubernetes_timeout.get()));
    let runtimes = Arc::new(runtimes(settings)?);
    let records = Records::new(Arc::clone(store));
    let drivers = Clients {
        bound_accounts: bound_accounts(&settings.infrastructure_manager, &runtimes, &records)?,
        runtimes,
        records,
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
