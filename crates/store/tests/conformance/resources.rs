//! The record of a resource changes together with the operation on it, or not at all.

use engine::store::{
    Append, Create, Expect, Finish, Park, Receipt, RecordUpdate, ResourceQuery, ResourceRow, ResourceWrite,
    Store, StoreError, Write,
};
use engine::{OperationId, Phase, PhaseVerb};
use futures_util::future::join_all;

use crate::fixture::*;
use crate::store_fixture::FullStore;

pub(crate) const NAME: &str = "runtime/one";

pub(crate) fn record_update(record: &str, labels: &[(&str, &str)]) -> RecordUpdate {
    let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    RecordUpdate { kind: "runtime".into(), record: record.into(), labels, gone_at: None, due_at: None }
}

pub(crate) fn resource_write(
    name: &str,
    expect: Expect,
    record_update: Option<RecordUpdate>,
) -> ResourceWrite {
    ResourceWrite { name: name.into(), tenant: "acme".into(), expect, record_update, at: at(7) }
}

pub(crate) async fn write(store: &dyn Store, new: ResourceWrite) -> Receipt {
    store.commit(Write::Resource(Box::new(new))).await.unwrap()
}

/// A resource that no operation has worked on yet, in version 1.
async fn make(store: &dyn Store, name: &str) {
    let first = resource_write(name, Expect::Absent, Some(record_update("first", &[("size", "small")])));
    assert_eq!(write(store, first).await, Receipt::Saved);
}

pub(crate) async fn row(store: &dyn Store, name: &str) -> ResourceRow {
    store.resource(name).await.unwrap().unwrap()
}

async fn labelled(store: &dyn Store, key: &str, value: &str) -> Vec<String> {
    let labels = vec![(key.to_owned(), vec![value.to_owned()])];
    let query =
        ResourceQuery { kind: "runtime".into(), labels, also_gone: true, limit: 10, ..Default::default() };
    store.resources(&query).await.unwrap().rows.into_iter().map(|row| row.name).collect()
}

/// An operation on a resource, with what happens to its record.
fn about(name: &str, expect: Expect, record_update: Option<RecordUpdate>, create: Create) -> Create {
    let subject = Some(resource_write(name, expect, record_update));
    Create { subject, ..on(name, create) }
}

pub(crate) async fn a_record_is_there_as_it_was_written(store: &dyn FullStore) {
    assert_eq!(store.resource(NAME).await, Ok(None));
    let mut first =
        record_update(r#"{"memory":512}"#, &[("size", "small"), ("zone", "a"), ("size", "small")]);
    first.due_at = Some(at(90));
    let new = resource_write(NAME, Expect::Absent, Some(first));
    assert_eq!(write(store, new.clone()).await, Receipt::Saved);
    let made = row(store, NAME).await;
    assert_eq!((made.name.as_str(), made.kind.as_str(), made.tenant.as_str()), (NAME, "runtime", "acme"));
    assert_eq!((made.version, made.record.as_str()), (1, r#"{"memory":512}"#));
    assert_eq!((made.operation, made.workflow, made.phase), (None, None, None));
    assert_eq!((made.created_at, made.updated_at), (at(7), at(7)));
    assert_eq!((made.gone_at, made.due_at), (None, Some(at(90))));
    assert_eq!(labelled(store, "zone", "a").await, [NAME]);

    let mut second = record_update("second", &[("size", "big"), ("zone", "a")]);
    second.kind = "endpoint".into();
    let changed = ResourceWrite { at: at(9), ..resource_write(NAME, Expect::Version(1), Some(second)) };
    assert_eq!(write(store, changed).await, Receipt::Saved);
    let found = row(store, NAME).await;
    assert_eq!((found.number, found.version, found.kind.as_str()), (made.number, 2, "endpoint"));
    assert_eq!((found.record.as_str(), found.due_at), ("second", None));
    assert_eq!((found.created_at, found.updated_at), (at(7), at(9)));
    assert!(labelled(store, "zone", "a").await.is_empty(), "it is of another kind now");

    let bumped = ResourceWrite { at: at(10), ..resource_write(NAME, Expect::Version(2), None) };
    assert_eq!(write(store, bumped).await, Receipt::Saved);
    assert_eq!(row(store, NAME).await, ResourceRow { version: 3, ..found });
}

pub(crate) async fn the_one_who_looked_too_long_ago_changes_nothing(store: &dyn FullStore) {
    make(store, NAME).await;
    let before = row(store, NAME).await;
    let later = || Some(record_update("later", &[("size", "big")]));
    let missing = "runtime/two";
    for (name, expect) in [
        (NAME, Expect::Absent),
        (NAME, Expect::Version(0)),
        (NAME, Expect::Version(2)),
        (missing, Expect::Version(1)),
    ] {
        assert_eq!(write(store, resource_write(name, expect, later())).await, Receipt::Changed, "{expect:?}");
        let new = keyed("k", "digest", about(name, expect, later(), plain("acme")));
        assert_eq!(create(store, new.clone()).await, Receipt::Changed, "{expect:?}");
        assert!(store.show(new.id).await.unwrap().is_none());
        assert!(numbers(store, new.id).await.is_empty());
    }
    assert_eq!(row(store, NAME).await, before);
    assert_eq!(store.resource(missing).await, Ok(None));
    assert_eq!(labelled(store, "size", "small").await, [NAME]);
    assert!(labelled(store, "size", "big").await.is_empty());
    let free = keyed("k", "digest", plain("acme"));
    assert_eq!(create(store, free).await, Receipt::Saved, "the key was not used up");
}

pub(crate) async fn what_is_absent_needs_a_record(store: &dyn FullStore) {
    let nothing = resource_write(NAME, Expect::Absent, None);
    let new = Create { subject: Some(nothing.clone()), ..on(NAME, plain("acme")) };
    for refused in [Write::Resource(Box::new(nothing)), Write::Create(Box::new(new))] {
        let refused = store.commit(refused).await;
        assert!(matches!(&refused, Err(StoreError::Refused(text)) if text.contains(NAME)), "{refused:?}");
    }
    assert_eq!(store.resource(NAME).await, Ok(None));
    assert!(
        store
            .list(&engine::store::OperationQuery { limit: 1, ..Default::default() })
            .await
            .unwrap()
            .is_empty()
    );
}

pub(crate) async fn an_operation_is_accepted_together_with_its_record(store: &dyn FullStore) {
    let node = joined(store).await;
    let first = about(NAME, Expect::Absent, Some(record_update("first", &[("size", "small")])), owned(node));
    let hold = start(store, node, first.clone()).await;
    let made = row(store, NAME).await;
    assert_eq!((made.version, made.record.as_str(), made.operation), (1, "first", Some(first.id)));
    assert_eq!((made.workflow.as_deref(), made.phase), (Some("launch"), Some(Phase::Running)));
    finish(store, Finish { settles: Some(NAME.into()), ..finish_of(hold, 2) }).await.unwrap();

    let resize = Create { workflow: "resize".into(), ..plain("acme") };
    let kept = about(NAME, Expect::Version(2), None, resize);
    assert_eq!(create(store, kept.clone()).await, Receipt::Saved);
    let found = row(store, NAME).await;
    assert_eq!((found.version, found.record.as_str(), found.operation), (3, "first", Some(kept.id)));
    assert_eq!((found.workflow.as_deref(), found.phase), (Some("resize"), Some(Phase::Running)));
    assert_eq!(labelled(store, "size", "small").await, [NAME]);
    assert_eq!(phase(store, kept.id).await, Phase::Pending);
}

pub(crate) async fn a_key_counts_more_than_a_change_and_that_more_than_a_busy_resource(
    store: &dyn FullStore,
) {
    let first = record_update("first", &[]);
    let asked =
        |key, digest, expect| keyed(key, digest, about(NAME, expect, Some(first.clone()), plain("a")));
    let holder = asked("k", "digest", Expect::Absent);
    assert_eq!(create(store, holder.clone()).await, Receipt::Saved);
    for (key, digest, expect, receipt) in [
        ("k", "digest", Expect::Absent, Receipt::Repeated(holder.id)),
        ("k", "other", Expect::Absent, Receipt::KeyReused),
        ("k2", "digest", Expect::Absent, Receipt::Changed),
        ("k2", "digest", Expect::Version(9), Receipt::Changed),
        ("k2", "digest", Expect::Version(1), Receipt::Busy(holder.id)),
    ] {
        assert_eq!(create(store, asked(key, digest, expect)).await, receipt);
        assert_eq!(row(store, NAME).await.version, 1);
    }
    let queueing = Create { queue: true, ..asked("k2", "digest", Expect::Version(1)) };
    assert_eq!(create(store, queueing).await, Receipt::Saved, "no refusal used up the key");
}

pub(crate) async fn another_resource_must_be_as_it_was(store: &dyn FullStore) {
    let beside = "runtime/parent";
    make(store, beside).await;
    let parent = row(store, beside).await;
    let child = |expect| {
        let beside = Some(resource_write(beside, expect, None));
        Create { beside, ..about(NAME, Expect::Absent, Some(record_update("child", &[])), plain("acme")) }
    };
    for expect in [Expect::Version(2), Expect::Version(0)] {
        assert_eq!(create(store, child(expect)).await, Receipt::Changed);
    }
    assert_eq!((row(store, beside).await, store.resource(NAME).await), (parent.clone(), Ok(None)));
    assert_eq!(create(store, child(Expect::Version(1))).await, Receipt::Saved);
    assert_eq!(row(store, beside).await, ResourceRow { version: 2, ..parent });
    assert_eq!(row(store, NAME).await.record, "child");
}

pub(crate) async fn events_parks_and_ends_say_what_the_resource_looks_like(store: &dyn FullStore) {
    let node = joined(store).await;
    let new = about(NAME, Expect::Absent, Some(record_update("first", &[("step", "0")])), owned(node));
    let hold = start(store, node, new).await;
    let said = |step: &str| Some((NAME.to_owned(), record_update(step, &[("step", step)])));
    let event = Append {
        id: hold.id,
        event: stepped(2).into(),
        phase: None,
        processed: None,
        consumes: None,
        record_update: said("1").map(Box::new),
    };
    store.commit(Write::Append(event)).await.unwrap();
    let found = row(store, NAME).await;
    assert_eq!((found.version, found.record.as_str(), found.updated_at), (2, "1", at(2)));
    assert_eq!(
        (labelled(store, "step", "1").await, labelled(store, "step", "0").await),
        (vec![NAME.into()], vec![])
    );

    park(store, Park { at: at(30), record_update: said("2"), ..park_of(hold) }).await.unwrap();
    let found = row(store, NAME).await;
    assert_eq!((found.version, found.record.as_str(), found.updated_at), (3, "2", at(30)));
    assert_eq!((found.operation, found.phase), (Some(hold.id), Some(Phase::Running)));

    let hold = hold_of(&claim_one(store, node, LATE).await, node);
    let (name, mut last) = said("3").unwrap();
    last.gone_at = Some(at(99));
    let end = Finish { record_update: Some((name, last)), settles: Some(NAME.into()), ..finish_of(hold, 3) };
    finish(store, Finish { phase: Phase::Failed, ..end }).await.unwrap();
    let found = row(store, NAME).await;
    assert_eq!((found.version, found.record.as_str(), found.updated_at), (4, "3", at(100)));
    assert_eq!((found.phase, found.gone_at), (Some(Phase::Failed), Some(at(99))));
    assert_eq!(labelled(store, "step", "3").await, [NAME]);
}

pub(crate) async fn a_record_of_what_is_not_there_is_ignored(store: &dyn FullStore) {
    let node = joined(store).await;
    let hold = start(store, node, on(NAME, owned(node))).await;
    let said = Some((NAME.to_owned(), record_update("x", &[("size", "small")])));
    let event = Append {
        id: hold.id,
        event: stepped(2).into(),
        phase: None,
        processed: None,
        consumes: None,
        record_update: said.clone().map(Box::new),
    };
    assert_eq!(store.commit(Write::Append(event)).await, Ok(Receipt::Saved));
    let end = Finish { record_update: said, settles: Some(NAME.into()), ..finish_of(hold, 3) };
    assert_eq!(finish(store, end).await, Ok(Receipt::Saved));
    assert_eq!(store.resource(NAME).await, Ok(None));
    assert!(labelled(store, "size", "small").await.is_empty());
}

pub(crate) async fn who_was_declared_dead_sets_nothing(store: &dyn FullStore) {
    let node = joined(store).await;
    let new = about(NAME, Expect::Absent, Some(record_update("first", &[("size", "small")])), owned(node));
    let hold = start(store, node, new).await;
    let heir = new_node();
    store.join(heir, Some(node), LEASE).await.unwrap();
    let adopted = claim_one(store, heir, LATE).await;
    assert_eq!((adopted.id, adopted.seq), (hold.id, 2));
    let before = row(store, NAME).await;
    let said = Some((NAME.to_owned(), record_update("a lie", &[("size", "big")])));
    let event = Append {
        id: hold.id,
        event: stepped(2).into(),
        phase: None,
        processed: None,
        consumes: None,
        record_update: said.clone().map(Box::new),
    };
    let late = [
        Write::Append(event),
        Write::Park(Box::new(Park { record_update: said.clone(), ..park_of(hold) })),
        Write::Finish(Box::new(Finish {
            event: None,
            record_update: said,
            settles: Some(NAME.into()),
            ..finish_of(hold, 2)
        })),
    ];
    // Another user's writes at the same moment go well.
    let others = join_all((0..late.len()).map(|_| running(store, heir))).await;
    for (write, other) in late.into_iter().zip(others) {
        let (refused, fine) = tokio::join!(store.commit(write), append(store, other.id, 2));
        assert_eq!((refused, fine), (Err(StoreError::Fenced), Ok(Receipt::Saved)));
        assert_eq!(row(store, NAME).await, before);
        assert_eq!(labelled(store, "size", "small").await, [NAME]);
    }
}

pub(crate) async fn an_end_settles_the_record_of_its_newest_operation_only(store: &dyn FullStore) {
    let node = joined(store).await;
    let first = about(NAME, Expect::Absent, Some(record_update("first", &[])), owned(node));
    let hold = start(store, node, first).await;
    let second = Create { queue: true, ..about(NAME, Expect::Version(1), None, plain("acme")) };
    assert_eq!(create(store, second.clone()).await, Receipt::Saved);
    let end = |hold, seq, phase| Finish { phase, settles: Some(NAME.into()), ..finish_of(hold, seq) };
    finish(store, end(hold, 2, Phase::Failed)).await.unwrap();
    let found = row(store, NAME).await;
    assert_eq!((found.version, found.operation, found.phase), (2, Some(second.id), Some(Phase::Running)));
    let claimed = claim_one(store, node, LATE).await;
    finish(store, end(hold_of(&claimed, node), 2, Phase::Undone)).await.unwrap();
    let found = row(store, NAME).await;
    assert_eq!((found.version, found.phase, found.updated_at), (3, Some(Phase::Undone), at(100)));
}

pub(crate) async fn a_retry_makes_an_operation_the_newest_again(store: &dyn FullStore) {
    let node = joined(store).await;
    let mut ids: Vec<OperationId> = Vec::new();
    for (n, expect) in [(0, Expect::Absent), (1, Expect::Version(2))] {
        let workflow = format!("workflow {n}");
        let new = Create { workflow, ..about(NAME, expect, Some(record_update("x", &[])), owned(node)) };
        let hold = start(store, node, new).await;
        ids.push(hold.id);
        let end = Finish { phase: Phase::Failed, settles: Some(NAME.into()), ..finish_of(hold, 2) };
        finish(store, end).await.unwrap();
    }
    assert_eq!(control(store, ids[0], PhaseVerb::Retry, 120).await, Receipt::Saved);
    let found = row(store, NAME).await;
    assert_eq!((found.version, found.operation, found.updated_at), (5, Some(ids[0]), at(120)));
    assert_eq!((found.workflow.as_deref(), found.phase), (Some("workflow 0"), Some(Phase::Running)));
    assert_eq!(control(store, ids[1], PhaseVerb::Retry, 121).await, Receipt::Busy(ids[0]));
    assert_eq!(row(store, NAME).await, found);

    let mut gone = record_update("x", &[]);
    gone.gone_at = Some(at(130));
    let hold = hold_of(&claim_one(store, node, LATE).await, node);
    let record_update = Some((NAME.to_owned(), gone));
    let end =
        Finish { phase: Phase::Undone, record_update, settles: Some(NAME.into()), ..finish_of(hold, 3) };
    finish(store, end).await.unwrap();
    let before = row(store, NAME).await;
    assert_eq!(control(store, ids[1], PhaseVerb::Retry, 140).await, Receipt::Saved);
    assert_eq!(row(store, NAME).await, before, "what is gone stays as it was");
}

pub(crate) async fn tombstones_are_there_until_they_are_old(store: &dyn FullStore) {
    for (n, gone_at) in [Some(at(10)), Some(at(20)), Some(at(30)), None].into_iter().enumerate() {
        let record_update = RecordUpdate { gone_at, ..record_update("x", &[("size", "small")]) };
        let new = resource_write(&format!("runtime/{n}"), Expect::Absent, Some(record_update));
        assert_eq!(write(store, new).await, Receipt::Saved);
    }
    let again = resource_write("runtime/0", Expect::Absent, Some(record_update("y", &[])));
    assert_eq!(write(store, again.clone()).await, Receipt::Changed, "a tombstone is there");
    assert_eq!(store.prune(at(10)).await, Ok(0));
    assert_eq!(labelled(store, "size", "small").await.len(), 4);
    assert_eq!(store.prune(at(30)).await, Ok(0), "only operations are counted");
    assert_eq!(labelled(store, "size", "small").await, ["runtime/2", "runtime/3"]);
    assert_eq!(store.resource("runtime/1").await, Ok(None));
    let last = row(store, "runtime/3").await.number;
    assert_eq!(write(store, again).await, Receipt::Saved);
    assert!(row(store, "runtime/0").await.number > last, "a number is not given again");
    let back = resource_write("runtime/2", Expect::Version(1), Some(record_update("back", &[])));
    assert_eq!(write(store, back).await, Receipt::Saved);
    assert_eq!(store.prune(LATE).await, Ok(0));
    assert_eq!(row(store, "runtime/2").await.gone_at, None);
}
