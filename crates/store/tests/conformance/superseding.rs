//! One operation ends for another, and many want the same resource at the same moment.

use engine::store::{Create, Expect, Finish, Park, Receipt, RecordUpdate, ResourceWrite, Store};
use engine::{OperationId, Phase, PhaseVerb};
use futures_util::future::join_all;

use crate::fixture::*;
use crate::resources::{NAME, record_update, resource_write, row, write};
use crate::store_fixture::FullStore;

fn about(expect: Expect, record_update: Option<RecordUpdate>, create: Create) -> Create {
    Create { subject: Some(resource_write(NAME, expect, record_update)), ..on(NAME, create) }
}

fn instead_of(other: OperationId, expect: Expect) -> Create {
    let supersedes = Some((other, control_of(PhaseVerb::Cancel, 5)));
    Create { supersedes, queue: true, ..about(expect, None, plain("acme")) }
}

async fn first(store: &dyn Store) -> engine::store::Ownership {
    let node = joined(store).await;
    start(store, node, about(Expect::Absent, Some(record_update("first", &[])), owned(node))).await
}

fn end(hold: engine::store::Ownership, seq: u32) -> Finish {
    Finish { phase: Phase::Cancelled, settles: Some(NAME.into()), ..finish_of(hold, seq) }
}

pub(crate) async fn the_one_who_is_superseded_hears_it_and_then_the_next_has_its_turn(store: &dyn FullStore) {
    let hold = first(store).await;
    let next = instead_of(hold.id, Expect::Version(1));
    assert_eq!(create(store, next.clone()).await, Receipt::Saved);
    let processed = requests(store, hold.node).await;
    assert_eq!(processed, [(hold.id, control_of(PhaseVerb::Cancel, 5))]);
    assert!(claim(store, hold.node, LATE).await.is_empty(), "the next one queues");
    finish(store, end(hold, 2)).await.unwrap();
    assert_eq!(claim_one(store, hold.node, LATE).await.id, next.id);
    let found = row(store, NAME).await;
    assert_eq!((found.operation, found.phase), (Some(next.id), Some(Phase::Running)));
}

pub(crate) async fn the_one_who_is_superseded_is_woken(store: &dyn FullStore) {
    let hold = first(store).await;
    park(store, Park { due_at: None, ..park_of(hold) }).await.unwrap();
    let next = instead_of(hold.id, Expect::Version(1));
    assert_eq!(create(store, next.clone()).await, Receipt::Saved);
    let claimed = claim_one(store, hold.node, at(5)).await;
    assert_eq!(
        (claimed.id, claimed.control.clone().map(unnumbered)),
        (hold.id, Some(control_of(PhaseVerb::Cancel, 5)))
    );
    finish(store, end(hold_of(&claimed, hold.node), 2)).await.unwrap();
    assert_eq!(claim_one(store, hold.node, LATE).await.id, next.id);
}

pub(crate) async fn one_that_queues_is_superseded_before_it_began(store: &dyn FullStore) {
    let hold = first(store).await;
    let second = Create { queue: true, ..about(Expect::Version(1), None, plain("acme")) };
    assert_eq!(create(store, second.clone()).await, Receipt::Saved);
    let third = instead_of(second.id, Expect::Version(2));
    assert_eq!(create(store, third.clone()).await, Receipt::Saved);
    let found = row(store, NAME).await;
    assert_eq!((found.operation, found.phase), (Some(third.id), Some(Phase::Running)));
    assert_eq!(show(store, second.id).await.summary.resource, None);
    assert_eq!(claim_one(store, hold.node, LATE).await.id, second.id, "to be cancelled");
    finish(store, end(hold, 2)).await.unwrap();
    assert_eq!(claim_one(store, hold.node, LATE).await.id, third.id);
}

pub(crate) async fn who_cannot_be_superseded_any_longer_is_no_obstacle(store: &dyn FullStore) {
    let hold = first(store).await;
    finish(store, Finish { phase: Phase::Succeeded, ..end(hold, 2) }).await.unwrap();
    for other in [hold.id, new_id()] {
        let version = row(store, NAME).await.version;
        let next = instead_of(other, Expect::Version(version));
        assert_eq!(create(store, next.clone()).await, Receipt::Saved);
        let claimed = claim_one(store, hold.node, LATE).await;
        assert_eq!(claimed.id, next.id);
        finish(store, end(hold_of(&claimed, hold.node), 2)).await.unwrap();
    }
    assert_eq!(phase(store, hold.id).await, Phase::Succeeded);
}

pub(crate) async fn a_refused_create_supersedes_no_one(store: &dyn FullStore) {
    let hold = first(store).await;
    let changed = instead_of(hold.id, Expect::Version(9));
    assert_eq!(create(store, changed).await, Receipt::Changed);
    let busy = Create { queue: false, ..instead_of(hold.id, Expect::Version(1)) };
    assert_eq!(create(store, busy).await, Receipt::Busy(hold.id));
    assert_eq!(show(store, hold.id).await.summary.control, None);
    assert_eq!(row(store, NAME).await.version, 1);
}

pub(crate) async fn a_cancel_in_the_queue_settles_the_record(store: &dyn FullStore) {
    first(store).await;
    let second = Create { queue: true, ..about(Expect::Version(1), None, plain("acme")) };
    assert_eq!(create(store, second.clone()).await, Receipt::Saved);
    assert_eq!(control(store, second.id, PhaseVerb::Cancel, 50).await, Receipt::Saved);
    let found = row(store, NAME).await;
    assert_eq!((found.operation, found.phase), (Some(second.id), Some(Phase::Cancelled)));
    assert_eq!((found.version, found.updated_at), (3, at(50)));
}

pub(crate) async fn fifty_who_want_to_be_the_first_make_one_resource(store: &dyn FullStore) {
    let asked: Vec<Create> = (0..50)
        .map(|n| about(Expect::Absent, Some(record_update(&n.to_string(), &[])), plain("acme")))
        .collect();
    let receipts = join_all(asked.iter().map(|new| create(store, new.clone()))).await;
    let winner = receipts.iter().position(|receipt| *receipt == Receipt::Saved).unwrap();
    for (n, receipt) in receipts.into_iter().enumerate().filter(|(n, _)| *n != winner) {
        assert_eq!(receipt, Receipt::Changed, "{n}");
        assert!(store.show(asked[n].id).await.unwrap().is_none());
    }
    let found = row(store, NAME).await;
    assert_eq!(
        (found.version, found.record, found.operation),
        (1, winner.to_string(), Some(asked[winner].id))
    );
}

/// What a limit for several resources rests on: each create has a resource of its own, and all of them write one more.
pub(crate) async fn of_fifty_who_write_the_same_record_beside_one_is_saved(store: &dyn FullStore) {
    let beside = "quota/acme";
    for (round, expect) in [(0, Expect::Absent), (1, Expect::Version(1)), (2, Expect::Version(2))] {
        let new = |n: usize| {
            let name = format!("runtime/{round}-{n}");
            let quota = (expect == Expect::Absent).then(|| record_update("quota", &[]));
            Create {
                subject: Some(resource_write(&name, Expect::Absent, Some(record_update("x", &[])))),
                beside: Some(resource_write(beside, expect, quota)),
                ..on(&name, plain("acme"))
            }
        };
        let asked: Vec<Create> = (0..50).map(new).collect();
        let receipts = join_all(asked.iter().map(|new| create(store, new.clone()))).await;
        assert_eq!(receipts.iter().filter(|receipt| **receipt == Receipt::Saved).count(), 1);
        for (new, receipt) in asked.iter().zip(&receipts).filter(|(_, receipt)| **receipt != Receipt::Saved) {
            assert_eq!(*receipt, Receipt::Changed);
            assert!(store.show(new.id).await.unwrap().is_none());
            assert!(store.resource(new.resource.as_deref().unwrap()).await.unwrap().is_none());
        }
        assert_eq!(row(store, beside).await.version, round + 1);
    }
}

pub(crate) async fn fifty_who_saw_the_same_version_write_once(store: &dyn FullStore) {
    let first = resource_write(NAME, Expect::Absent, Some(record_update("0", &[("n", "0")])));
    assert_eq!(write(store, first).await, Receipt::Saved);
    for version in 1..=5 {
        let new = |n: usize| -> ResourceWrite {
            resource_write(NAME, Expect::Version(version), Some(record_update("x", &[("n", &n.to_string())])))
        };
        let receipts = join_all((0..50).map(|n| write(store, new(n)))).await;
        assert_eq!(receipts.iter().filter(|receipt| **receipt == Receipt::Saved).count(), 1);
        assert_eq!(receipts.iter().filter(|receipt| **receipt == Receipt::Changed).count(), 49);
        assert_eq!(row(store, NAME).await.version, version + 1);
    }
}

/// Operations that portray and end meet creates that supersede them. No transaction waits for ever.
pub(crate) async fn ends_and_new_operations_of_the_same_resources_leave_no_one_waiting(
    store: &dyn FullStore,
) {
    ends_meet_successors(store, store).await;
}

/// What two processes do to the same resources.
pub(crate) async fn ends_meet_successors(store: &dyn Store, other_store: &dyn Store) {
    let node = joined(store).await;
    let names: Vec<String> = (0..6).map(|n| format!("runtime/{n}")).collect();
    let subject = |name: &str, expect, record_update| Some(resource_write(name, expect, record_update));
    for name in &names {
        let new = Create {
            subject: subject(name, Expect::Absent, Some(record_update("x", &[("n", "0")]))),
            ..on(name, plain("acme"))
        };
        assert_eq!(create(store, new).await, Receipt::Saved);
    }
    let makers = names.iter().enumerate().map(async |(n, name)| {
        for round in 0..10 {
            loop {
                let seen = row(store, name).await;
                let beside = &names[(n + 1) % names.len()];
                let other = row(store, beside).await;
                let new = Create {
                    queue: true,
                    subject: subject(name, Expect::Version(seen.version), None),
                    beside: subject(beside, Expect::Version(other.version), None),
                    supersedes: seen.operation.map(|id| (id, control_of(PhaseVerb::Cancel, 100 + round))),
                    ..on(name, plain("acme"))
                };
                match create(store, new).await {
                    Receipt::Saved => break,
                    receipt => assert_eq!(receipt, Receipt::Changed),
                }
            }
        }
    });
    let worker = async {
        let mut done = 0;
        while done < names.len() * 11 {
            let ends = claim(other_store, node, LATE).await.into_iter().map(async |claimed| {
                let hold = hold_of(&claimed, node);
                let said =
                    |n: &str| claimed.resource.clone().map(|name| (name, record_update("x", &[("n", n)])));
                let event = engine::store::Append {
                    id: hold.id,
                    event: stepped(2).into(),
                    phase: None,
                    processed: None,
                    consumes: None,
                    record_update: said("1").map(Box::new),
                };
                other_store.commit(engine::store::Write::Append(event)).await.unwrap();
                let settles = claimed.resource.clone();
                finish(other_store, Finish { settles, record_update: said("2"), ..finish_of(hold, 3) })
                    .await
                    .unwrap();
            });
            done += join_all(ends).await.len();
        }
    };
    let all = async { tokio::join!(join_all(makers), worker) };
    tokio::time::timeout(std::time::Duration::from_secs(60), all).await.expect("a client waits for ever");
    for name in &names {
        let found = row(store, name).await;
        assert!(found.phase.is_some_and(Phase::is_final), "{found:?}");
    }
}
