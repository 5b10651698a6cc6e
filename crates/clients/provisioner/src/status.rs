//! Answers of the provisioner. Every text in them was checked or cut.

use engine::secret::SecretString;
use http_client::{DriverError, shorten};
use serde::Deserialize;

use super::SYSTEM;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationStatus {
    pub id: String,
    pub operation: OperationType,
    pub state: OperationState,
    /// Empty when the provisioner has nothing to say.
    pub message: String,
    pub runtime_id: Option<String>,
    pub last_error: Option<RuntimeLastError>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub enum OperationType {
    Provision,
    ProvisionNoInstall,
    Upgrade,
    UpgradeShoot,
    Deprovision,
    DeprovisionNoInstall,
    ReconnectRuntime,
    Hibernate,
    /// A kind that is younger than this program.
    #[serde(untagged)]
    Other(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum OperationState {
    Pending,
    InProgress,
    Succeeded,
    Failed,
}

/// Why an operation failed, or why it does not get on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeLastError {
    pub message: String,
    pub reason: String,
    pub component: String,
}

#[derive(Debug, Clone)]
pub struct RuntimeStatus {
    pub last_operation: Option<OperationStatus>,
    /// How the agent on the runtime is connected: `Pending`, `Connected` or `Disconnected`.
    pub connection: Option<String>,
    pub configuration: Option<RuntimeConfig>,
}

#[derive(Debug, Clone)]
pub struct RuntimeConfig {
    /// Administrates the cluster, so it is a secret.
    pub kubeconfig: Option<SecretString>,
    pub gardener: Option<GardenerConfig>,
    pub kyma_version: Option<String>,
}

/// The part of a cluster's configuration that provisioners of all ages answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GardenerConfig {
    pub name: Option<String>,
    pub kubernetes_version: Option<String>,
    pub machine_type: Option<String>,
    pub region: Option<String>,
    pub provider: Option<String>,
    pub purpose: Option<String>,
    pub seed: Option<String>,
    pub target_secret: Option<String>,
    pub disk_type: Option<String>,
    #[serde(rename = "volumeSizeGB")]
    pub volume_size_gb: Option<i32>,
    pub worker_cidr: Option<String>,
    pub auto_scaler_min: Option<i32>,
    pub auto_scaler_max: Option<i32>,
    pub max_surge: Option<i32>,
    pub max_unavailable: Option<i32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OperationBody {
    id: Option<String>,
    operation: OperationType,
    state: OperationState,
    message: Option<String>,
    #[serde(rename = "runtimeID")]
    runtime_id: Option<String>,
    last_error: Option<LastErrorBody>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LastErrorBody {
    err_message: String,
    reason: String,
    component: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RuntimeBody {
    last_operation_status: Option<OperationBody>,
    runtime_connection_status: Option<ConnectionBody>,
    runtime_configuration: Option<ConfigBody>,
}

#[derive(Deserialize)]
struct ConnectionBody {
    status: String,
}

/// No `Debug`, because a kubeconfig is a secret.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConfigBody {
    kubeconfig: Option<String>,
    cluster_config: Option<GardenerConfig>,
    kyma_config: Option<KymaBody>,
}

#[derive(Deserialize)]
struct KymaBody {
    version: Option<String>,
}

impl TryFrom<OperationBody> for OperationStatus {
    type Error = DriverError;

    fn try_from(body: OperationBody) -> Result<Self, DriverError> {
        Ok(OperationStatus {
            id: SYSTEM.id(body.id.unwrap_or_default())?,
            operation: match body.operation {
                OperationType::Other(name) => OperationType::Other(shorten(&name)),
                known => known,
            },
            state: body.state,
            message: shorten(&body.message.unwrap_or_default()),
            runtime_id: body.runtime_id.filter(|id| !id.is_empty()).map(|id| SYSTEM.id(id)).transpose()?,
            last_error: body.last_error.filter(LastErrorBody::says_something).map(RuntimeLastError::from),
        })
    }
}

impl LastErrorBody {
    /// Some provisioners send an error of empty texts when there is none.
    fn says_something(&self) -> bool {
        [&self.err_message, &self.reason, &self.component].iter().any(|text| !text.is_empty())
    }
}

impl From<LastErrorBody> for RuntimeLastError {
    fn from(body: LastErrorBody) -> Self {
        RuntimeLastError {
            message: shorten(&body.err_message),
            reason: shorten(&body.reason),
            component: shorten(&body.component),
        }
    }
}

impl TryFrom<RuntimeBody> for RuntimeStatus {
    type Error = DriverError;

    fn try_from(body: RuntimeBody) -> Result<Self, DriverError> {
        Ok(RuntimeStatus {
            last_operation: body.last_operation_status.map(OperationStatus::try_from).transpose()?,
            connection: body.runtime_connection_status.map(|connection| shorten(&connection.status)),
            configuration: body.runtime_configuration.map(|config| RuntimeConfig {
                kubeconfig: config.kubeconfig.filter(|text| !text.is_empty()).map(SecretString::from),
                gardener: config.cluster_config,
                kyma_version: config.kyma_config.and_then(|kyma| kyma.version),
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn operation(json: Value) -> Result<OperationStatus, DriverError> {
        serde_json::from_value::<OperationBody>(json).unwrap().try_into()
    }

    #[test]
    fn an_operation_is_read_with_all_that_may_be_missing() {
        let bare = operation(json!({"id": "op-1", "operation": "Defrost", "state": "Pending"})).unwrap();
        assert_eq!(bare.operation, OperationType::Other("Defrost".into()));
        assert_eq!((bare.message.as_str(), bare.runtime_id, bare.last_error), ("", None, None));
        let error = json!({"errMessage": "no\nquota", "reason": "ERR_QUOTA", "component": "gardener"});
        let full = json!({"id": "op-1", "operation": "UpgradeShoot", "state": "Failed", "message": "m",
            "runtimeID": "rt-1", "lastError": error});
        let full = operation(full).unwrap();
        assert_eq!((full.operation, full.state), (OperationType::UpgradeShoot, OperationState::Failed));
        assert_eq!(full.runtime_id.as_deref(), Some("rt-1"));
        assert_eq!(full.last_error.unwrap().message, "no quota");
        let silent = json!({"errMessage": "", "reason": "", "component": ""});
        let silent = json!({"id": "o", "operation": "Upgrade", "state": "Succeeded", "lastError": silent});
        assert_eq!(operation(silent).unwrap().last_error, None);
    }

    #[test]
    fn ids_that_could_not_be_saved_are_not_taken() {
        for bad in [Value::Null, json!(""), json!("a b"), json!("a\n"), json!("é"), json!("x".repeat(129))] {
            let body = json!({"id": bad, "operation": "Provision", "state": "InProgress"});
            let error = operation(body).unwrap_err();
            assert!(matches!(error, DriverError::Broken { .. }), "{error:?}");
        }
    }

    #[test]
    fn a_state_that_no_one_knows_is_not_guessed() {
        let body = json!({"id": "op-1", "operation": "Provision", "state": "Paused"});
        assert!(serde_json::from_value::<OperationBody>(body).is_err());
    }
}
