//! A record that cannot be read, or that is always refused, at the head of every sweep and list: the others are served
//! all the same.

use ::launch::model::cloud::{CloudInstance, InstanceState};
use ::launch::model::inventory;
use ::launch::model::outbox;
use ::launch::model::public_keys::{self, PublicKeyRecord};
use ::launch::model::record::{LaunchRecord, Notice, NoticeEvent};
use ::launch::model::sources::{self, SourceRecord};
use ::launch::model::state::Tracked;
use ::launch::workflows::notice::Notices;
use ::launch::workflows::source_check::{self, SourceCheck};
use engine::due::{Backoff, Swept};
use engine::store::{Expect, OperationQuery, RecordUpdate};
use engine::{Engine, Resource, Timestamp};
use serde_json::json;

use crate::launch_model::office::{Office, anna, launch_only};

/// More than one page of any sweep or list.
const POISONED: usize = 120;

/// Unreadable records that come before all others, in the order of numbers and of the times at which they are due.
async fn poison<R: Resource>(engine: &Engine, labels: &[(&str, &str)]) {
    for number in 0..POISONED {
        let record_update = RecordUpdate {
            kind: R::KIND.to_owned(),
            record: r#"{"written":"by another release"}"#.to_owned(),
            labels: labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            gone_at: None,
            due_at: Some(Timestamp(0)),
        };
        let name = format!("poison:{}:{number}", R::KIND);
        assert!(
            engine
                .write_resource(&name, &anna().tenant(), Expect::Absent, Some(record_update))
                .await
                .unwrap()
        );
    }
}

/// A launch that has ended, with a notice about it.
async fn ended(office: &Office, number: u128, change: impl Fn(&mut LaunchRecord)) {
    let key = public_keys::list(&office.engine, &anna(), 1000, 0, false).await.unwrap().keys.pop();
    let key = match key {
        Some(key) => key.number,
        None => office.new_key(&anna(), 1).await.number,
    };
    let launch = office.launch(&anna(), &launch_only(key), None).await.unwrap().launch;
    let name = LaunchRecord::resource(launch);
    let row = office.engine.resource(&name).await.unwrap().unwrap();
    let mut record: LaunchRecord = serde_json::from_str(&row.record).unwrap();
    let (id, event) = (uuid::Uuid::from_u128(number), NoticeEvent::LaunchSuccess);
    record.notices = vec![Notice { id, event, at: Timestamp(i64::try_from(number).unwrap()) }];
    change(&mut record);
    let record_update = Some(record.record_update().unwrap());
    let expect = Expect::Version(row.version);
    assert!(office.engine.write_resource(&name, &row.tenant, expect, record_update).await.unwrap());
}

fn instance(number: usize) -> Tracked {
    let instance =
        CloudInstance { state: InstanceState::Running, ..CloudInstance::forgotten(&format!("i-{number}")) };
    Tracked { instance, seen_at: Timestamp(1) }
}

async fn told(engine: &Engine) -> usize {
    let query =
        OperationQuery { workflow: Some("notice.deliver".into()), limit: 100, ..OperationQuery::default() };
    engine.list(&query).await.unwrap().len()
}

#[tokio::test]
async fn notices_go_past_records_that_cannot_be_read_or_are_refused() {
    let office = Office::telling(&Notices::beside("http://127.0.0.1:9").unwrap());
    poison::<LaunchRecord>(&office.engine, &[]).await;
    ended(&office, 1, |record| record.owner.org = "no name".into()).await;
    ended(&office, 2, |record| record.state.instances = (0..1000).map(instance).collect()).await;
    ended(&office, 3, |record| record.state.instances = vec![instance(0)]).await;
    let mut backoff = Backoff::default();
    let swept = outbox::sweep(&office.engine, &mut backoff).await.unwrap();
    assert_eq!(swept, Swept { handled: 2, left: POISONED + 1 });
    // The notice about 1000 instances goes in two parts.
    assert_eq!(told(&office.engine).await, 3);
    let swept = outbox::sweep(&office.engine, &mut backoff).await.unwrap();
    assert_eq!(swept, Swept { handled: 0, left: POISONED + 1 });
}

#[tokio::test]
async fn word_of_sources_goes_past_records_that_cannot_be_read() {
    let office = Office::closed();
    poison::<SourceCheck>(&office.engine, &[]).await;
    let finding = json!({"is_available": true, "at": "2026-01-01T00:00:00Z"});
    let record: SourceCheck = serde_json::from_value(json!({
        "requester": anna(), "source_id": "1", "finding": finding, "application": "10",
        "notice": uuid::Uuid::from_u128(1),
    }))
    .unwrap();
    let (name, record_update) = (SourceCheck::resource(&anna(), "1"), Some(record.record_update().unwrap()));
    assert!(office.engine.write_resource(&name, "org:x", Expect::Absent, record_update).await.unwrap());
    let swept = source_check::sweep(&office.engine, &mut Backoff::default()).await.unwrap();
    assert_eq!(swept, Swept { handled: 1, left: POISONED });
}

#[tokio::test]
async fn lists_show_what_can_be_read() {
    let office = Office::closed();
    let (engine, launches) = (&office.engine, &office.launches);
    poison::<PublicKeyRecord>(engine, &[]).await;
    poison::<SourceRecord>(engine, &[]).await;
    let active = [("instances", "yes"), ("on_inventory", "yes"), ("state", "active")];
    poison::<LaunchRecord>(engine, &active).await;
    let key = office.new_key(&anna(), 1).await;
    assert_eq!(public_keys::list(engine, &anna(), 1000, 0, false).await.unwrap().keys, [key]);
    let access = ::launch::model::cloud::Access::Keys {
        id: "AKIA123456789012".into(),
        secret: "a-secret-of-16-chars".into(),
    };
    let provider = ::launch::model::cloud::ProviderKind::Aws;
    let new = sources::NewSource { name: "ours".into(), provider, access };
    sources::create(launches, engine, &anna(), &new).await.unwrap();
    let listed = sources::list(launches, &anna(), None).await.unwrap();
    let names: Vec<&str> = listed.iter().map(|source| source.name.as_str()).collect();
    assert_eq!(names, ["sandbox", "sandbox-azure", "sandbox-gcp", "ours"]);

    ended(&office, 1, |record| record.state.instances = vec![instance(7)]).await;
    let (mut after, mut found) = (None, Vec::new());
    loop {
        let wanted = inventory::PageQuery { provider: None, newest_first: false, after, limit: 50 };
        let page = inventory::page(launches, engine, &anna(), wanted).await.unwrap();
        found.extend(page.items.into_iter().filter_map(|item| item.instance).map(|seen| seen.instance.id));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found, ["i-7"]);
}
