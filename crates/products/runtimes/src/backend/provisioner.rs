//! The Runtime Provisioner as a back end. It makes a runtime for every call and cannot be searched, so the Director is
//! asked what came of a call whose answer was lost.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use director::Director;
use engine::{Halt, Timestamp};
use http_client::DriverError;
use provisioner::{
    OnBehalfOf, OperationState, OperationStatus, OperationType, Provisioner, RuntimeStatus,
    UpgradeRuntimeInput, UpgradeShootInput, provision_runtime_query,
};
use serde_json::{Value, json};

use super::{
    Activity, Backend, BackendKind, ChangeKind, ChangeState, ClusterChange, ClusterEntry, CreatedRuntime,
    DashboardState, KymaChange, Lookup, NewRuntime, NextLook, PreparedCall, RuntimeRef, SavedChange,
};
use crate::clients::Clients;
use crate::model::instance::InstanceRecord;
use crate::model::request::{self, BuiltRequest, INSTANCE_LABEL, TOKEN_LABEL};
use crate::model::settings::RuntimesSettings;

pub(super) struct ProvisionerBackend {
    provisioner: Arc<dyn Provisioner>,
    director: Option<Arc<dyn Director>>,
    runtimes: Arc<RuntimesSettings>,
}

/// The label under which the Director keeps the address of the dashboard, which the runtime's agent tells it.
const DASHBOARD_LABEL: &str = "runtime_consoleUrl";

impl ProvisionerBackend {
    pub(super) fn new(clients: &Clients) -> ProvisionerBackend {
        ProvisionerBackend {
            provisioner: Arc::clone(&clients.provisioner),
            director: clients.director.clone(),
            runtimes: Arc::clone(&clients.runtimes),
        }
    }

    /// The Provisioner does not tell a runtime that is gone from trouble of its own; the Director does.
    async fn is_gone(&self, runtime: RuntimeRef<'_>) -> Result<bool, Halt> {
        let Some(director) = &self.director else { return Ok(false) };
        Ok(director.runtime(runtime.account, runtime.id).await?.is_none())
    }

    fn cluster_config(&self, change: ClusterChange<'_>) -> UpgradeShootInput {
        let cloud = self.runtimes.catalog.cloud(change.plan.provider);
        let mut config = request::upgrade_shoot(change.plan, cloud, change.old, change.new);
        if let Some(versions) = change.versions {
            config.gardener_config.kubernetes_version.clone_from(&versions.kubernetes);
            config.gardener_config.machine_image.clone_from(&versions.machine_image);
            config.gardener_config.machine_image_version.clone_from(&versions.machine_image_version);
        }
        config
    }

    /// `None` where the runtime is gone.
    async fn status(&self, runtime: RuntimeRef<'_>) -> Result<Option<RuntimeStatus>, Halt> {
        match self.provisioner.runtime_status(caller(runtime), runtime.id).await {
            Ok(status) => Ok(Some(status)),
            Err(DriverError::Broken { .. } | DriverError::Refused { .. })
                if self.is_gone(runtime).await? =>
            {
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The operation may be unknown where the runtime was found again; then the last one of the runtime is it.
    async fn operation(&self, runtime: RuntimeRef<'_>, saved: &SavedChange) -> Result<OperationStatus, Halt> {
        if saved.is_begun() {
            return Ok(self.provisioner.operation_status(caller(runtime), &saved.operation).await?);
        }
        let status = self.provisioner.runtime_status(caller(runtime), runtime.id).await?;
        let missing = "the Provisioner knows the runtime but no operation on it";
        status.last_operation.ok_or_else(|| Halt::Retry { after: None, cause: missing.into() })
    }
}

#[async_trait]
impl Backend for ProvisionerBackend {
    fn kind(&self) -> BackendKind {
        BackendKind::Provisioner
    }

    fn title(&self) -> &'static str {
        "the Provisioner"
    }

    fn new_id(&self) -> Option<String> {
        None
    }

    fn create<'a>(&'a self, new: NewRuntime<'a>) -> Result<PreparedCall<'a, CreatedRuntime>, Halt> {
        let instance = new.from.instance;
        let BuiltRequest { request, unknown_components } = request::provision(&new.from, new.overrides);
        let caller = OnBehalfOf { tenant: &instance.account, sub_account: Some(&instance.subaccount) };
        let shown = json!({
            "headers": {"tenant": caller.tenant, "sub-account": caller.sub_account},
            "query": provision_runtime_query(),
            "variables": request.masked(),
            "unknown_components": &unknown_components,
        });
        let send = Box::pin(async move {
            let status = self.provisioner.provision_runtime(caller, &request).await?;
            Ok(CreatedRuntime {
                id: status.runtime_id,
                operation: Some(status.id),
                uid: None,
                left_out: Vec::new(),
            })
        });
        Ok(PreparedCall { shown, left_out: unknown_components, send })
    }

    async fn find_created(&self, instance: &InstanceRecord, token: Option<&str>) -> Result<Lookup, Halt> {
        let Some(director) = &self.director else { return Ok(Lookup::CannotTell) };
        let known =
            director.runtimes_by_label(&instance.account, INSTANCE_LABEL, &instance.instance_id).await?;
        let is_ours = |labels: &BTreeMap<String, Value>| match token {
            Some(token) => labels.get(TOKEN_LABEL).and_then(Value::as_str).is_none_or(|label| label == token),
            None => true,
        };
        let found =
            known.into_iter().find(|one| !instance.former_runtimes.contains(&one.id) && is_ours(&one.labels));
        Ok(found.map_or(Lookup::Absent, |found| Lookup::Found(found.id)))
    }

    async fn activity(
        &self,
        runtime: RuntimeRef<'_>,
        kind: ChangeKind,
        has_asked: bool,
        saved: &mut SavedChange,
    ) -> Result<Activity, Halt> {
        if kind != ChangeKind::Remove {
            let status = self.provisioner.runtime_status(caller(runtime), runtime.id).await?;
            return Ok(match (&mut saved.last, &status.last_operation) {
                (Some(before), Some(last)) if has_asked && *before != last.id && is_of(last, kind) => {
                    Activity::UnderWay(last.id.clone())
                }
                (Some(before), last) if !has_asked => {
                    *before = last.as_ref().map(|last| last.id.clone()).unwrap_or_default();
                    activity(status, kind, false)
                }
                _ => activity(status, kind, false),
            });
        }
        Ok(self.status(runtime).await?.map_or(Activity::Gone, |status| activity(status, kind, has_asked)))
    }

    fn change_cluster<'a>(
        &'a self,
        runtime: RuntimeRef<'a>,
        change: ClusterChange<'a>,
        saved: SavedChange,
    ) -> Result<Option<PreparedCall<'a, SavedChange>>, Halt> {
        let config = self.cluster_config(change);
        if config == UpgradeShootInput::default() {
            return Ok(None);
        }
        let shown = json!({"mutation": "upgradeShoot", "id": runtime.id, "config": &config});
        let send = Box::pin(async move {
            let begun = self.provisioner.upgrade_shoot(caller(runtime), runtime.id, &config).await?;
            Ok(saved.with_operation(begun.id))
        });
        Ok(Some(PreparedCall { shown, left_out: Vec::new(), send }))
    }

    fn change_kyma<'a>(
        &'a self,
        runtime: RuntimeRef<'a>,
        change: KymaChange<'a>,
        saved: SavedChange,
    ) -> Result<PreparedCall<'a, SavedChange>, Halt> {
        let built = request::kyma(&change.from, change.overrides);
        let config = UpgradeRuntimeInput { kyma_config: built.request };
        let shown = json!({"mutation": "upgradeRuntime", "id": runtime.id, "variables": config.masked()});
        let send = Box::pin(async move {
            let begun = self.provisioner.upgrade_runtime(caller(runtime), runtime.id, &config).await?;
            Ok(saved.with_operation(begun.id))
        });
        Ok(PreparedCall { shown, left_out: built.unknown_components, send })
    }

    async fn remove(&self, runtime: RuntimeRef<'_>) -> Result<Option<String>, DriverError> {
        self.provisioner.deprovision_runtime(caller(runtime), runtime.id).await.map(Some)
    }

    async fn progress(
        &self,
        runtime: RuntimeRef<'_>,
        _: ChangeKind,
        saved: &mut SavedChange,
        _: Timestamp,
    ) -> Result<ChangeState, Halt> {
        let status = self.operation(runtime, saved).await?;
        Ok(match status.state {
            OperationState::Succeeded => ChangeState::Done,
            OperationState::Failed => ChangeState::Failed(why(&status)),
            OperationState::Pending | OperationState::InProgress => ChangeState::Pending(message(status)),
        })
    }

    fn next_look(&self, _: RuntimeRef<'_>, going_on_for: Duration) -> NextLook {
        NextLook { after: self.runtimes.pause(going_on_for), key: None }
    }

    async fn kubeconfig(&self, runtime: RuntimeRef<'_>) -> Result<ClusterEntry, Halt> {
        let Some(status) = self.status(runtime).await?.filter(|status| !is_removed(status)) else {
            return Ok(ClusterEntry::Gone);
        };
        let kubeconfig = status.configuration.and_then(|configuration| configuration.kubeconfig);
        kubeconfig.map(ClusterEntry::Open).ok_or_else(|| Halt::Retry {
            after: None,
            cause: "the Provisioner has no kubeconfig of the runtime yet".into(),
        })
    }

    fn keeps_kubeconfig(&self) -> bool {
        true
    }

    async fn dashboard(&self, runtime: RuntimeRef<'_>) -> Result<DashboardState, Halt> {
        let Some(director) = &self.director else { return Ok(DashboardState::Unknown) };
        let Some(known) = director.runtime(runtime.account, runtime.id).await? else {
            return Ok(DashboardState::NotYet("the Director does not know the runtime yet"));
        };
        if known.condition.as_deref() == Some("FAILED") {
            return Ok(DashboardState::Failed("the Director says that the runtime has failed"));
        }
        let url = known.labels.get(DASHBOARD_LABEL).and_then(Value::as_str);
        Ok(match url.filter(|url| url.starts_with("https://")) {
            Some(url) => DashboardState::At(url.to_owned()),
            None => DashboardState::NotYet("the address of the runtime's dashboard is not known yet"),
        })
    }
}

fn caller(runtime: RuntimeRef<'_>) -> OnBehalfOf<'_> {
    OnBehalfOf { tenant: runtime.account, sub_account: Some(runtime.subaccount) }
}

fn activity(status: RuntimeStatus, kind: ChangeKind, has_asked: bool) -> Activity {
    let Some(last) = status.last_operation else { return Activity::Idle };
    let is_of_kind = is_of(&last, kind);
    let works = matches!(last.state, OperationState::Pending | OperationState::InProgress);
    match (is_of_kind, works) {
        (true, true) => Activity::UnderWay(last.id),
        // Ours, if we asked: the answer was lost, and it is over already.
        (true, false) if has_asked && last.state == OperationState::Succeeded => Activity::UnderWay(last.id),
        (false, true) => Activity::Other(last.message),
        _ => Activity::Idle,
    }
}

fn is_of(last: &OperationStatus, kind: ChangeKind) -> bool {
    match kind {
        ChangeKind::Create => {
            matches!(last.operation, OperationType::Provision | OperationType::ProvisionNoInstall)
        }
        ChangeKind::Cluster => last.operation == OperationType::UpgradeShoot,
        ChangeKind::Kyma => last.operation == OperationType::Upgrade,
        ChangeKind::Remove => is_removal(&last.operation),
    }
}

fn is_removal(operation: &OperationType) -> bool {
    matches!(operation, OperationType::Deprovision | OperationType::DeprovisionNoInstall)
}

fn is_removed(status: &RuntimeStatus) -> bool {
    let last = status.last_operation.as_ref();
    last.is_some_and(|last| is_removal(&last.operation) && last.state == OperationState::Succeeded)
}

/// Why an operation of the Provisioner failed, for people.
fn why(status: &OperationStatus) -> String {
    match &status.last_error {
        Some(error) => {
            format!("the Provisioner failed: {} ({}, {})", error.message, error.reason, error.component)
        }
        None if status.message.is_empty() => "the Provisioner failed and did not say why".into(),
        None => format!("the Provisioner failed: {}", status.message),
    }
}

/// How far an operation of the Provisioner is, for people.
fn message(status: OperationStatus) -> String {
    if status.message.is_empty() { "the Provisioner is working".into() } else { status.message }
}
