//! Infrastructure Manager: runtimes are resources of a Kubernetes API, and a controller acts on them.
//!
//! There is no operation and no idempotency key: the caller makes the name of a runtime and saves it before the first
//! call, and a runtime is the same one as long as its name and its uid are the same.

mod accounts;
mod api;
mod http;
mod kyma;
mod labels;
mod merge;
mod observed;
mod patch;
mod resources;
mod schema;
mod spec;
mod verdict;
mod watch;
mod watch_stream;

use http_client::ExternalSystem;

pub use self::accounts::{
    AccountQuery, BindingUsage, Claim, CredentialsBinding, CredentialsBindings, HttpCredentialsBindings,
    choose_binding,
};
pub use self::api::ApiAccess;
pub use self::http::HttpRuntimeResources;
pub use self::kyma::{KymaModule, KymaResource, KymaState, ObservedKyma};
pub use self::labels::{FORCE_RECONCILIATION, GLOBAL_ACCOUNT_ID, INSTANCE_ID, KYMA_NAME, RUNTIME_ID};
pub use self::merge::merge;
pub use self::observed::{
    ObservedRuntime, RuntimeCondition, RuntimeState, ShootLastError, ShootLastOperation,
};
pub use self::resources::{
    Creation, Deletion, LabelledKind, Patch, PatchedRuntime, RuntimeFeed, RuntimeList, RuntimeResource,
    RuntimeResources, WriteMode,
};
pub use self::schema::{FittedSpec, InstalledSchema};
pub use self::spec::{
    AccessControlList, ContainerRuntime, ControlPlaneSpec, CountOrPercent, FailureTolerance, FilterSwitch,
    HighAvailability, KubeApiServer, NetworkFilter, NetworkingSpec, OidcIssuer, ProviderSpec, RuntimeSpec,
    SecurityNetworking, SecuritySpec, ShootKubernetes, ShootSpec, WorkerCri, WorkerImage, WorkerKubelet,
    WorkerKubernetes, WorkerMachine, WorkerPool, WorkerTaint, WorkerVolume,
};
pub use self::verdict::{AppliedChange, Readiness, classify};
pub use self::watch::{Observation, RuntimeEvents, WatchEvent, WatchLoop};

const SYSTEM: ExternalSystem = ExternalSystem("infrastructure manager");

/// Where the resources are, unless the configuration says otherwise.
pub const DEFAULT_NAMESPACE: &str = "kcp-system";
