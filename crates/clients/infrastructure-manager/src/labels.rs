//! The labels and annotations that Infrastructure Manager and its neighbours read.

pub const INSTANCE_ID: &str = "kyma-project.io/instance-id";
/// Infrastructure Manager stops before it looks at a deletion while this label is empty.
pub const RUNTIME_ID: &str = "kyma-project.io/runtime-id";
/// On the runtime, on its Kyma resource and on its `GardenerCluster`.
pub const GLOBAL_ACCOUNT_ID: &str = "kyma-project.io/global-account-id";
pub const KYMA_NAME: &str = "operator.kyma-project.io/kyma-name";
/// An annotation: Infrastructure Manager tries a failed runtime once more, and removes it.
pub const FORCE_RECONCILIATION: &str = "operator.kyma-project.io/force-patch-reconciliation";

/// Of cloud accounts.
pub(crate) const TENANT: &str = "tenantName";
pub(crate) const DIRTY: &str = "dirty";
