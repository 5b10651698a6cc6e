use std::collections::BTreeMap;

use engine::store::{Create, Park};
use engine::{OperationId, Phase};

use crate::fixture::*;
use crate::store_fixture::FullStore;

pub(crate) async fn a_clean_claim_writes_no_event(store: &dyn FullStore) {
    let node = joined(store).await;
    let hold = running(store, node).await;
    park(store, Park { event: Some(stepped(2)), memory: Some(("{}".into(), 2)), ..park_of(hold) })
        .await
        .unwrap();
    let claimed = claim_one(store, node, at(50)).await;
    assert_eq!((claimed.seq, claimed.events.len(), claimed.orphaned), (2, 0, false));
    assert_eq!(numbers(store, hold.id).await, [1, 2]);
    let summary = show(store, hold.id).await.summary;
    assert_eq!((summary.owner, summary.due_at, summary.phase), (Some(node), None, Phase::Running));
}

pub(crate) async fn a_claim_brings_the_memory_and_what_came_after(store: &dyn FullStore) {
    let node = joined(store).await;
    let new = Create { params: r#"{"name":"ü\n\""}"#.into(), ..on("vm-1", owned(node)) };
    let hold = start(store, node, new.clone()).await;
    for seq in 2..=5 {
        append(store, hold.id, seq).await.unwrap();
    }
    park(store, Park { memory: Some(("memory".into(), 3)), ..park_of(hold) }).await.unwrap();
    let claimed = claim_one(store, node, at(50)).await;
    assert_eq!((claimed.memory.as_deref(), claimed.seq), (Some("memory"), 5));
    assert_eq!(claimed.events, [stepped(4), stepped(5)]);
    assert_eq!((&claimed.params, &claimed.resource), (&new.params, &new.resource));
    assert_eq!((claimed.workflow.as_str(), claimed.tenant.as_str()), ("launch", "acme"));
    assert_eq!((claimed.created_at, claimed.deadline_at), (at(0), at(1000)));
    assert!(claimed.control.is_none() && claimed.signal.is_none());
}

/// An operation that is put down until this second.
async fn due(store: &dyn FullStore, tenant: &str, second: i64) -> OperationId {
    let new = Create { created_at: at(second), ..plain(tenant) };
    create(store, new.clone()).await;
    new.id
}

pub(crate) async fn the_oldest_come_first_and_the_limit_holds(store: &dyn FullStore) {
    let node = joined(store).await;
    assert_eq!(store.claim(node, at(0), 10).await.unwrap().next_due, None);
    let mut ids = BTreeMap::new();
    for second in [30, 10, 50, 20, 40] {
        ids.insert(second, due(store, "acme", second).await);
    }
    let order = |claims: &engine::store::Claims| claims.operations.iter().map(|c| c.id).collect::<Vec<_>>();

    let none = store.claim(node, at(9), 10).await.unwrap();
    assert_eq!((order(&none), none.next_due), (vec![], Some(at(10))));
    let two = store.claim(node, at(30), 2).await.unwrap();
    assert_eq!((order(&two), two.next_due), (vec![ids[&10], ids[&20]], Some(at(30))));
    let one = store.claim(node, at(30), 2).await.unwrap();
    assert_eq!((order(&one), one.next_due), (vec![ids[&30]], Some(at(40))));
    let rest = store.claim(node, at(60), 2).await.unwrap();
    assert_eq!((order(&rest), rest.next_due), (vec![ids[&40], ids[&50]], None));
    assert_eq!(store.claim(node, LATE, 0).await.unwrap().operations.len(), 0);
}

pub(crate) async fn only_what_is_due_and_free_is_claimed(store: &dyn FullStore) {
    let node = joined(store).await;
    let owned = start(store, node, on("vm-1", owned(node))).await;
    let queued = Create { queue: true, ..on("vm-1", plain("acme")) };
    create(store, queued).await;
    let later = running(store, node).await;
    park(store, park_of(later)).await.unwrap();
    let paused = running(store, node).await;
    park(store, Park { phase: Phase::Paused, due_at: None, ..park_of(paused) }).await.unwrap();
    assert!(claim(store, node, at(49)).await.is_empty());
    assert_eq!(claim_one(store, node, LATE).await.id, later.id);
    assert_eq!(show(store, owned.id).await.summary.owner, Some(node));
}

pub(crate) async fn a_claim_moves_on_waiting_phases_only(store: &dyn FullStore) {
    let node = joined(store).await;
    let table = [
        (Phase::Pending, Phase::Running),
        (Phase::Running, Phase::Running),
        (Phase::Waiting, Phase::Running),
        (Phase::Undoing, Phase::Undoing),
        (Phase::Paused, Phase::Paused),
        (Phase::Stuck, Phase::Stuck),
    ];
    for (before, after) in table {
        let hold = running(store, node).await;
        park(store, Park { phase: before, ..park_of(hold) }).await.unwrap();
        let claimed = claim_one(store, node, LATE).await;
        assert_eq!(claimed.phase, after, "after {before}");
        assert_eq!(phase(store, hold.id).await, after, "after {before}");
    }
}

pub(crate) async fn a_small_tenant_is_not_starved_by_a_big_one(store: &dyn FullStore) {
    let node = joined(store).await;
    let big: Vec<_> = (0..1000).map(|_| due(store, "big", 0)).collect();
    futures_util::future::join_all(big).await;
    for second in 1..=3 {
        due(store, "small", second).await;
    }
    let mut small = 0;
    for _ in 0..3 {
        let claims = store.claim(node, at(10), 10).await.unwrap();
        assert_eq!(claims.operations.len(), 10);
        assert_eq!(claims.next_due, Some(at(0)), "there is more to claim");
        small += count(&claims, "small");
    }
    assert_eq!(small, 3);
}

fn count(claims: &engine::store::Claims, tenant: &str) -> usize {
    claims.operations.iter().filter(|claimed| claimed.tenant == tenant).count()
}

pub(crate) async fn every_one_of_many_tenants_gets_its_turn(store: &dyn FullStore) {
    let node = joined(store).await;
    let names: Vec<String> = (0..300).map(|n| format!("tenant-{n:03}")).collect();
    let all = names.iter().flat_map(|name| [(name, 0), (name, 1), (name, 2)]);
    futures_util::future::join_all(all.map(|(name, second)| due(store, name, second))).await;
    // Tenants that only wait must not take turns away from those that have work.
    futures_util::future::join_all((0..50).map(async |n| due(store, &format!("idle-{n:03}"), 9999).await))
        .await;
    let mut served: BTreeMap<String, usize> = BTreeMap::new();
    for _ in 0..8 {
        let claims = store.claim(node, at(10), 50).await.unwrap();
        assert_eq!(claims.operations.len(), 50);
        for claimed in claims.operations {
            *served.entry(claimed.tenant).or_default() += 1;
        }
    }
    assert_eq!(served.len(), 300);
    let mut left = 900 - 400;
    while left > 0 {
        let claims = store.claim(node, at(10), 150).await.unwrap();
        assert!(!claims.operations.is_empty());
        left -= claims.operations.len();
    }
    assert_eq!(store.claim(node, at(10), 10).await.unwrap().next_due, Some(at(9999)));
}
