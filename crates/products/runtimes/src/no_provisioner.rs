//! The Provisioner of a server that was configured with none.

use ::http_client::DriverError;
use ::provisioner::{
    OnBehalfOf, OperationStatus, ProvisionRuntimeInput, Provisioner, RuntimeStatus, UpgradeRuntimeInput,
    UpgradeShootInput,
};
use async_trait::async_trait;

/// Makes no runtime and says how to change that.
#[derive(Debug)]
pub(crate) struct NoProvisioner;

fn no_provisioner<T>() -> Result<T, DriverError> {
    let message = "no Provisioner configured: set drivers.provisioner.url, or serve with --sandbox";
    Err(DriverError::Refused { system: "provisioner", message: message.to_owned() })
}

#[async_trait]
impl Provisioner for NoProvisioner {
    async fn provision_runtime(
        &self,
        _: OnBehalfOf<'_>,
        _: &ProvisionRuntimeInput,
    ) -> Result<OperationStatus, DriverError> {
        no_provisioner()
    }

    async fn deprovision_runtime(&self, _: OnBehalfOf<'_>, _: &str) -> Result<String, DriverError> {
        no_provisioner()
    }

    async fn upgrade_runtime(
        &self,
        _: OnBehalfOf<'_>,
        _: &str,
        _: &UpgradeRuntimeInput,
    ) -> Result<OperationStatus, DriverError> {
        no_provisioner()
    }

    async fn upgrade_shoot(
        &self,
        _: OnBehalfOf<'_>,
        _: &str,
        _: &UpgradeShootInput,
    ) -> Result<OperationStatus, DriverError> {
        no_provisioner()
    }

    async fn operation_status(&self, _: OnBehalfOf<'_>, _: &str) -> Result<OperationStatus, DriverError> {
        no_provisioner()
    }

    async fn runtime_status(&self, _: OnBehalfOf<'_>, _: &str) -> Result<RuntimeStatus, DriverError> {
        no_provisioner()
    }
}
