//! The provisioner over HTTP and GraphQL.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use engine::secret::SecretString;
use http_client::graphql::{self, Endpoint};
use http_client::{Answer, DriverError};
use reqwest::header::HeaderMap;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tracing::info;

use super::fit::fit;
use super::queries::{self, Mutation};
use super::schema::{INTROSPECTION, IntrospectionBody, Schema};
use super::status::{OperationBody, RuntimeBody};
use super::{
    Dialect, OnBehalfOf, OperationState, OperationStatus, OperationType, ProvisionRuntimeInput, Provisioner,
    RuntimeStatus, SYSTEM, UpgradeRuntimeInput, UpgradeShootInput,
};

/// One client, and so one pool of connections, for all calls.
#[derive(Debug, Clone)]
pub struct HttpProvisioner {
    endpoint: Endpoint,
    dialect: Option<Dialect>,
    /// What the server has, once it was asked.
    schema: Arc<Mutex<Option<Arc<Schema>>>>,
}

enum ProvisionerCall<'a> {
    Change(Mutation, &'a Value),
    OperationStatus(&'a str),
    RuntimeStatus(&'a str),
}

impl ProvisionerCall<'_> {
    /// The query and its variables, for a server with this schema.
    fn for_server(&self, schema: &Schema) -> Result<(String, Value), DriverError> {
        match self {
            ProvisionerCall::OperationStatus(id) => {
                Ok((queries::operation_status(schema), json!({ "id": id })))
            }
            ProvisionerCall::RuntimeStatus(id) => Ok((queries::runtime_status(schema), json!({ "id": id }))),
            ProvisionerCall::Change(mutation, variables) => {
                if !schema.has("Mutation", mutation.field()) {
                    let field = mutation.field();
                    return Err(SYSTEM.refused(format!("its schema has no {field}; use a newer Provisioner")));
                }
                let mut variables = (*variables).clone();
                if let Some(input) = mutation.input() {
                    fit(schema, input, &mut variables["config"])?;
                }
                Ok((mutation.query(schema), variables))
            }
        }
    }
}

impl HttpProvisioner {
    /// `url` is the whole address, path included. `timeout` limits connecting and every silence; a whole call
    /// ends after twice that time. The server is asked for its schema once.
    pub fn new(url: &str, timeout: Duration) -> Result<Self, DriverError> {
        let endpoint = Endpoint::new(SYSTEM, url, timeout)?;
        Ok(HttpProvisioner { endpoint, dialect: None, schema: Arc::default() })
    }

    /// For a server that does not tell its schema.
    #[must_use]
    pub fn with_dialect(self, dialect: Option<Dialect>) -> Self {
        HttpProvisioner { dialect, schema: Arc::default(), ..self }
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        caller: OnBehalfOf<'_>,
        call: ProvisionerCall<'_>,
        secrets: &[&SecretString],
    ) -> Result<T, DriverError> {
        let mut headers = HeaderMap::new();
        headers.insert("tenant", SYSTEM.header("tenant", caller.tenant)?);
        if let Some(sub_account) = caller.sub_account {
            headers.insert("sub-account", SYSTEM.header("sub-account", sub_account)?);
        }
        let schema = self.schema(&headers).await?;
        let mut answer = self.send(&headers, &call, &schema).await?;
        if graphql::is_invalid(&answer) && self.dialect.is_none() {
            // It carried nothing out. Perhaps it was replaced by another release since it told its schema.
            *self.schema.lock().await = None;
            let newer = self.schema(&headers).await?;
            if newer != schema {
                answer = self.send(&headers, &call, &newer).await?;
            }
        }
        graphql::result(&answer, secrets)?.ok_or_else(|| SYSTEM.broken("it answered nothing and no error"))
    }

    async fn send(
        &self,
        headers: &HeaderMap,
        call: &ProvisionerCall<'_>,
        schema: &Schema,
    ) -> Result<Answer, DriverError> {
        let (query, variables) = call.for_server(schema)?;
        self.endpoint.send(headers.clone(), &query, &variables).await
    }

    async fn schema(&self, headers: &HeaderMap) -> Result<Arc<Schema>, DriverError> {
        let mut known = self.schema.lock().await;
        if let Some(schema) = &*known {
            return Ok(Arc::clone(schema));
        }
        let schema = Arc::new(match self.dialect {
            Some(dialect) => Schema::known(dialect),
            None => self.introspect(headers.clone()).await?,
        });
        *known = Some(Arc::clone(&schema));
        Ok(schema)
    }

    async fn introspect(&self, headers: HeaderMap) -> Result<Schema, DriverError> {
        let answer = self.endpoint.send(headers, INTROSPECTION, &Value::Null).await?;
        let untold = "its schema cannot be read; set drivers.provisioner.dialect";
        match graphql::result::<IntrospectionBody>(&answer, &[]) {
            Ok(Some(body)) => {
                let schema = Schema::introspected(body);
                let (last_error, upgrade_shoot) =
                    (schema.has("OperationStatus", "lastError"), schema.has("Mutation", "upgradeShoot"));
                info!(last_error, upgrade_shoot, "loaded the Provisioner's schema");
                Ok(schema)
            }
            Ok(None) | Err(DriverError::Refused { .. }) => Err(SYSTEM.broken(untold)),
            Err(error) => Err(error),
        }
    }

    async fn change(
        &self,
        caller: OnBehalfOf<'_>,
        mutation: Mutation,
        variables: &Value,
        secrets: &[&SecretString],
    ) -> Result<OperationStatus, DriverError> {
        match self
            .ask::<StartedOperation>(caller, ProvisionerCall::Change(mutation, variables), secrets)
            .await?
        {
            StartedOperation::Status(body) => body.try_into(),
            // The servers before the summer of 2020 answer to an upgrade with the id of its operation alone.
            StartedOperation::Id(id) if mutation == Mutation::Upgrade => Ok(OperationStatus {
                id: SYSTEM.id(id)?,
                operation: OperationType::Upgrade,
                state: OperationState::InProgress,
                message: String::new(),
                runtime_id: None,
                last_error: None,
            }),
            StartedOperation::Id(_) => {
                Err(SYSTEM.broken("it answered an id in place of the status of an operation"))
            }
        }
    }
}

/// What a call that changes something answers.
#[derive(serde::Deserialize)]
#[serde(untagged)]
enum StartedOperation {
    Id(String),
    Status(OperationBody),
}

#[async_trait]
impl Provisioner for HttpProvisioner {
    async fn provision_runtime(
        &self,
        caller: OnBehalfOf<'_>,
        config: &ProvisionRuntimeInput,
    ) -> Result<OperationStatus, DriverError> {
        self.change(caller, Mutation::Provision, &config.wire(), &config.secrets()).await
    }

    async fn deprovision_runtime(
        &self,
        caller: OnBehalfOf<'_>,
        runtime_id: &str,
    ) -> Result<String, DriverError> {
        let variables = json!({ "id": runtime_id });
        SYSTEM.id(self.ask(caller, ProvisionerCall::Change(Mutation::Deprovision, &variables), &[]).await?)
    }

    async fn upgrade_runtime(
        &self,
        caller: OnBehalfOf<'_>,
        runtime_id: &str,
        config: &UpgradeRuntimeInput,
    ) -> Result<OperationStatus, DriverError> {
        self.change(caller, Mutation::Upgrade, &config.wire(runtime_id), &config.secrets()).await
    }

    async fn upgrade_shoot(
        &self,
        caller: OnBehalfOf<'_>,
        runtime_id: &str,
        config: &UpgradeShootInput,
    ) -> Result<OperationStatus, DriverError> {
        let variables = json!({ "id": runtime_id, "config": config });
        self.change(caller, Mutation::UpgradeShoot, &variables, &[]).await
    }

    async fn operation_status(
        &self,
        caller: OnBehalfOf<'_>,
        operation_id: &str,
    ) -> Result<OperationStatus, DriverError> {
        self.ask::<OperationBody>(caller, ProvisionerCall::OperationStatus(operation_id), &[])
            .await?
            .try_into()
    }

    async fn runtime_status(
        &self,
        caller: OnBehalfOf<'_>,
        runtime_id: &str,
    ) -> Result<RuntimeStatus, DriverError> {
        self.ask::<RuntimeBody>(caller, ProvisionerCall::RuntimeStatus(runtime_id), &[]).await?.try_into()
    }
}
