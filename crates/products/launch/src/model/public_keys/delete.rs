//! Forgetting a key. Its key pairs in cloud accounts are deleted by an operation.

use engine::store::Expect;
use engine::{Engine, OperationId, RecordWrites, Resource, Submission, SubmitError};

use super::claim::Name;
use super::{PublicKeyRecord, internal, missing, resource};
use crate::model::api_error::LaunchApiError;
use crate::model::params::LaunchOwner;
use crate::workflows::public_key_deletion::{DeletePublicKey, Params};

/// Others may write between a look and a write; then we look again.
const LOOKS_MAX: usize = 5;

/// Makes a tombstone of the key and begins to delete its key pairs, in one commit. No launch that comes later finds the
/// key; one under way that needs it uploads it again.
pub async fn delete(engine: &Engine, who: &LaunchOwner, number: i64) -> Result<OperationId, LaunchApiError> {
    let PublicKeyRecord { name, fingerprint, .. } = super::get(engine, who, number).await?.record;
    let row = resource(who, &fingerprint);
    let params = Params { owner: who.clone(), pubkey_id: number, fingerprint };
    let (tenant, by) = (who.tenant(), who.name());
    for _ in 0..LOOKS_MAX {
        let there = engine.resource(&row).await?.filter(|there| there.gone_at.is_none());
        let there = there.ok_or_else(missing)?;
        let record: PublicKeyRecord = crate::model::numbers::read(&there)?;
        let gone = PublicKeyRecord { gone_at: Some(engine.now()), ..record };
        let record_update = gone.record_update().map_err(internal)?;
        let subject = Some((Expect::Version(there.version), Some(record_update)));
        let along = RecordWrites { subject, ..RecordWrites::default() };
        let order = Submission::<DeletePublicKey>::new(&tenant, &by, &params);
        match engine.submit(Submission { resource: Some(&row), name: Some(&name), along, ..order }).await {
            Ok(accepted) => {
                // Without this the name is free a moment later.
                Name { engine, who, name: &name, key: &row }.release().await?;
                return Ok(accepted.id);
            }
            Err(SubmitError::Changed) => {}
            Err(SubmitError::Busy { .. }) => {
                let busy = LaunchApiError::conflict("an earlier deletion of this key is not over");
                return Err(busy.hint("try again when it is"));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(LaunchApiError::conflict("another request is changing this key; try again"))
}
