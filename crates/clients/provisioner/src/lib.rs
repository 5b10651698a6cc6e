//! The Runtime Provisioner: creates, updates and deletes clusters with Kyma.
//!
//! It knows no tokens of ours: two equal calls of `provision_runtime` make two runtimes. A step finds what an
//! earlier try made through the director, by the label that it gave the runtime.

mod dialect;
mod fit;
mod gardener;
mod http;
mod queries;
mod schema;
mod status;
#[cfg(test)]
mod tests;
mod types;

use async_trait::async_trait;
use http_client::{DriverError, ExternalSystem};

pub use self::dialect::Dialect;
pub use self::gardener::{
    AwsConfigInput, AwsZoneInput, AzureConfigInput, AzureZoneInput, DnsConfigInput, DnsProviderInput,
    GardenerConfigInput, GardenerUpgradeInput, GcpConfigInput, OidcConfigInput, OpenStackConfigInput,
    ProviderSpecificInput,
};
pub use self::http::HttpProvisioner;
pub use self::queries::provision_runtime_query;
pub use self::status::{
    GardenerConfig, OperationState, OperationStatus, OperationType, RuntimeConfig, RuntimeLastError,
    RuntimeStatus,
};
pub use self::types::{
    ClusterConfigInput, ComponentConfigurationInput, ConfigEntryInput, ConflictStrategy, EntryValue,
    KymaConfigInput, KymaProfile, ProvisionRuntimeInput, RuntimeInput, UpgradeRuntimeInput,
    UpgradeShootInput,
};

const SYSTEM: ExternalSystem = ExternalSystem("provisioner");

/// On whose behalf a call is made.
#[derive(Debug, Clone, Copy)]
pub struct OnBehalfOf<'a> {
    /// The global account. The provisioner shows a runtime only to the tenant that made it.
    pub tenant: &'a str,
    pub sub_account: Option<&'a str>,
}

#[async_trait]
pub trait Provisioner: Send + Sync {
    /// Starts to make a runtime; the answer has the ids of the operation and of the runtime.
    ///
    /// Every call makes another runtime. After an error other than `Refused` the runtime may be in the making,
    /// so look for it at the director before the next try.
    async fn provision_runtime(
        &self,
        caller: OnBehalfOf<'_>,
        config: &ProvisionRuntimeInput,
    ) -> Result<OperationStatus, DriverError>;

    /// Starts to take a runtime down, and answers the id of the operation.
    ///
    /// The provisioner refuses it while another operation on the runtime is in progress, which may be one that
    /// an earlier try of the same call started: `runtime_status` tells.
    async fn deprovision_runtime(
        &self,
        caller: OnBehalfOf<'_>,
        runtime_id: &str,
    ) -> Result<String, DriverError>;

    /// Starts to install another version of Kyma, or the same one with another configuration.
    ///
    /// After an error other than `Refused` the operation may have started: `runtime_status` tells.
    async fn upgrade_runtime(
        &self,
        caller: OnBehalfOf<'_>,
        runtime_id: &str,
        config: &UpgradeRuntimeInput,
    ) -> Result<OperationStatus, DriverError>;

    /// Starts to change the cluster below a runtime. Errors mean the same as for `upgrade_runtime`.
    async fn upgrade_shoot(
        &self,
        caller: OnBehalfOf<'_>,
        runtime_id: &str,
        config: &UpgradeShootInput,
    ) -> Result<OperationStatus, DriverError>;

    /// How far an operation is. Changes nothing. An unknown id is an error.
    async fn operation_status(
        &self,
        caller: OnBehalfOf<'_>,
        operation_id: &str,
    ) -> Result<OperationStatus, DriverError>;

    /// How a runtime stands, and how to reach it. Changes nothing. An unknown id is an error.
    async fn runtime_status(
        &self,
        caller: OnBehalfOf<'_>,
        runtime_id: &str,
    ) -> Result<RuntimeStatus, DriverError>;
}
