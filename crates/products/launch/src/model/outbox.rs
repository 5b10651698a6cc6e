//! Hands on what launches left in their records for others. The record was written with the end of the launch, so no
//! word is lost; what is handed on twice has the same id and is told once.

use std::collections::BTreeSet;

use engine::store::{Expect, ResourceRow, StoreError};
use engine::{Engine, Resource, SubmitError};
use serde_json::{Value, json};

use super::record::{LaunchRecord, Notice, NoticeEvent};
use super::state::Tracked;
use crate::workflows::notice::{self, NoticeSubject};
use engine::due::{self, Backoff, Handled, Swept};

/// Hands on everything that is due, a bounded number at a time.
pub async fn sweep(engine: &Engine, backoff: &mut Backoff) -> Result<Swept, StoreError> {
    due::sweep(engine, engine.now(), backoff, |row, record| empty(engine, row, record)).await
}

async fn empty(engine: &Engine, row: ResourceRow, mut record: LaunchRecord) -> Result<Handled, SubmitError> {
    for notice in std::mem::take(&mut record.notices) {
        notice::post(engine, &in_words(&row, &record, &notice)).await?;
    }
    let record_update = record.record_update().map_err(SubmitError::Invalid)?;
    // A record that was changed in the meantime has kept what was there, and it is handed on again.
    let expect = Expect::Version(row.version);
    let is_saved = engine.write_resource(&row.name, &row.tenant, expect, Some(record_update)).await?;
    Ok(if is_saved { Handled::Done } else { Handled::Left })
}

fn in_words(row: &ResourceRow, record: &LaunchRecord, notice: &Notice) -> notice::Notice {
    let owner = &record.owner;
    notice::Notice {
        id: notice.id,
        org: owner.org.clone(),
        account: owner.account.clone(),
        at: notice.at,
        about: NoticeSubject::Launch {
            event: notice.event.as_str().to_owned(),
            launch: row.number.to_string(),
            provider: record.provider.as_str().to_owned(),
            events: events(row.number, record, notice.event),
        },
        targets: BTreeSet::new(),
    }
}

/// One for each instance, or one that says what went wrong.
fn events(number: i64, record: &LaunchRecord, event: NoticeEvent) -> Vec<Value> {
    if event == NoticeEvent::LaunchSuccess {
        return record.state.instances.iter().map(|tracked| instance(number, tracked)).collect();
    }
    let error = record.state.error.as_ref();
    let message = error.map_or("it failed", |error| error.message.as_str());
    let mut said = json!({ "reservation_id": number, "error": message });
    if !record.state.leftovers.is_empty() {
        said["leftovers"] = json!(record.state.leftovers);
    }
    vec![said]
}

fn instance(number: i64, tracked: &Tracked) -> Value {
    let instance = &tracked.instance;
    let detail: serde_json::Map<String, Value> = [
        ("public_dns", &instance.public_dns),
        ("public_ipv4", &instance.public_ipv4),
        ("private_ipv4", &instance.private_ipv4),
        ("private_ipv6", &instance.private_ipv6),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name.to_owned(), value.clone()?.into())))
    .collect();
    json!({ "reservation_id": number, "instance_id": instance.id, "detail": detail })
}
