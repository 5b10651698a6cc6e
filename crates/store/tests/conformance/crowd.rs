use std::collections::HashSet;

use engine::store::{Create, OperationQuery, Park, Receipt, Store, StoreError};
use engine::{OperationId, Phase, PhaseVerb};
use futures_util::future::join_all;

use crate::fixture::*;
use crate::store_fixture::FullStore;

pub(crate) async fn five_hundred_operations_at_once_have_no_gap(store: &dyn FullStore) {
    let node = joined(store).await;
    let life = async |_| {
        let hold = running(store, node).await;
        for seq in 2..=11 {
            append(store, hold.id, seq).await.unwrap();
        }
        hold.id
    };
    let ids: Vec<OperationId> = join_all((0..500).map(life)).await;
    for id in ids {
        assert_eq!(numbers(store, id).await, (1..=11).collect::<Vec<u32>>());
    }
    let stats = store.stats(at(0)).await.unwrap();
    assert_eq!((stats.owned, stats.writes), (500, 5500));
}

pub(crate) async fn the_one_who_writes_a_number_twice_harms_no_one_else(store: &dyn FullStore) {
    let node = joined(store).await;
    let holds = join_all((0..200).map(|_| running(store, node))).await;
    let bad: HashSet<OperationId> = [3, 77, 78, 199].map(|n: usize| holds[n].id).into();
    for id in &bad {
        append(store, *id, 2).await.unwrap();
    }
    let writes = holds.iter().map(async |hold| (hold.id, append(store, hold.id, 2).await));
    for (id, answer) in join_all(writes).await {
        let expect = if bad.contains(&id) { Err(StoreError::Fenced) } else { Ok(Receipt::Saved) };
        assert_eq!(answer, expect);
        assert_eq!(numbers(store, id).await, [1, 2]);
    }
}

pub(crate) async fn whole_lives_side_by_side_all_end_in_the_archive(store: &dyn FullStore) {
    let node = joined(store).await;
    let life = async |n: usize| {
        let new = keyed(&format!("key {n}"), "digest", on(&format!("vm-{n}"), owned(node)));
        let hold = start(store, node, new).await;
        append(store, hold.id, 2).await.unwrap();
        let memory = Some(("{}".into(), 3));
        park(store, Park { event: Some(stepped(3)), memory, ..park_of(hold) }).await.unwrap();
    };
    join_all((0..200).map(life)).await;
    let claimed = claim(store, node, LATE).await;
    assert_eq!(claimed.len(), 200);
    let end = async |n: usize| finish(store, finish_of(hold_of(&claimed[n], node), 4)).await.unwrap();
    join_all((0..200).map(end)).await;
    let done = OperationQuery { phases: vec![Phase::Succeeded], limit: 1000, ..OperationQuery::default() };
    assert_eq!(store.list(&done).await.unwrap().len(), 200);
    assert!(claim(store, node, LATE).await.is_empty());
}

fn waiting_for(resource: &str) -> Create {
    Create { queue: true, ..on(resource, plain("acme")) }
}

pub(crate) async fn a_finish_and_a_create_at_the_same_moment_leave_no_one_waiting(store: &dyn FullStore) {
    finishes_meet_creates(store, store).await;
}

/// The transaction that queues in the moment in which the holder finishes gets the resource.
pub(crate) async fn finishes_meet_creates(one: &dyn Store, two: &dyn Store) {
    let node = joined(one).await;
    let round = async |n: usize| {
        let resource = format!("vm-{n}");
        let hold = start(one, node, on(&resource, owned(node))).await;
        let next = waiting_for(&resource);
        let (created, finished) = tokio::join!(create(two, next.clone()), finish(one, finish_of(hold, 2)));
        assert_eq!((created, finished), (Receipt::Saved, Ok(Receipt::Saved)));
        assert!(show(one, next.id).await.summary.due_at.is_some(), "{resource} is free, and it waits for it");
    };
    join_all((0..300).map(round)).await;
}

pub(crate) async fn a_finish_and_a_cancel_at_the_same_moment_leave_no_one_waiting(store: &dyn FullStore) {
    finishes_meet_cancels(store, store).await;
}

/// When the first in the queue goes away in the moment in which the holder finishes, it is the second's turn.
pub(crate) async fn finishes_meet_cancels(one: &dyn Store, two: &dyn Store) {
    let node = joined(one).await;
    let round = async |n: usize| {
        let resource = format!("vm-{n}");
        let hold = start(one, node, on(&resource, owned(node))).await;
        let (first, second) = (waiting_for(&resource), waiting_for(&resource));
        create(one, first.clone()).await;
        create(one, second.clone()).await;
        let (_, finished) =
            tokio::join!(control(two, first.id, PhaseVerb::Cancel, 5), finish(one, finish_of(hold, 2)));
        assert_eq!(finished, Ok(Receipt::Saved));
        let (first, second) = (show(one, first.id).await.summary, show(one, second.id).await.summary);
        assert!(
            first.resource.is_some() || second.due_at.is_some(),
            "{resource} is free, and one waits for it"
        );
    };
    join_all((0..300).map(round)).await;
}
