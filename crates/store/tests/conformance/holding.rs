use std::time::Duration;

use engine::store::{Append, Finish, Ownership, Park, StoreError, Write};
use engine::{Body, Phase};

use crate::fixture::*;
use crate::store_fixture::FullStore;

pub(crate) async fn a_number_is_given_once(store: &dyn FullStore) {
    let node = joined(store).await;
    let hold = running(store, node).await;
    append(store, hold.id, 2).await.unwrap();
    let late = event(2, Body::Signalled { key: "late".into(), payload: 1.into() });
    assert_eq!(store.commit(append_of(hold.id, late.clone())).await, Err(StoreError::Fenced));
    let parking = Park { event: Some(late.clone()), ..park_of(hold) };
    assert_eq!(park(store, parking).await, Err(StoreError::Fenced));
    assert_eq!(
        finish(store, Finish { event: Some(late), ..finish_of(hold, 2) }).await,
        Err(StoreError::Fenced)
    );
    assert_eq!(store.journal(hold.id, 1, 10).await.unwrap(), [stepped(2)]);
    assert_eq!(phase(store, hold.id).await, Phase::Running);
    append(store, hold.id, 3).await.unwrap();
}

pub(crate) async fn an_append_changes_the_phase_in_lists(store: &dyn FullStore) {
    let node = joined(store).await;
    let hold = running(store, node).await;
    let write = Append {
        id: hold.id,
        event: stepped(2).into(),
        phase: Some(Phase::Undoing),
        processed: None,
        consumes: None,
        record_update: None,
    };
    store.commit(Write::Append(write.clone())).await.unwrap();
    assert_eq!(phase(store, hold.id).await, Phase::Undoing);
    let refused = Append { phase: Some(Phase::Paused), ..write };
    assert_eq!(store.commit(Write::Append(refused)).await, Err(StoreError::Fenced));
    assert_eq!(phase(store, hold.id).await, Phase::Undoing);
}

pub(crate) async fn a_park_says_everything_that_lists_show(store: &dyn FullStore) {
    let node = joined(store).await;
    let hold = running(store, node).await;
    let parking = Park {
        event: Some(stepped(2)),
        step: Some("image".into()),
        reason: Some("it is building".into()),
        memory: Some(("{}".into(), 2)),
        ..park_of(hold)
    };
    park(store, parking).await.unwrap();
    let shown = show(store, hold.id).await;
    assert_eq!((shown.memory.as_deref(), shown.memory_seq), (Some("{}"), 2));
    let summary = shown.summary;
    assert_eq!((summary.phase, summary.owner, summary.due_at), (Phase::Waiting, None, Some(at(50))));
    assert_eq!(summary.step.as_deref(), Some("image"));
    assert_eq!(summary.reason.as_deref(), Some("it is building"));
    assert_eq!(numbers(store, hold.id).await, [1, 2]);
}

pub(crate) async fn a_park_without_memory_keeps_the_one_before(store: &dyn FullStore) {
    let node = joined(store).await;
    let hold = running(store, node).await;
    park(store, Park { memory: Some(("first".into(), 1)), ..park_of(hold) }).await.unwrap();
    let claimed = claim_one(store, node, at(50)).await;
    park(store, park_of(hold_of(&claimed, node))).await.unwrap();
    let shown = show(store, hold.id).await;
    assert_eq!((shown.memory.as_deref(), shown.memory_seq), (Some("first"), 1));
}

pub(crate) async fn a_park_needs_the_owner_and_its_epoch(store: &dyn FullStore) {
    let node = joined(store).await;
    let hold = running(store, node).await;
    for wrong in [
        Ownership { epoch: 2, ..hold },
        Ownership { node: new_node(), ..hold },
        Ownership { id: new_id(), ..hold },
    ] {
        assert_eq!(park(store, park_of(wrong)).await, Err(StoreError::Fenced));
    }
    park(store, park_of(hold)).await.unwrap();
    assert_eq!(park(store, park_of(hold)).await, Err(StoreError::Fenced), "it is not owned any more");
    let claimed = claim_one(store, node, at(50)).await;
    assert_eq!(claimed.epoch, 2);
    assert_eq!(park(store, park_of(hold)).await, Err(StoreError::Fenced), "the epoch is an old one");
    park(store, park_of(hold_of(&claimed, node))).await.unwrap();
}

pub(crate) async fn a_finish_needs_the_owner_and_its_epoch(store: &dyn FullStore) {
    let node = joined(store).await;
    let hold = running(store, node).await;
    let bare = |hold| Finish { event: None, ..finish_of(hold, 1) };
    for wrong in [
        Ownership { epoch: 2, ..hold },
        Ownership { node: new_node(), ..hold },
        Ownership { id: new_id(), ..hold },
    ] {
        assert_eq!(finish(store, bare(wrong)).await, Err(StoreError::Fenced));
    }
    assert_eq!(phase(store, hold.id).await, Phase::Running);
    finish(store, bare(hold)).await.unwrap();
    assert_eq!(finish(store, bare(hold)).await, Err(StoreError::Fenced));
    assert_eq!(phase(store, hold.id).await, Phase::Succeeded);
}

pub(crate) async fn a_finished_operation_is_kept_with_its_end(store: &dyn FullStore) {
    let node = joined(store).await;
    let hold = start(store, node, on("vm-1", owned(node))).await;
    control(store, hold.id, engine::PhaseVerb::Pause, 5).await;
    let ending = Finish { phase: Phase::Failed, cause: Some("no image".into()), ..finish_of(hold, 2) };
    finish(store, ending).await.unwrap();
    let shown = show(store, hold.id).await;
    assert_eq!((shown.memory.as_deref(), shown.memory_seq), (Some(r#"{"facts":{}}"#), 2));
    assert_eq!(shown.params, r#"{"size":3}"#);
    let summary = shown.summary;
    assert_eq!((summary.phase, summary.owner, summary.due_at), (Phase::Failed, None, None));
    assert_eq!((summary.step, summary.control), (None, None));
    assert_eq!(summary.reason.as_deref(), Some("no image"));
    assert_eq!(summary.resource.as_deref(), Some("vm-1"));
    assert_eq!((summary.created_at, summary.deadline_at), (at(0), at(1000)));
    assert_eq!(summary.finished_at, Some(at(100)));
    assert_eq!(numbers(store, hold.id).await, [1, 2]);
    assert!(claim(store, node, LATE).await.is_empty());
}

pub(crate) async fn an_orphan_is_adopted_and_its_old_owner_refused(store: &dyn FullStore) {
    let old = joined(store).await;
    let hold = running(store, old).await;
    append(store, hold.id, 2).await.unwrap();
    let new = new_node();
    store.join(new, Some(old), LEASE).await.unwrap();
    let claimed = claim_one(store, new, LATE).await;
    assert!(claimed.orphaned);
    assert_eq!((claimed.id, claimed.epoch, claimed.seq), (hold.id, 2, 3));
    let adopted = claimed.events.last().unwrap();
    assert_eq!((adopted.seq, adopted.at, &adopted.body), (3, LATE, &Body::Adopted { node: new }));
    assert_eq!(claimed.events.len(), 3);

    assert_eq!(append(store, hold.id, 3).await, Err(StoreError::Fenced));
    let parking = Park { event: Some(stepped(3)), ..park_of(hold) };
    assert_eq!(park(store, parking).await, Err(StoreError::Fenced));
    assert_eq!(park(store, park_of(hold)).await, Err(StoreError::Fenced));
    assert_eq!(finish(store, finish_of(hold, 3)).await, Err(StoreError::Fenced));
    append(store, hold.id, 4).await.unwrap();
    park(store, park_of(hold_of(&claimed, new))).await.unwrap();

    // It was put down properly this time, so the next claim is a clean one.
    let again = claim_one(store, new, LATE).await;
    assert!(!again.orphaned);
    assert_eq!((again.seq, again.epoch), (4, 3));
}

pub(crate) async fn what_the_old_owner_wrote_before_the_adoption_counts(store: &dyn FullStore) {
    let old = joined(store).await;
    let hold = running(store, old).await;
    let new = new_node();
    store.join(new, Some(old), LEASE).await.unwrap();
    append(store, hold.id, 2).await.unwrap();
    let parking = Park { event: Some(stepped(3)), ..park_of(hold) };
    assert_eq!(park(store, parking).await, Err(StoreError::Fenced), "it is not the owner any more");
    let claimed = claim_one(store, new, LATE).await;
    assert_eq!(claimed.events[1..3], [stepped(2), stepped(3)]);
    assert_eq!(claimed.seq, 4);
}

pub(crate) async fn joining_frees_what_the_previous_node_owned(store: &dyn FullStore) {
    let old = joined(store).await;
    let hold = running(store, old).await;
    let new = new_node();
    store.join(new, Some(old), LEASE).await.unwrap();
    let summary = show(store, hold.id).await.summary;
    assert_eq!((summary.owner, summary.phase), (None, Phase::Running));
    assert!(summary.due_at.is_some());
    assert_eq!(store.heartbeat(old, LEASE).await, Err(StoreError::Fenced));
    assert_eq!(store.claim(old, LATE, 10).await.map(drop), Err(StoreError::Fenced));
    assert_eq!(store.heartbeat(new, LEASE).await, Ok(Vec::new()));
    assert_eq!(claim_one(store, new, LATE).await.id, hold.id);
    // Joining again changes nothing.
    store.join(new, Some(old), LEASE).await.unwrap();
    assert_eq!(show(store, hold.id).await.summary.owner, Some(new));
}

pub(crate) async fn leaving_frees_everything_and_rings(store: &dyn FullStore) {
    let node = joined(store).await;
    let hold = running(store, node).await;
    let mut ring = Box::pin(store.wake_up().notified());
    ring.as_mut().enable();
    store.leave(node).await.unwrap();
    tokio::time::timeout(Duration::from_secs(10), ring).await.unwrap();
    assert_eq!(show(store, hold.id).await.summary.owner, None);
    assert_eq!(store.heartbeat(node, LEASE).await, Err(StoreError::Fenced));
    let next = joined(store).await;
    assert!(claim_one(store, next, LATE).await.orphaned);
}

pub(crate) async fn releasing_frees_what_is_named_and_owned(store: &dyn FullStore) {
    let node = joined(store).await;
    let (free, kept) = (running(store, node).await, running(store, node).await);
    let foreign = running(store, new_node()).await;
    store.release(node, &[free.id, foreign.id, new_id()]).await.unwrap();
    for (hold, owner) in [(free, None), (kept, Some(node)), (foreign, Some(foreign.node))] {
        assert_eq!(show(store, hold.id).await.summary.owner, owner);
    }
    let claimed = claim_one(store, node, LATE).await;
    assert_eq!((claimed.id, claimed.orphaned, claimed.seq), (free.id, true, 2));
}

pub(crate) async fn a_node_that_no_one_knows_may_do_nothing(store: &dyn FullStore) {
    let outsider = new_node();
    assert_eq!(store.heartbeat(outsider, LEASE).await, Err(StoreError::Fenced));
    assert_eq!(store.claim(outsider, LATE, 10).await.map(drop), Err(StoreError::Fenced));
    store.leave(outsider).await.unwrap();
}
