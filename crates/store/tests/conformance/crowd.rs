use std::collections::HashSet;

use engine::store::{Park, Query, Receipt, StoreError};
use engine::{OperationId, Phase};
use futures_util::future::join_all;

use crate::fixture::*;
use crate::house::Whole;

pub(crate) async fn five_hundred_operations_at_once_have_no_gap(store: &dyn Whole) {
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

pub(crate) async fn whoever_writes_a_number_twice_harms_nobody_else(store: &dyn Whole) {
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

pub(crate) async fn whole_lives_side_by_side_all_end_in_the_archive(store: &dyn Whole) {
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
    let done = Query { phases: vec![Phase::Succeeded], limit: 1000, ..Query::default() };
    assert_eq!(store.list(&done).await.unwrap().len(), 200);
    assert!(claim(store, node, LATE).await.is_empty());
}
