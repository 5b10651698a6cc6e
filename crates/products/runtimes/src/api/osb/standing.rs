//! What is known of an instance or of a binding: its record, and where it is in its life.

use crate::model::{BIND, Binding, InstanceRecord, Status, UNBIND};
use engine::secret::{ExposeSecret, Sealed, Sealer};
use engine::store::{Expect, RecordUpdate, ResourceRow};
use engine::{Phase, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tracing::error;

use super::BrokerShared;
use super::wire;
use server::http::Failure;
use server::principal::Principal;

/// A record together with the row that has it.
pub(crate) struct StoredRecord<R> {
    pub(crate) row: ResourceRow,
    pub(crate) record: R,
    pub(crate) status: Status,
}

impl<R> StoredRecord<R> {
    pub(crate) fn expect(&self) -> Expect {
        Expect::Version(self.row.version)
    }

    /// The newest operation on it, as the platform knows it.
    pub(crate) fn operation(&self) -> Option<String> {
        self.row.operation.map(|id| id.to_string())
    }
}

impl BrokerShared {
    /// The instance with this id, if it is one of the caller's platform.
    pub(crate) async fn instance(
        &self,
        caller: &Principal,
        id: &str,
    ) -> Result<Option<StoredRecord<InstanceRecord>>, Failure> {
        let known = self.instance_of_any_platform(id).await?;
        Ok(known.filter(|known| caller.is_of_platform(&known.record.platform)))
    }

    /// For a request that may take an id only if no platform has it.
    pub(crate) async fn instance_of_any_platform(
        &self,
        id: &str,
    ) -> Result<Option<StoredRecord<InstanceRecord>>, Failure> {
        let Some(row) = self.app.engine.resource(&InstanceRecord::resource(id)).await? else {
            return Ok(None);
        };
        let record: InstanceRecord = read(&row)?;
        let status = record.status(row.workflow.as_deref(), row.phase);
        Ok(Some(StoredRecord { row, record, status }))
    }

    pub(crate) async fn binding(
        &self,
        caller: &Principal,
        instance: &str,
        id: &str,
    ) -> Result<Option<StoredRecord<Binding>>, Failure> {
        let name = Binding::resource(instance, id);
        let Some(row) = self.app.engine.resource(&name).await? else { return Ok(None) };
        let record: Binding = read(&row)?;
        let status = binding_status(&row);
        let known = StoredRecord { row, record, status };
        Ok(Some(known).filter(|known| caller.is_of_platform(&known.record.platform)))
    }

    pub(crate) fn sealer<R>(&self, known: &StoredRecord<R>) -> Sealer {
        self.app.engine.sealer(&known.row.tenant, &known.row.name)
    }

    /// Whether the credentials of a binding are worth nothing any more, although no unbind was requested.
    pub(crate) fn has_expired(&self, row: &ResourceRow) -> bool {
        row.gone_at.is_none() && row.due_at.is_some_and(|due_at| due_at <= self.app.engine.now())
    }

    pub(crate) fn parameters(&self, known: &StoredRecord<Binding>) -> Result<Map<String, Value>, Failure> {
        open(&known.record.parameters, &self.sealer(known))
    }

    /// The answer that has the credentials.
    pub(crate) fn credentials(&self, known: &StoredRecord<Binding>) -> Result<wire::Binding, Failure> {
        let sealed = known.record.kubeconfig.as_ref().ok_or_else(|| broken("a binding has no kubeconfig"))?;
        let kubeconfig = self.sealer(known).open(sealed).map_err(|error| broken(&error.to_string()))?;
        let expires_at = known.record.expires_at.map(|at| at.to_string());
        Ok(wire::Binding {
            credentials: wire::Credentials { kubeconfig: kubeconfig.expose_secret().to_owned() },
            metadata: expires_at.map(|expires_at| wire::BindingMetadata { expires_at }),
            parameters: self.parameters(known)?,
        })
    }
}

/// Opens a sealed object.
pub(crate) fn open(sealed: &Sealed, sealer: &Sealer) -> Result<Map<String, Value>, Failure> {
    let text = sealer.open(sealed).map_err(|error| broken(&error.to_string()))?;
    // The text may hold secrets, so the error must not quote it.
    serde_json::from_str(text.expose_secret()).map_err(|_| broken("what was sealed is not an object"))
}

/// A binding lives as an instance does, without changes.
fn binding_status(row: &ResourceRow) -> Status {
    let (Some(workflow), Some(phase)) = (row.workflow.as_deref(), row.phase) else {
        return if row.gone_at.is_some() { Status::Gone } else { Status::Ready };
    };
    match (workflow, phase.is_final()) {
        _ if row.gone_at.is_some() => Status::Gone,
        (BIND, false) => Status::Provisioning,
        (BIND, true) if phase != Phase::Succeeded => Status::ProvisionFailed,
        (UNBIND, false) => Status::Deprovisioning,
        (UNBIND, true) if phase == Phase::Succeeded => Status::Gone,
        (UNBIND, true) => Status::DeprovisionFailed,
        _ => Status::Ready,
    }
}

pub(crate) fn read<R: DeserializeOwned>(row: &ResourceRow) -> Result<R, Failure> {
    serde_json::from_str(&row.record)
        .map_err(|error| broken(&format!("the record of {} cannot be read: {error}", row.name)))
}

pub(crate) fn record_update(record: &impl Resource) -> Result<RecordUpdate, Failure> {
    record.record_update().map_err(|error| broken(&error))
}

/// Something of ours is not as it must be.
pub(crate) fn broken(why: &str) -> Failure {
    error!(why, "service broker request failed");
    Failure::internal()
}
