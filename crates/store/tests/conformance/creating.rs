use engine::store::{Create, QUEUED, Receipt, StoreError, Write};
use engine::{OperationId, Phase};
use futures_util::future::join_all;

use crate::fixture::*;
use crate::store_fixture::FullStore;

pub(crate) async fn a_new_operation_is_there_with_its_first_event(store: &dyn FullStore) {
    let node = joined(store).await;
    let new = Create { name: Some("web-1".into()), ..on("vm-1", owned(node)) };
    assert_eq!(create(store, new.clone()).await, Receipt::Saved);
    let shown = show(store, new.id).await;
    assert_eq!((shown.params.as_str(), shown.memory, shown.memory_seq), (r#"{"size":3}"#, None, 0));
    let summary = shown.summary;
    assert_eq!((summary.workflow.as_str(), summary.tenant.as_str()), ("launch", "acme"));
    assert_eq!((summary.phase, summary.owner, summary.due_at), (Phase::Running, Some(node), None));
    assert_eq!((summary.resource.as_deref(), summary.name.as_deref()), (Some("vm-1"), Some("web-1")));
    assert_eq!((summary.created_at, summary.deadline_at, summary.finished_at), (at(0), at(1000), None));
    assert_eq!((summary.step, summary.reason, summary.control), (None, None, None));
    assert_eq!(store.journal(new.id, 0, 10).await.unwrap(), [new.event]);
}

pub(crate) async fn an_operation_without_an_owner_is_due_at_once(store: &dyn FullStore) {
    let node = joined(store).await;
    let new = plain("acme");
    assert_eq!(create(store, new.clone()).await, Receipt::Saved);
    let summary = show(store, new.id).await.summary;
    assert_eq!((summary.phase, summary.owner, summary.due_at), (Phase::Pending, None, Some(at(0))));
    let claimed = claim_one(store, node, at(0)).await;
    assert_eq!((claimed.id, claimed.phase, claimed.epoch, claimed.seq), (new.id, Phase::Running, 2, 1));
    assert_eq!(claimed.events, [new.event]);
    assert!(!claimed.orphaned);
}

pub(crate) async fn the_same_key_means_the_same_operation(store: &dyn FullStore) {
    let first = keyed("k", "digest", plain("acme"));
    assert_eq!(create(store, first.clone()).await, Receipt::Saved);
    assert_eq!(create(store, keyed("k", "digest", plain("acme"))).await, Receipt::Repeated(first.id));
    assert_eq!(create(store, first.clone()).await, Receipt::Repeated(first.id));
    assert_eq!(create(store, keyed("k", "other digest", plain("acme"))).await, Receipt::KeyReused);
    assert_eq!(create(store, keyed("k2", "digest", plain("acme"))).await, Receipt::Saved);
    let mut elsewhere = keyed("k", "digest", plain("acme"));
    elsewhere.idempotency.as_mut().unwrap().scope = "another caller".into();
    assert_eq!(create(store, elsewhere).await, Receipt::Saved);
}

pub(crate) async fn a_key_that_was_used_counts_more_than_a_busy_resource(store: &dyn FullStore) {
    let first = on("vm-1", keyed("k", "digest", plain("acme")));
    assert_eq!(create(store, first.clone()).await, Receipt::Saved);
    let again = on("vm-1", keyed("k", "digest", plain("acme")));
    assert_eq!(create(store, again).await, Receipt::Repeated(first.id));
    let other = on("vm-1", keyed("k", "other digest", plain("acme")));
    assert_eq!(create(store, other).await, Receipt::KeyReused);
}

pub(crate) async fn a_refused_create_does_not_use_up_its_key(store: &dyn FullStore) {
    let node = joined(store).await;
    let hold = start(store, node, on("vm-1", owned(node))).await;
    let refused = on("vm-1", keyed("k", "digest", plain("acme")));
    assert_eq!(create(store, refused.clone()).await, Receipt::Busy(hold.id));
    assert!(store.show(refused.id).await.unwrap().is_none());
    assert!(numbers(store, refused.id).await.is_empty());
    finish(store, finish_of(hold, 2)).await.unwrap();
    assert_eq!(create(store, refused.clone()).await, Receipt::Saved);
    assert_eq!(create(store, refused.clone()).await, Receipt::Repeated(refused.id));
}

pub(crate) async fn fifty_callers_with_one_key_make_one_operation(store: &dyn FullStore) {
    let asked: Vec<Create> = (0..50).map(|_| on("vm-1", keyed("k", "digest", plain("acme")))).collect();
    let receipts = join_all(asked.iter().map(|new| create(store, new.clone()))).await;
    let saved: Vec<usize> = (0..50).filter(|n| receipts[*n] == Receipt::Saved).collect();
    assert_eq!(saved.len(), 1, "{receipts:?}");
    let first = asked[saved[0]].id;
    for (new, receipt) in asked.iter().zip(receipts) {
        assert!(new.id == first || receipt == Receipt::Repeated(first), "{receipt:?}");
        assert_eq!(store.show(new.id).await.unwrap().is_some(), new.id == first);
    }
}

pub(crate) async fn a_resource_has_one_active_operation(store: &dyn FullStore) {
    let node = joined(store).await;
    let hold = start(store, node, on("vm-1", owned(node))).await;
    assert_eq!(create(store, on("vm-1", plain("other"))).await, Receipt::Busy(hold.id));
    assert_eq!(create(store, on("vm-2", plain("acme"))).await, Receipt::Saved);
    park(store, park_of(hold)).await.unwrap();
    assert_eq!(create(store, on("vm-1", plain("acme"))).await, Receipt::Busy(hold.id));
    let claimed = claim(store, node, at(50)).await.into_iter().find(|claimed| claimed.id == hold.id).unwrap();
    finish(store, finish_of(hold_of(&claimed, node), 2)).await.unwrap();
    assert_eq!(create(store, on("vm-1", plain("acme"))).await, Receipt::Saved);
}

pub(crate) async fn fifty_callers_for_one_resource_make_one_operation(store: &dyn FullStore) {
    let asked: Vec<Create> = (0..50).map(|_| on("vm-1", plain("acme"))).collect();
    let receipts = join_all(asked.iter().map(|new| create(store, new.clone()))).await;
    let winner = (0..50).find(|n| receipts[*n] == Receipt::Saved).unwrap();
    for (n, receipt) in receipts.into_iter().enumerate().filter(|(n, _)| *n != winner) {
        assert_eq!(receipt, Receipt::Busy(asked[winner].id), "{n}");
    }
}

fn queueing(resource: &str) -> Create {
    Create { queue: true, ..on(resource, plain("acme")) }
}

pub(crate) async fn those_who_queue_get_the_resource_in_order(store: &dyn FullStore) {
    let node = joined(store).await;
    let hold = start(store, node, on("vm-1", owned(node))).await;
    // The process that made the second one has a clock that is ahead, so that its id is the greater one.
    let (third, second) = (queueing("vm-1"), Create { owner: Some(node), ..queueing("vm-1") });
    assert!(second.id > third.id);
    assert_eq!(create(store, second.clone()).await, Receipt::Saved);
    assert_eq!(create(store, third.clone()).await, Receipt::Saved);
    assert_eq!(create(store, on("vm-1", plain("acme"))).await, Receipt::Busy(hold.id));
    for id in [second.id, third.id] {
        let waiting = show(store, id).await.summary;
        assert_eq!((waiting.phase, waiting.owner, waiting.due_at), (Phase::Pending, None, None));
        assert_eq!(waiting.reason.as_deref(), Some(QUEUED));
    }
    assert!(claim(store, node, LATE).await.is_empty());

    finish(store, finish_of(hold, 2)).await.unwrap();
    let promoted = show(store, second.id).await.summary;
    assert_eq!((promoted.reason, promoted.due_at), (None, Some(at(100))));
    let claimed = claim_one(store, node, LATE).await;
    assert_eq!(claimed.id, second.id);
    finish(store, finish_of(hold_of(&claimed, node), 2)).await.unwrap();
    assert_eq!(claim_one(store, node, LATE).await.id, third.id);
}

pub(crate) async fn fifty_who_queue_at_once_all_get_their_turn(store: &dyn FullStore) {
    let node = joined(store).await;
    let asked: Vec<Create> = (0..50).map(|_| queueing("vm-1")).collect();
    let mut receipts = join_all(asked.iter().map(|new| create(store, new.clone()))).await;
    receipts.dedup();
    assert_eq!(receipts, [Receipt::Saved]);
    let mut order = Vec::new();
    for _ in 0..50 {
        let claimed = claim_one(store, node, LATE).await;
        order.push(claimed.id);
        finish(store, finish_of(hold_of(&claimed, node), 2)).await.unwrap();
    }
    assert!(claim(store, node, LATE).await.is_empty());
    // In which order they came is chance.
    order.sort();
    assert_eq!(order, asked.iter().map(|new| new.id).collect::<Vec<OperationId>>());
}

pub(crate) async fn an_id_is_used_once(store: &dyn FullStore) {
    let node = joined(store).await;
    let new = owned(node);
    let hold = start(store, node, new.clone()).await;
    let again = || store.commit(Write::Create(Box::new(new.clone())));
    assert_eq!(again().await, Err(StoreError::Fenced));
    finish(store, finish_of(hold, 2)).await.unwrap();
    assert_eq!(again().await, Err(StoreError::Fenced));
    assert_eq!(phase(store, new.id).await, Phase::Succeeded);
}
