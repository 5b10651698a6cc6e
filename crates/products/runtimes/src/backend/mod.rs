//! Back ends: the systems that make, change and remove the clusters of runtimes. Steps call them through one trait and
//! do not know which one they use.

mod change;
mod infrastructure_manager;
mod provisioner;
pub mod watch;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use engine::overrides::PassOverrides;
use engine::secret::SecretString;
use engine::{Halt, Timestamp};
use http_client::DriverError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::change::SavedChange;
use self::infrastructure_manager::ManagerBackend;
use self::provisioner::ProvisionerBackend;
use crate::clients::Clients;
pub use crate::model::catalog::BackendKind;
use crate::model::catalog::CatalogPlan;
use crate::model::instance::InstanceRecord;
use crate::model::parameters::Parameters;
use crate::model::request::RequestInputs;

/// A runtime as its back end knows it.
#[derive(Debug, Clone, Copy)]
pub struct RuntimeRef<'a> {
    pub account: &'a str,
    pub subaccount: &'a str,
    pub instance_id: &'a str,
    pub id: &'a str,
    /// Of its resource, where the back end keeps resources and it is known.
    pub uid: Option<&'a str>,
}

/// What a new runtime is made of.
pub struct NewRuntime<'a> {
    pub(crate) from: RequestInputs<'a>,
    pub(crate) overrides: PassOverrides,
    /// The id that [`Backend::new_id`] chose and the step saved.
    pub(crate) id: Option<&'a str>,
    /// The licence of the account, from the context of the request.
    pub(crate) licence: Option<&'a str>,
}

/// How the cluster of a runtime is to change. Everything else in it stays.
#[derive(Debug, Clone, Copy)]
pub struct ClusterChange<'a> {
    pub plan: &'a CatalogPlan,
    /// The id of the plan that it had before.
    pub old_plan: &'a str,
    pub old: &'a Parameters,
    pub new: &'a Parameters,
    pub versions: Option<&'a ClusterVersions>,
    /// The account that the instance moves to.
    pub account: Option<&'a str>,
}

/// Versions that an upgrade brings. `None` leaves one as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterVersions {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_image: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_image_version: Option<String>,
}

/// What the software on a runtime is to be: the version and the components of Kyma.
pub struct KymaChange<'a> {
    pub(crate) from: RequestInputs<'a>,
    pub(crate) overrides: PassOverrides,
}

/// A call that is ready to be made. Nothing is sent before `send` is awaited.
pub struct PreparedCall<'a, T> {
    /// The request for people, with its secrets masked.
    pub shown: Value,
    /// What was asked for and has no place in the request, by name.
    pub left_out: Vec<String>,
    pub send: Pin<Box<dyn Future<Output = Result<T, DriverError>> + Send + 'a>>,
}

/// A runtime in the making.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedRuntime {
    /// A back end that answers without it has broken its own rules.
    pub id: Option<String>,
    /// The operation of the back end, where it has such.
    pub operation: Option<String>,
    /// Tells the resource from one that had the same name before.
    pub uid: Option<String>,
    /// Fields that this installation of the back end does not have.
    pub left_out: Vec<String>,
}

/// What came of a call to create whose answer was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    Found(String),
    /// There is none yet; one may still appear for a time.
    Absent,
    /// The same call again makes no second runtime.
    CallAgain,
    /// The back end cannot be searched: an operator decides, or the configuration.
    CannotTell,
}

/// A kind of change that a back end makes in its own time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    Create,
    Cluster,
    Kyma,
    Remove,
}

/// What the back end does to a runtime at this moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Activity {
    Idle,
    /// A change of the kind in question, with its operation where the back end has such.
    UnderWay(String),
    /// Another change, with what the back end says about it.
    Other(String),
    /// The runtime does not exist any longer.
    Gone,
}

/// How far a change is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeState {
    Done,
    Failed(String),
    Pending(String),
}

/// Where the dashboard of a runtime is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DashboardState {
    /// This back end does not tell.
    Unknown,
    At(String),
    NotYet(&'static str),
    Failed(&'static str),
}

/// How far the deletion of a Kyma resource is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KymaRemoval {
    Done,
    Pending(String),
    /// It took too long: these are left, and nothing waits for them.
    LeftBehind(Vec<String>),
}

/// How to reach a cluster as its administrator.
pub enum ClusterEntry {
    Open(SecretString),
    /// The cluster is gone, and everything in it.
    Gone,
}

/// When to look again.
pub struct NextLook {
    pub after: Duration,
    /// A signal with this key ends the pause early.
    pub key: Option<String>,
}

/// What makes, changes and removes the clusters of runtimes.
///
/// After an error other than `Refused` a change may have begun; each method says how the next try finds out.
#[async_trait]
pub trait Backend: Send + Sync {
    fn kind(&self) -> BackendKind;

    /// What people call it, with its article.
    fn title(&self) -> &'static str;

    /// The id of a runtime that is about to be made, where the caller chooses it and saves it before the call.
    fn new_id(&self) -> Option<String>;

    /// What creates a runtime. Whether another call after a lost answer makes a second one: [`Backend::find_created`].
    fn create<'a>(&'a self, new: NewRuntime<'a>) -> Result<PreparedCall<'a, CreatedRuntime>, Halt>;

    /// What came of a call to create whose answer was lost. Without a `token`: of any call for this instance.
    async fn find_created(&self, instance: &InstanceRecord, token: Option<&str>) -> Result<Lookup, Halt>;

    /// What the back end does to the runtime now. Changes nothing. It comes before each call that changes or removes,
    /// and what it notes in `saved` is saved before that call.
    async fn activity(
        &self,
        runtime: RuntimeRef<'_>,
        kind: ChangeKind,
        has_asked: bool,
        saved: &mut SavedChange,
    ) -> Result<Activity, Halt>;

    /// What changes the cluster, or nothing where it is as it should be. The same call again changes nothing more.
    fn change_cluster<'a>(
        &'a self,
        runtime: RuntimeRef<'a>,
        change: ClusterChange<'a>,
        saved: SavedChange,
    ) -> Result<Option<PreparedCall<'a, SavedChange>>, Halt>;

    /// What changes the software on the runtime. The same call again changes nothing more.
    fn change_kyma<'a>(
        &'a self,
        runtime: RuntimeRef<'a>,
        change: KymaChange<'a>,
        saved: SavedChange,
    ) -> Result<PreparedCall<'a, SavedChange>, Halt>;

    /// Begins to remove the runtime, and answers the operation, where the back end has such.
    async fn remove(&self, runtime: RuntimeRef<'_>) -> Result<Option<String>, DriverError>;

    /// Has a creation that failed tried once more, where the back end can.
    async fn try_again(&self, _: RuntimeRef<'_>, _: &mut SavedChange) -> Result<(), Halt> {
        Ok(())
    }

    /// How far a change is. What has to be known at the next look is put into `saved`.
    async fn progress(
        &self,
        runtime: RuntimeRef<'_>,
        kind: ChangeKind,
        saved: &mut SavedChange,
        now: Timestamp,
    ) -> Result<ChangeState, Halt>;

    /// When to look again at a change that has been going on for so long.
    fn next_look(&self, runtime: RuntimeRef<'_>, going_on_for: Duration) -> NextLook;

    /// How to reach the cluster. Asked anew each time: the back end may have rotated it.
    async fn kubeconfig(&self, runtime: RuntimeRef<'_>) -> Result<ClusterEntry, Halt>;

    /// Whether the kubeconfig may be kept with the instance.
    fn keeps_kubeconfig(&self) -> bool;

    /// Whether the kubeconfig is gone as soon as the removal begins, so that bindings have to end before it.
    fn ends_bindings_first(&self) -> bool {
        false
    }

    async fn dashboard(&self, runtime: RuntimeRef<'_>) -> Result<DashboardState, Halt>;

    /// Whether runtimes have a Kyma resource beside them.
    fn has_kyma(&self) -> bool {
        false
    }

    /// Writes the Kyma resource of a runtime that is ready, where there is one. May be called any number of times.
    async fn apply_kyma(&self, _: &InstanceRecord, _: &Parameters, _: RuntimeRef<'_>) -> Result<(), Halt> {
        Ok(())
    }

    /// Deletes the Kyma resource and says how far that is. `since` is when the first call was made.
    async fn remove_kyma(
        &self,
        _: RuntimeRef<'_>,
        _since: Timestamp,
        _now: Timestamp,
    ) -> Result<KymaRemoval, Halt> {
        Ok(KymaRemoval::Done)
    }
}

/// What waits for a change of the resource of a runtime waits for a signal with this key.
pub fn wake_key(runtime_id: &str) -> String {
    format!("runtime_resource:{runtime_id}")
}

/// All back ends, one of each kind.
#[derive(Clone)]
pub struct Backends {
    provisioner: Arc<dyn Backend>,
    manager: Arc<dyn Backend>,
}

impl Backends {
    pub fn new(clients: &Clients) -> Backends {
        Backends {
            provisioner: Arc::new(ProvisionerBackend::new(clients)),
            manager: Arc::new(ManagerBackend::new(clients)),
        }
    }

    pub fn get(&self, kind: BackendKind) -> &dyn Backend {
        match kind {
            BackendKind::Provisioner => &*self.provisioner,
            BackendKind::InfrastructureManager => &*self.manager,
        }
    }

    /// The one that has made the runtimes of this instance, or is to make the first.
    pub fn of(&self, instance: &InstanceRecord) -> &dyn Backend {
        self.get(instance.backend.unwrap_or_default())
    }
}

impl BackendKind {
    pub const NAMES: [(&str, BackendKind); 2] = [
        ("provisioner", BackendKind::Provisioner),
        ("infrastructure-manager", BackendKind::InfrastructureManager),
    ];
}

impl InstanceRecord {
    pub(crate) fn runtime<'a>(&'a self, id: &'a str) -> RuntimeRef<'a> {
        RuntimeRef {
            account: &self.account,
            subaccount: &self.subaccount,
            instance_id: &self.instance_id,
            id,
            uid: self.runtime_uid.as_deref(),
        }
    }

    /// Whether no back end was ever asked for a runtime of this instance.
    pub(crate) fn is_unmade(&self) -> bool {
        let was_asked = self.asked_at.is_some() || self.runtime_id.is_some() || self.ready;
        self.backend.is_none() && !was_asked && self.former_runtimes.is_empty()
    }
}
