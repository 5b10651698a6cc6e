//! `RuntimeResources`: what can be done with the runtimes of one Infrastructure Manager.

use std::collections::BTreeMap;

use async_trait::async_trait;
use engine::secret::SecretString;
use http_client::DriverError;
use serde_json::Value;

use super::kyma::{KymaResource, ObservedKyma};
use super::observed::ObservedRuntime;
use super::schema::InstalledSchema;
use super::watch::RuntimeEvents;

/// A runtime to be made. `spec` comes from `RuntimeSpec`, fitted to what is installed.
#[derive(Debug, Clone, PartialEq)]
pub struct RuntimeResource {
    /// In lower case, made and saved before the first call.
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub spec: Value,
}

/// Whether a call changes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteMode {
    Apply,
    /// The server checks everything and keeps nothing. Nothing of its answer is worth keeping either: a generation and
    /// a uid in it never exist.
    DryRun,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Creation {
    Created(ObservedRuntime),
    /// One of this name stands. It is ours if it `belongs_to` the instance and is not being deleted.
    Exists(ObservedRuntime),
    /// It could be created.
    DryRun,
}

/// Changes of the fields that we own, and of no others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Patch {
    /// With the version that was read, the change is made only to that one.
    pub resource_version: Option<String>,
    /// None removes a label.
    pub labels: BTreeMap<String, Option<String>>,
    /// None removes an annotation.
    pub annotations: BTreeMap<String, Option<String>>,
    /// A merge patch of the spec: null removes a field, a list is replaced whole. Null as a whole changes nothing.
    pub spec: Value,
}

/// What stands beside a runtime, under the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelledKind {
    Kyma,
    GardenerCluster,
}

#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "one of them lives at a time, and most are the large variant")]
pub enum PatchedRuntime {
    /// As it is now. Its generation says whether there is something to wait for: see `AppliedChange`.
    Patched(ObservedRuntime),
    /// It is not the version that was read any more: read it again and decide again.
    Conflict,
    /// There is none of this name.
    Absent,
    /// It could be changed.
    DryRun,
}

#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "one of them lives at a time, and most are the large variant")]
pub enum Deletion {
    /// It is gone, or was not there.
    Gone,
    /// It waits for its finalizers. Its state stays what it was until Infrastructure Manager writes another.
    Waiting(ObservedRuntime),
    /// The one of this name has another uid: it is not ours.
    OtherUid,
    /// It could be deleted.
    DryRun,
}

/// A page of runtimes.
#[derive(Debug, Clone, PartialEq)]
pub struct RuntimeList {
    pub items: Vec<ObservedRuntime>,
    /// For the next page.
    pub next: Option<String>,
    /// Of the list as a whole: a watch begins here.
    pub resource_version: String,
}

/// What a watch needs of the runtimes in one namespace: all of them, and what changes from there on.
#[async_trait]
pub trait RuntimeFeed: Send + Sync {
    /// A page of the runtimes with these labels, such as `a=1,b=2`; all of them without a selector.
    async fn list(&self, selector: Option<&str>, next: Option<&str>) -> Result<RuntimeList, DriverError>;

    /// What changes from this version of a list on, until the server ends the watch. `WatchLoop` begins anew each time.
    async fn watch(&self, resource_version: &str) -> Result<Box<dyn RuntimeEvents>, DriverError>;
}

/// The runtimes in one namespace of a Kubernetes API.
///
/// Everything may be called any number of times. After an error other than `Refused` a change may be done or not:
/// call again with the same name. An API that is not installed is `Broken` and never an absent object.
#[async_trait]
pub trait RuntimeResources: RuntimeFeed {
    /// Creates a runtime, unless one of this name stands.
    async fn create(&self, runtime: &RuntimeResource, mode: WriteMode) -> Result<Creation, DriverError>;

    async fn get(&self, name: &str) -> Result<Option<ObservedRuntime>, DriverError>;

    /// Changes the named fields. Where the server does not allow `patch`, the object is read, changed and written back
    /// whole, so that what others wrote stays.
    async fn patch(&self, name: &str, patch: &Patch, mode: WriteMode) -> Result<PatchedRuntime, DriverError>;

    /// Deletes the runtime with this uid. Without one, the one of this name.
    async fn delete(&self, name: &str, uid: Option<&str>, mode: WriteMode) -> Result<Deletion, DriverError>;

    /// Asks Infrastructure Manager to try a failed runtime once more.
    async fn force_reconciliation(&self, name: &str) -> Result<PatchedRuntime, DriverError>;

    /// The kubeconfig of the cluster with the rights of an administrator. It changes a few times a day, so it is read
    /// when it is used, and never stored. None before it is made, while it is replaced, and from a deletion on.
    async fn kubeconfig(&self, name: &str) -> Result<Option<SecretString>, DriverError>;

    /// Which fields of a runtime this installation has. None if the server does not say it.
    async fn installed_schema(&self) -> Result<Option<InstalledSchema>, DriverError>;

    /// Sets labels of an object beside a runtime; None removes one. False if there is no such object.
    async fn label(
        &self,
        kind: LabelledKind,
        name: &str,
        labels: &BTreeMap<String, Option<String>>,
    ) -> Result<bool, DriverError>;

    /// Creates the Kyma resource. One that stands keeps its spec, and gets the labels.
    async fn apply_kyma(&self, kyma: &KymaResource) -> Result<ObservedKyma, DriverError>;

    async fn kyma(&self, name: &str) -> Result<Option<ObservedKyma>, DriverError>;

    /// Begins to delete the Kyma resource. None if it is gone.
    async fn delete_kyma(&self, name: &str) -> Result<Option<ObservedKyma>, DriverError>;
}
