//! Hands on what looks at sources have found. The record was written with the end of the look, so no word is lost;
//! what is handed on twice has the same id and is told once.

use std::collections::BTreeSet;

use engine::store::{Expect, ResourceQuery, ResourceRow};
use engine::{Engine, Resource, SubmitError};

use super::SourceCheck;
use crate::notice::{self, About, Notice};

/// How many records one look takes.
const ROWS_MAX: usize = 100;

/// Hands on everything that is due, a bounded number at a time. Answers how many records it emptied; when that is as
/// many as it takes there may be more.
pub async fn sweep(engine: &Engine) -> Result<usize, SubmitError> {
    let query = ResourceQuery {
        kind: SourceCheck::KIND.to_owned(),
        due_by: Some(engine.now()),
        limit: ROWS_MAX,
        ..ResourceQuery::default()
    };
    let mut emptied = 0;
    for row in engine.resources(&query).await?.rows {
        match serde_json::from_str::<SourceCheck>(&row.record) {
            Ok(record) => emptied += usize::from(empty(engine, &row, record).await?),
            Err(error) => {
                tracing::warn!(resource = row.name, %error, "a record cannot be read, its notice stays");
            }
        }
    }
    Ok(emptied)
}

async fn empty(engine: &Engine, row: &ResourceRow, mut record: SourceCheck) -> Result<bool, SubmitError> {
    if let Some(notice) = in_words(&record) {
        notice::post(engine, &notice).await?;
    }
    record.notice = None;
    let portrait = record.portrait().map_err(SubmitError::Invalid)?;
    // Whoever has written in the meantime has kept what was there, or knows better.
    engine.write_resource(&row.name, &row.tenant, Expect::Version(row.version), Some(portrait)).await
}

fn in_words(record: &SourceCheck) -> Option<Notice> {
    let finding = record.finding.as_ref()?;
    Some(Notice {
        id: record.notice?,
        org: record.requester.org.clone(),
        account: record.requester.account.clone(),
        at: finding.at,
        about: About::SourceStatus {
            application: record.application.clone()?,
            is_available: finding.is_available,
            error: finding.reason.clone(),
        },
        targets: BTreeSet::new(),
    })
}
