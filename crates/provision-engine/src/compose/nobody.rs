//! The far sides of an engine that was told of none.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ::greeter::{Greeter, Greeting};
use ::http_client::DriverError;
use ::provisioner::{
    Caller, OperationStatus, ProvisionRuntimeInput, Provisioner, RuntimeStatus, UpgradeRuntimeInput,
    UpgradeShootInput,
};
use async_trait::async_trait;

/// Refuses everything and says how to change that.
///
/// It remembers whom it refused: nothing was made for them, so there is nothing to take back. What an earlier
/// run with a real greeter made is another matter, and taking that back is refused, too.
#[derive(Debug, Default)]
pub(super) struct NobodyGreets {
    refused: Mutex<BTreeSet<String>>,
}

impl NobodyGreets {
    fn refused(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refusal() -> DriverError {
    let message = "no greeter configured: set drivers.greeter.url, or serve with --sandbox or --sandbox-url";
    DriverError::Refused { system: "greeter", message: message.to_owned() }
}

#[async_trait]
impl Greeter for NobodyGreets {
    async fn greet(&self, token: &str, _name: &str) -> Result<Greeting, DriverError> {
        self.refused().insert(token.to_owned());
        Err(refusal())
    }

    async fn find(&self, token: &str) -> Result<Option<Greeting>, DriverError> {
        if self.refused().contains(token) { Ok(None) } else { Err(refusal()) }
    }

    async fn forget(&self, token: &str) -> Result<(), DriverError> {
        if self.refused().remove(token) { Ok(()) } else { Err(refusal()) }
    }
}

/// Makes no runtime and says how to change that.
#[derive(Debug)]
pub(super) struct NobodyProvisions;

fn no_provisioner<T>() -> Result<T, DriverError> {
    let message = "no Provisioner configured: set drivers.provisioner.url, or serve with --sandbox";
    Err(DriverError::Refused { system: "provisioner", message: message.to_owned() })
}

#[async_trait]
impl Provisioner for NobodyProvisions {
    async fn provision_runtime(
        &self,
        _: Caller<'_>,
        _: &ProvisionRuntimeInput,
    ) -> Result<OperationStatus, DriverError> {
        no_provisioner()
    }

    async fn deprovision_runtime(&self, _: Caller<'_>, _: &str) -> Result<String, DriverError> {
        no_provisioner()
    }

    async fn upgrade_runtime(
        &self,
        _: Caller<'_>,
        _: &str,
        _: &UpgradeRuntimeInput,
    ) -> Result<OperationStatus, DriverError> {
        no_provisioner()
    }

    async fn upgrade_shoot(
        &self,
        _: Caller<'_>,
        _: &str,
        _: &UpgradeShootInput,
    ) -> Result<OperationStatus, DriverError> {
        no_provisioner()
    }

    async fn operation_status(&self, _: Caller<'_>, _: &str) -> Result<OperationStatus, DriverError> {
        no_provisioner()
    }

    async fn runtime_status(&self, _: Caller<'_>, _: &str) -> Result<RuntimeStatus, DriverError> {
        no_provisioner()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_what_was_refused_here_can_be_forgotten() {
        let nobody = NobodyGreets::default();
        let refused = nobody.greet("t1", "Ada").await.unwrap_err().to_string();
        assert!(refused.contains("--sandbox"), "{refused}");
        assert!(nobody.find("t1").await.unwrap().is_none());
        nobody.forget("t1").await.unwrap();
        nobody.forget("t2").await.unwrap_err();
    }
}
