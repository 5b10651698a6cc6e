//! Infrastructure Manager as a back end: a runtime is a resource of a Kubernetes API, and a controller acts on it.
//!
//! There is no operation to ask for. The id of a runtime is made and saved before the call, so that the same call can be
//! made again, and a change is over when the status belongs to it.

mod calls;
mod kyma;
mod spec;
mod spec_change;
mod workers;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use engine::{Halt, Timestamp};
use http_client::DriverError;
use infrastructure_manager::{Deletion, ObservedRuntime, RuntimeResource, RuntimeResources, WriteMode};
use serde_json::json;
use uuid::Uuid;

use self::spec_change::SpecChange;
use super::{
    Activity, Backend, BackendKind, ChangeKind, ChangeState, ClusterChange, ClusterEntry, CreatedRuntime,
    DashboardState, KymaChange, KymaRemoval, Lookup, NewRuntime, NextLook, PreparedCall, RuntimeRef,
    SavedChange, watch,
};
use crate::clients::Clients;
use crate::model::instance::InstanceRecord;
use crate::model::parameters::Parameters;
use crate::model::settings::{ManagerSettings, RuntimesSettings};

pub(super) struct ManagerBackend {
    resources: Option<Arc<dyn RuntimeResources>>,
    runtimes: Arc<RuntimesSettings>,
}

const SYSTEM: &str = "infrastructure manager";
const TITLE: &str = "Infrastructure Manager";

fn refused(message: impl Into<String>) -> DriverError {
    DriverError::Refused { system: SYSTEM, message: message.into() }
}

impl ManagerBackend {
    pub(super) fn new(clients: &Clients) -> ManagerBackend {
        ManagerBackend {
            resources: clients.runtime_resources.clone(),
            runtimes: Arc::clone(&clients.runtimes),
        }
    }

    fn resources(&self) -> Result<&dyn RuntimeResources, DriverError> {
        self.resources.as_deref().ok_or_else(|| {
            refused("not configured: set drivers.infrastructure_manager.kubeconfig, or serve with --sandbox")
        })
    }

    fn settings(&self) -> &ManagerSettings {
        &self.runtimes.infrastructure_manager
    }
}

/// Whether it is the resource that this instance has, and not another of the same name.
fn is_ours(observed: &ObservedRuntime, runtime: RuntimeRef<'_>) -> bool {
    observed.belongs_to(runtime.instance_id) && runtime.uid.is_none_or(|uid| uid == observed.uid)
}

/// A change that takes too long fails with what it waits for.
fn limited(state: ChangeState, going_on_for: Duration, limit: Duration) -> ChangeState {
    match state {
        ChangeState::Pending(reason) if going_on_for >= limit => {
            let minutes = limit.as_secs().div_ceil(60);
            ChangeState::Failed(format!("{TITLE} is not done after {minutes} min: {reason}"))
        }
        state => state,
    }
}

#[async_trait]
impl Backend for ManagerBackend {
    fn kind(&self) -> BackendKind {
        BackendKind::InfrastructureManager
    }

    fn title(&self) -> &'static str {
        TITLE
    }

    fn new_id(&self) -> Option<String> {
        Some(Uuid::new_v4().to_string())
    }

    fn create<'a>(&'a self, new: NewRuntime<'a>) -> Result<PreparedCall<'a, CreatedRuntime>, Halt> {
        let without_place = spec::without_place(new.from.parameters);
        if !without_place.is_empty() {
            let names = without_place.join(", ");
            return Err(Halt::fail(format!("{names}: runtimes of this plan cannot have it; leave it out")));
        }
        let instance = new.from.instance;
        let name = new.id.unwrap_or("<made before the call>").to_owned();
        let labels = spec::labels(instance, new.from.plan, &name);
        let resource = RuntimeResource { name, labels, spec: spec::spec(&new) };
        let shown = json!({
            "method": "POST",
            "kind": "Runtime",
            "metadata": {"name": &resource.name, "labels": &resource.labels},
            "spec": &resource.spec,
        });
        let send = Box::pin(self.send_create(resource, &instance.instance_id));
        Ok(PreparedCall { shown, left_out: spec::left_out(&new), send })
    }

    async fn find_created(&self, _: &InstanceRecord, _: Option<&str>) -> Result<Lookup, Halt> {
        Ok(Lookup::CallAgain)
    }

    async fn activity(
        &self,
        runtime: RuntimeRef<'_>,
        kind: ChangeKind,
        _: bool,
        saved: &mut SavedChange,
    ) -> Result<Activity, Halt> {
        let Some(observed) = self.resources()?.get(runtime.id).await? else { return Ok(Activity::Gone) };
        if !is_ours(&observed, runtime) {
            return match kind {
                // Ours is gone, and another client has made one of the same name.
                ChangeKind::Remove => Ok(Activity::Gone),
                _ => Err(Halt::fail(format!("the resource {} is not of this instance", runtime.id))),
            };
        }
        match (kind, observed.is_being_deleted()) {
            (ChangeKind::Remove, true) => Ok(Activity::UnderWay(String::new())),
            (_, true) => Ok(Activity::Gone),
            (ChangeKind::Remove, false) => Ok(Activity::Idle),
            (_, false) => {
                saved.before = saved.before.or(Some(observed.generation));
                Ok(Activity::Idle)
            }
        }
    }

    fn change_cluster<'a>(
        &'a self,
        runtime: RuntimeRef<'a>,
        change: ClusterChange<'a>,
        saved: SavedChange,
    ) -> Result<Option<PreparedCall<'a, SavedChange>>, Halt> {
        let asked = SpecChange::of(change, self.runtimes.catalog.cloud(change.plan.provider));
        if asked.is_empty() {
            return Ok(None);
        }
        let shown = asked.shown(runtime.id);
        let send = Box::pin(async move { self.send_patch(runtime.id, &asked, saved).await });
        Ok(Some(PreparedCall { shown, left_out: Vec::new(), send }))
    }

    fn change_kyma<'a>(
        &'a self,
        _: RuntimeRef<'a>,
        _: KymaChange<'a>,
        _: SavedChange,
    ) -> Result<PreparedCall<'a, SavedChange>, Halt> {
        let names = "parameters.kymaVersion and parameters.components";
        Err(Halt::fail(format!("{names}: {TITLE} has no place for them; leave them out")))
    }

    async fn remove(&self, runtime: RuntimeRef<'_>) -> Result<Option<String>, DriverError> {
        match self.resources()?.delete(runtime.id, runtime.uid, WriteMode::Apply).await? {
            Deletion::Gone | Deletion::Waiting(_) | Deletion::DryRun => Ok(None),
            Deletion::OtherUid => {
                Err(refused(format!("the resource {} is not of this instance: its uid differs", runtime.id)))
            }
        }
    }

    async fn try_again(&self, runtime: RuntimeRef<'_>, saved: &mut SavedChange) -> Result<(), Halt> {
        if let Some(observed) = self.resources()?.get(runtime.id).await?.filter(|one| is_ours(one, runtime)) {
            saved.applied = self.unfinished(runtime.id, &observed).await?;
        }
        Ok(())
    }

    async fn progress(
        &self,
        runtime: RuntimeRef<'_>,
        kind: ChangeKind,
        saved: &mut SavedChange,
        now: Timestamp,
    ) -> Result<ChangeState, Halt> {
        let observed = self.resources()?.get(runtime.id).await?;
        let (going_on_for, settings) = (now.since(saved.at), self.settings());
        Ok(match kind {
            ChangeKind::Remove => match observed.filter(|observed| is_ours(observed, runtime)) {
                None => ChangeState::Done,
                // Its state may be Failed meanwhile, while Infrastructure Manager goes on.
                Some(observed) => {
                    let waits_for = observed.finalizers.join(", ");
                    let reason = format!("the resource is being deleted; it waits for {waits_for}");
                    limited(ChangeState::Pending(reason), going_on_for, settings.delete_limit)
                }
            },
            ChangeKind::Create => {
                let state = self.readiness(runtime, observed, saved, now);
                limited(state, going_on_for, settings.create_limit)
            }
            ChangeKind::Cluster | ChangeKind::Kyma => {
                let state = self.readiness(runtime, observed, saved, now);
                limited(state, going_on_for, settings.update_limit)
            }
        })
    }

    fn next_look(&self, runtime: RuntimeRef<'_>, going_on_for: Duration) -> NextLook {
        watch::next_look(runtime.id, going_on_for, self.settings().poll)
    }

    async fn kubeconfig(&self, runtime: RuntimeRef<'_>) -> Result<ClusterEntry, Halt> {
        if let Some(kubeconfig) = self.resources()?.kubeconfig(runtime.id).await? {
            return Ok(ClusterEntry::Open(kubeconfig));
        }
        let observed = self.resources()?.get(runtime.id).await?;
        match observed.filter(|observed| is_ours(observed, runtime) && !observed.is_being_deleted()) {
            None => Ok(ClusterEntry::Gone),
            Some(_) => Err(Halt::Retry {
                after: None,
                cause: "the kubeconfig of the runtime is not there: it is being made or rotated".into(),
            }),
        }
    }

    fn keeps_kubeconfig(&self) -> bool {
        false
    }

    fn ends_bindings_first(&self) -> bool {
        true
    }

    async fn dashboard(&self, _: RuntimeRef<'_>) -> Result<DashboardState, Halt> {
        Ok(DashboardState::Unknown)
    }

    fn has_kyma(&self) -> bool {
        self.settings().kyma.is_some()
    }

    async fn apply_kyma(
        &self,
        instance: &InstanceRecord,
        parameters: &Parameters,
        runtime: RuntimeRef<'_>,
    ) -> Result<(), Halt> {
        let Some(template) = &self.settings().kyma else { return Ok(()) };
        let plan = self.runtimes.plan(&instance.plan_id).map_err(Halt::fail)?;
        let labels = spec::labels(instance, plan, runtime.id);
        self.resources()?
            .apply_kyma(&kyma::resource(template, parameters.modules.as_ref(), labels, runtime.id))
            .await?;
        Ok(())
    }

    async fn remove_kyma(
        &self,
        runtime: RuntimeRef<'_>,
        since: Timestamp,
        now: Timestamp,
    ) -> Result<KymaRemoval, Halt> {
        let Some(left) = self.resources()?.delete_kyma(runtime.id).await? else {
            return Ok(KymaRemoval::Done);
        };
        let leftovers = left.leftovers();
        if now.since(since) >= self.settings().kyma_limit {
            return Ok(KymaRemoval::LeftBehind(leftovers));
        }
        let reason = format!("the Kyma resource is being deleted; left are {}", leftovers.join(", "));
        Ok(KymaRemoval::Pending(reason))
    }
}
