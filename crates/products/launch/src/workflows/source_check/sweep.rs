//! Hands on what looks at sources have found. The record was written with the end of the look, so no word is lost;
//! what is handed on twice has the same id and is told once.

use std::collections::BTreeSet;

use engine::store::{Expect, ResourceRow, StoreError};
use engine::{Engine, Resource, SubmitError};

use super::SourceCheck;
use crate::workflows::notice::{self, Notice, NoticeSubject};
use engine::due::{self, Backoff, Handled, Swept};

/// Hands on everything that is due, a bounded number at a time.
pub async fn sweep(engine: &Engine, backoff: &mut Backoff) -> Result<Swept, StoreError> {
    due::sweep(engine, engine.now(), backoff, |row, record| empty(engine, row, record)).await
}

async fn empty(engine: &Engine, row: ResourceRow, mut record: SourceCheck) -> Result<Handled, SubmitError> {
    if let Some(notice) = in_words(&record) {
        notice::post(engine, &notice).await?;
    }
    record.notice = None;
    let record_update = record.record_update().map_err(SubmitError::Invalid)?;
    // A record that was changed in the meantime has kept what was there, or knows better.
    let expect = Expect::Version(row.version);
    let is_saved = engine.write_resource(&row.name, &row.tenant, expect, Some(record_update)).await?;
    Ok(if is_saved { Handled::Done } else { Handled::Left })
}

fn in_words(record: &SourceCheck) -> Option<Notice> {
    let finding = record.finding.as_ref()?;
    Some(Notice {
        id: record.notice?,
        org: record.owner.org.clone(),
        account: record.owner.account.clone(),
        at: finding.at,
        about: NoticeSubject::SourceStatus {
            application: record.application.clone()?,
            is_available: finding.is_available,
            error: finding.reason.clone(),
        },
        targets: BTreeSet::new(),
    })
}
