//! Sweeps over the records that are due: what cannot be handled keeps nothing else waiting, and rests longer and longer.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use engine::due::{Backoff, Handled, Swept, sweep};
use engine::store::{Expect, MemoryStore, RecordUpdate, ResourceRow, StoreError};
use engine::{Engine, Resource, SubmitError, Timestamp};
use serde::{Deserialize, Serialize};
use testing::{TestEngine, VirtualClock};

#[derive(Debug, Serialize, Deserialize)]
struct Job {
    number: usize,
}

impl Resource for Job {
    const KIND: &'static str = "job";

    fn labels(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn gone_at(&self) -> Option<Timestamp> {
        None
    }
}

const DUE: Timestamp = Timestamp(1000);

fn engine() -> Engine {
    TestEngine::plan(Arc::new(MemoryStore::new()), Arc::new(VirtualClock::seeded(1))).build()
}

async fn write(engine: &Engine, name: &str, expect: Expect, record: &str) {
    let record_update = RecordUpdate {
        kind: Job::KIND.into(),
        record: record.into(),
        labels: Vec::new(),
        gone_at: None,
        due_at: Some(DUE),
    };
    assert!(engine.write_resource(name, "t", expect, Some(record_update)).await.unwrap());
}

/// One that is handled is not due any longer.
async fn finish(engine: &Engine, row: ResourceRow) -> Result<Handled, SubmitError> {
    let record_update =
        RecordUpdate { kind: row.kind, record: row.record, labels: Vec::new(), gone_at: None, due_at: None };
    let expect = Expect::Version(row.version);
    Ok(if engine.write_resource(&row.name, &row.tenant, expect, Some(record_update)).await? {
        Handled::Done
    } else {
        Handled::Left
    })
}

#[tokio::test(start_paused = true)]
async fn a_sweep_reaches_what_is_behind_pages_of_records_that_stay_due() {
    let engine = engine();
    for number in 0..350 {
        // More than a page that cannot be read, more than a page that stays, and more than a page that is handled.
        let record = if number < 110 { "{}".to_owned() } else { format!("{{\"number\": {number}}}") };
        write(&engine, &format!("job:{number:03}"), Expect::Absent, &record).await;
    }
    let seen = RefCell::new(BTreeMap::<usize, u32>::new());
    let handle = async |row: ResourceRow, job: Job| {
        *seen.borrow_mut().entry(job.number).or_default() += 1;
        if job.number < 230 { Ok(Handled::Begun) } else { finish(&engine, row).await }
    };
    let mut backoff = Backoff::default();
    let swept = sweep(&engine, DUE, &mut backoff, handle).await.unwrap();
    assert_eq!(swept, Swept { handled: 240, left: 110 });
    let seen = seen.into_inner();
    assert!(seen.keys().copied().eq(110..350) && seen.values().all(|times| *times == 1), "{seen:?}");

    let early = sweep(&engine, Timestamp(999), &mut backoff, async |_, _: Job| Ok(Handled::Begun)).await;
    assert_eq!(early.unwrap(), Swept::default(), "nothing is due yet");
}

#[tokio::test(start_paused = true)]
async fn one_sweep_ends_after_a_thousand_and_the_next_goes_on() {
    let engine = engine();
    for number in 0..1150 {
        write(&engine, &format!("job:{number:04}"), Expect::Absent, &format!("{{\"number\": {number}}}"))
            .await;
    }
    let mut backoff = Backoff::default();
    let handle = async |row: ResourceRow, _: Job| finish(&engine, row).await;
    let first = sweep(&engine, DUE, &mut backoff, handle).await.unwrap();
    let second = sweep(&engine, DUE, &mut backoff, handle).await.unwrap();
    assert_eq!((first.handled, second.handled), (1000, 150));
}

#[tokio::test(start_paused = true)]
async fn a_record_that_fails_rests_longer_each_time_until_it_changes_or_succeeds() {
    let engine = engine();
    write(&engine, "job:1", Expect::Absent, "{\"number\": 1}").await;
    let tries = RefCell::new(0);
    let mut backoff = Backoff::default();
    let fails = async |_: ResourceRow, _: Job| {
        *tries.borrow_mut() += 1;
        Err(SubmitError::Invalid("it cannot be done".into()))
    };
    // 5, 10, 20 ... seconds, and never more than an hour.
    let mut now = DUE;
    for pause in [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600] {
        let before = *tries.borrow();
        sweep(&engine, now, &mut backoff, fails).await.unwrap();
        assert_eq!(*tries.borrow(), before + 1, "{pause}");
        let soon = now.plus(Duration::from_secs(pause)).plus(Duration::from_secs(1));
        let almost = Timestamp(now.plus(Duration::from_secs(pause)).0 - 1);
        let swept = sweep(&engine, almost, &mut backoff, fails).await.unwrap();
        assert_eq!((*tries.borrow(), swept), (before + 1, Swept { handled: 0, left: 1 }), "{pause}");
        now = soon;
    }
    // A change of the record ends the rest at once.
    sweep(&engine, now, &mut backoff, fails).await.unwrap();
    let before = *tries.borrow();
    let row = engine.resource("job:1").await.unwrap().unwrap();
    write(&engine, "job:1", Expect::Version(row.version), "{\"number\": 2}").await;
    sweep(&engine, now, &mut backoff, fails).await.unwrap();
    assert_eq!(*tries.borrow(), before + 1);
    // After a success the first pause is the shortest again.
    now = now.plus(Duration::from_hours(1));
    sweep(&engine, now, &mut backoff, async |_, _: Job| Ok(Handled::Begun)).await.unwrap();
    sweep(&engine, now, &mut backoff, fails).await.unwrap();
    sweep(&engine, now.plus(Duration::from_secs(5)), &mut backoff, fails).await.unwrap();
    assert_eq!(*tries.borrow(), before + 3);
}

#[tokio::test(start_paused = true)]
async fn what_another_has_is_left_and_a_store_that_is_away_ends_the_sweep() {
    let engine = engine();
    for number in 1..=2 {
        write(&engine, &format!("job:{number}"), Expect::Absent, &format!("{{\"number\": {number}}}")).await;
    }
    let tries = RefCell::new(0);
    let mut backoff = Backoff::default();
    let changed = async |_: ResourceRow, _: Job| {
        *tries.borrow_mut() += 1;
        Err(SubmitError::Changed)
    };
    for times in [2, 4] {
        let swept = sweep(&engine, DUE, &mut backoff, changed).await.unwrap();
        assert_eq!((swept, *tries.borrow()), (Swept { handled: 0, left: 2 }, times), "without a rest");
    }
    let away = async |_: ResourceRow, _: Job| {
        *tries.borrow_mut() += 1;
        Err(SubmitError::Store(StoreError::Unavailable("it is away".into())))
    };
    assert!(sweep(&engine, DUE, &mut backoff, away).await.is_err());
    assert_eq!(*tries.borrow(), 5, "the others would fail for the same reason");
    let refused = async |_: ResourceRow, _: Job| {
        *tries.borrow_mut() += 1;
        Err(SubmitError::Store(StoreError::Refused("not this one".into())))
    };
    let swept = sweep(&engine, DUE, &mut backoff, refused).await.unwrap();
    assert_eq!((swept, *tries.borrow()), (Swept { handled: 0, left: 2 }, 7), "it is about one record");
}
