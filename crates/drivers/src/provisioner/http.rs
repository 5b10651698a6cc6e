//! The provisioner over HTTP and GraphQL.

use std::time::Duration;

use async_trait::async_trait;
use engine::secret::SecretString;
use reqwest::header::HeaderMap;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::queries::{
    deprovision_runtime, operation_status, provision_runtime, runtime_status, upgrade_runtime, upgrade_shoot,
};
use super::status::{OperationBody, RuntimeBody};
use super::{
    Caller, OperationStatus, ProvisionRuntimeInput, Provisioner, RuntimeStatus, SYSTEM, UpgradeRuntimeInput,
    UpgradeShootInput,
};
use crate::error::DriverError;
use crate::graphql::{self, Endpoint};

/// One client, and so one pool of connections, for all calls.
#[derive(Debug, Clone)]
pub struct HttpProvisioner {
    endpoint: Endpoint,
}

impl HttpProvisioner {
    /// `url` is the whole address, path included. `timeout` limits connecting and every silence; a whole call
    /// ends after twice that time.
    pub fn new(url: &str, timeout: Duration) -> Result<Self, DriverError> {
        Ok(HttpProvisioner { endpoint: Endpoint::new(SYSTEM, url, timeout)? })
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        caller: Caller<'_>,
        query: &str,
        variables: &Value,
        secrets: &[&SecretString],
    ) -> Result<T, DriverError> {
        let mut headers = HeaderMap::new();
        headers.insert("tenant", SYSTEM.header("tenant", caller.tenant)?);
        if let Some(sub_account) = caller.sub_account {
            headers.insert("sub-account", SYSTEM.header("sub-account", sub_account)?);
        }
        let answer = self.endpoint.send(headers, query, variables).await?;
        graphql::result(&answer, secrets)?.ok_or_else(|| SYSTEM.broken("it answered nothing and no error"))
    }
}

#[async_trait]
impl Provisioner for HttpProvisioner {
    async fn provision_runtime(
        &self,
        caller: Caller<'_>,
        config: &ProvisionRuntimeInput,
    ) -> Result<OperationStatus, DriverError> {
        let (variables, secrets) = (config.wire(), config.secrets());
        let answer = self.ask::<OperationBody>(caller, provision_runtime::QUERY, &variables, &secrets);
        answer.await?.try_into()
    }

    async fn deprovision_runtime(&self, caller: Caller<'_>, runtime_id: &str) -> Result<String, DriverError> {
        let variables = json!({ "id": runtime_id });
        SYSTEM.id(self.ask(caller, deprovision_runtime::QUERY, &variables, &[]).await?)
    }

    async fn upgrade_runtime(
        &self,
        caller: Caller<'_>,
        runtime_id: &str,
        config: &UpgradeRuntimeInput,
    ) -> Result<OperationStatus, DriverError> {
        let (variables, secrets) = (config.wire(runtime_id), config.secrets());
        self.ask::<OperationBody>(caller, upgrade_runtime::QUERY, &variables, &secrets).await?.try_into()
    }

    async fn upgrade_shoot(
        &self,
        caller: Caller<'_>,
        runtime_id: &str,
        config: &UpgradeShootInput,
    ) -> Result<OperationStatus, DriverError> {
        let variables = json!({ "id": runtime_id, "config": config });
        self.ask::<OperationBody>(caller, upgrade_shoot::QUERY, &variables, &[]).await?.try_into()
    }

    async fn operation_status(
        &self,
        caller: Caller<'_>,
        operation_id: &str,
    ) -> Result<OperationStatus, DriverError> {
        let variables = json!({ "id": operation_id });
        self.ask::<OperationBody>(caller, operation_status::QUERY, &variables, &[]).await?.try_into()
    }

    async fn runtime_status(
        &self,
        caller: Caller<'_>,
        runtime_id: &str,
    ) -> Result<RuntimeStatus, DriverError> {
        let variables = json!({ "id": runtime_id });
        self.ask::<RuntimeBody>(caller, runtime_status::QUERY, &variables, &[]).await?.try_into()
    }
}
