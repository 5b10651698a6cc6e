//! Says in the record of the launch that the instance is gone. Whatever else the record holds stays as it is.

use engine::prelude::*;
use engine::store::{Expect, Receipt, ResourceWrite, StoreError, Write};

use super::Terminate;
use crate::model::numbers;
use crate::model::record::LaunchRecord;
use crate::model::settings::Launches;
use crate::model::sources::SourceError;

pub(crate) struct NoteInRecord {
    launches: Arc<Launches>,
}

/// Others may write between a look and a write; then we look again.
const LOOKS_MAX: usize = 5;

impl NoteInRecord {
    pub(crate) fn new(launches: &Arc<Launches>) -> NoteInRecord {
        NoteInRecord { launches: Arc::clone(launches) }
    }

    /// `false` when another request is writing it all the time.
    async fn note(&self, op: &Operation<Terminate>) -> Result<bool, StoreError> {
        let (Some(gone), at) = (&op.state.gone, op.now()) else { return Ok(true) };
        let store = &self.launches.store;
        for _ in 0..LOOKS_MAX {
            let row = store.resource(&LaunchRecord::resource(op.params.launch)).await?;
            let Some(row) = row.filter(|row| row.kind == LaunchRecord::KIND) else { return Ok(true) };
            let mut record: LaunchRecord = numbers::read(&row)?;
            if !record.lost(gone, at) {
                return Ok(true);
            }
            let record_update = Some(record.record_update().map_err(StoreError::Refused)?);
            let expect = Expect::Version(row.version);
            let write = ResourceWrite { name: row.name, tenant: row.tenant, expect, record_update, at };
            if store.commit(Write::Resource(Box::new(write))).await? == Receipt::Saved {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[async_trait]
impl Step<Terminate> for NoteInRecord {
    named!("note_in_record", "Updating the launch record");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn run(&self, op: &mut Operation<Terminate>) -> Outcome {
        if self.note(op).await.map_err(SourceError::from)? {
            return done();
        }
        retry("another request keeps changing the record of the launch")
    }
}
