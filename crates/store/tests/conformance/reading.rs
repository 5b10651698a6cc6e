use std::collections::BTreeMap;
use std::time::Duration;

use engine::store::{Create, Finish, OperationQuery, Park, Receipt, StoreError, Summary};
use engine::{OperationId, Phase, PhaseVerb};

use crate::fixture::*;
use crate::store_fixture::FullStore;

pub(crate) async fn nothing_is_shown_of_what_is_not_there(store: &dyn FullStore) {
    assert!(store.show(new_id()).await.unwrap().is_none());
    assert!(store.journal(new_id(), 0, 10).await.unwrap().is_empty());
    assert!(store.list(&OperationQuery { limit: 10, ..OperationQuery::default() }).await.unwrap().is_empty());
}

/// Sixty operations of all kinds, oldest first.
async fn mixture(store: &dyn FullStore) -> Vec<OperationId> {
    let node = joined(store).await;
    let mut ids = Vec::new();
    for n in 0..60 {
        let workflow = ["launch", "resize"][n % 2].to_owned();
        let resource = Some(format!("vm-{}", n % 7)).filter(|_| n % 3 == 0);
        let new = Create { workflow, resource, queue: true, ..plain(["acme", "beta", "core"][n % 3]) };
        ids.push(new.id);
        create(store, Create { owner: Some(node).filter(|_| n % 4 != 3), ..new }).await;
        let shown = show(store, ids[n]).await.summary;
        let hold = engine::store::Ownership { id: ids[n], node, epoch: 1 };
        match n % 5 {
            _ if shown.owner.is_none() => {}
            0 => drop(finish(store, finish_of(hold, 2)).await.unwrap()),
            1 => drop(finish(store, Finish { phase: Phase::Failed, ..finish_of(hold, 2) }).await.unwrap()),
            2 => drop(park(store, park_of(hold)).await.unwrap()),
            3 => {
                let stuck = Park { phase: Phase::Stuck, due_at: None, ..park_of(hold) };
                park(store, stuck).await.unwrap();
            }
            _ => {
                control(store, ids[n], PhaseVerb::Pause, 3).await;
            }
        }
    }
    ids
}

pub(crate) async fn a_list_keeps_to_every_filter(store: &dyn FullStore) {
    let ids = mixture(store).await;
    let all = store.list(&OperationQuery { limit: 100, ..OperationQuery::default() }).await.unwrap();
    assert_eq!(all.iter().map(|s| s.id).collect::<Vec<_>>(), ids.iter().rev().copied().collect::<Vec<_>>());
    for summary in &all {
        assert_eq!(show(store, summary.id).await.summary, *summary);
    }
    let phases = [
        vec![],
        vec![Phase::Succeeded],
        vec![Phase::Failed],
        vec![Phase::Failed, Phase::Stuck],
        vec![Phase::Running, Phase::Waiting, Phase::Pending],
        vec![Phase::Succeeded, Phase::Running],
        vec![Phase::Cancelled],
    ];
    for phases in phases {
        for workflow in [None, Some("resize")] {
            for tenant in [None, Some("acme"), Some("unknown")] {
                for (resource, resources) in [
                    (None, vec![]),
                    (Some("vm-3"), vec![]),
                    (None, vec!["vm-3".to_owned(), "vm-5".to_owned(), "vm-none".to_owned()]),
                ] {
                    for (before, from) in [(None, None), (Some(ids[40]), Some(ids[10]))] {
                        let query = OperationQuery {
                            workflow: workflow.map(Into::into),
                            phases: phases.clone(),
                            tenant: tenant.map(Into::into),
                            resource: resource.map(Into::into),
                            resources: resources.clone(),
                            before,
                            from,
                            id_end: None,
                            limit: 100,
                        };
                        let expect: Vec<&Summary> = all.iter().filter(|s| fits(s, &query)).collect();
                        let found = store.list(&query).await.unwrap();
                        assert_eq!(found.iter().collect::<Vec<_>>(), expect, "{query:?}");
                    }
                }
            }
        }
    }
}

fn fits(summary: &Summary, query: &OperationQuery) -> bool {
    query.workflow.as_ref().is_none_or(|wanted| *wanted == summary.workflow)
        && (query.phases.is_empty() || query.phases.contains(&summary.phase))
        && query.tenant.as_ref().is_none_or(|wanted| *wanted == summary.tenant)
        && (query.resource.is_none() || query.resource == summary.resource)
        && (query.resources.is_empty()
            || summary.resource.as_ref().is_some_and(|name| query.resources.contains(name)))
        && query.before.is_none_or(|before| summary.id < before)
        && query.from.is_none_or(|from| summary.id >= from)
}

pub(crate) async fn pages_have_no_gap_and_no_double(store: &dyn FullStore) {
    let ids = mixture(store).await;
    for limit in [1, 7, 59, 60, 61] {
        let mut seen = Vec::new();
        let mut query = OperationQuery { limit, ..OperationQuery::default() };
        loop {
            let page = store.list(&query).await.unwrap();
            assert!(page.len() <= limit);
            seen.extend(page.iter().map(|summary| summary.id));
            match page.last() {
                Some(last) => query.before = Some(last.id),
                None => break,
            }
        }
        seen.reverse();
        assert_eq!(seen, ids, "pages of {limit}");
    }
}

pub(crate) async fn totals_count_what_a_list_would_show(store: &dyn FullStore) {
    mixture(store).await;
    let failed = vec![Phase::Failed, Phase::Stuck];
    for phases in [vec![], failed] {
        for tenant in [None, Some("acme".to_owned())] {
            for limit in [100, 7] {
                let query = OperationQuery {
                    phases: phases.clone(),
                    tenant: tenant.clone(),
                    limit,
                    ..OperationQuery::default()
                };
                let mut expect: BTreeMap<(String, Phase), u64> = BTreeMap::new();
                for found in store.list(&query).await.unwrap() {
                    *expect.entry((found.workflow, found.phase)).or_default() += 1;
                }
                let totals = store.totals(&query).await.unwrap();
                let found = totals.into_iter().map(|total| ((total.workflow, total.phase), total.count));
                assert_eq!(found.collect::<BTreeMap<_, _>>(), expect, "{query:?}");
            }
        }
    }
}

pub(crate) async fn the_history_says_what_ended_when(store: &dyn FullStore) {
    let node = joined(store).await;
    for (second, phase) in [
        (59, Phase::Succeeded),
        (60, Phase::Succeeded),
        (119, Phase::Undone),
        (240, Phase::Failed),
        (241, Phase::Succeeded),
    ] {
        let hold = running(store, node).await;
        finish(store, Finish { phase, at: at(second), ..finish_of(hold, 2) }).await.unwrap();
    }
    let minute = Duration::from_mins(1);
    let found = store.history(at(60), minute, 100).await.unwrap();
    let counts: Vec<(u32, u64, u64)> = found.iter().map(|one| (one.nth, one.count, one.failed)).collect();
    assert_eq!(counts, [(0, 2, 1), (3, 2, 1)]);
    assert!(found.iter().all(|one| one.took > Duration::ZERO), "{found:?}");
    let newest = store.history(at(60), minute, 1).await.unwrap();
    assert_eq!(newest.iter().map(|one| (one.nth, one.count)).collect::<Vec<_>>(), [(3, 1)]);
}

pub(crate) async fn a_journal_can_be_read_in_pages(store: &dyn FullStore) {
    let node = joined(store).await;
    let (hold, other) = (running(store, node).await, running(store, node).await);
    for seq in 2..=20 {
        append(store, hold.id, seq).await.unwrap();
        append(store, other.id, seq).await.unwrap();
    }
    let (mut after, mut seen) = (0, Vec::new());
    loop {
        let page = store.journal(hold.id, after, 6).await.unwrap();
        let Some(last) = page.last() else { break };
        after = last.seq;
        seen.extend(page);
    }
    assert_eq!(seen.len(), 20);
    assert_eq!(seen[1..], (2..=20).map(stepped).collect::<Vec<_>>());
    assert!(store.journal(hold.id, u32::MAX, 6).await.unwrap().is_empty());
    assert!(store.journal(hold.id, 0, 0).await.unwrap().is_empty());
}

pub(crate) async fn stats_count_what_there_is(store: &dyn FullStore) {
    let node = joined(store).await;
    let empty = store.stats(at(0)).await.unwrap();
    assert_eq!((empty.owned, empty.waiting, empty.due, empty.stuck, empty.oldest_due), (0, 0, 0, 0, None));
    for _ in 0..3 {
        running(store, node).await;
    }
    for second in [10, 20] {
        create(store, Create { created_at: at(second), ..plain("acme") }).await;
    }
    for (phase, due_at) in [(Phase::Waiting, Some(at(50))), (Phase::Paused, None), (Phase::Stuck, None)] {
        let hold = running(store, node).await;
        park(store, Park { phase, due_at, ..park_of(hold) }).await.unwrap();
    }
    let held = start(store, node, on("vm-1", owned(node))).await;
    create(store, Create { queue: true, ..on("vm-1", plain("acme")) }).await;
    let stats = store.stats(at(20)).await.unwrap();
    assert_eq!((stats.owned, stats.waiting, stats.due, stats.stuck), (4, 4, 2, 1));
    assert_eq!(stats.oldest_due, Some(at(10)));
    let all = store.list(&OperationQuery { limit: 100, ..OperationQuery::default() }).await.unwrap();
    assert_eq!(stats.oldest_unfinished, all.iter().min_by_key(|one| one.id).map(|one| one.created_at));
    assert_eq!(empty.oldest_unfinished, None);
    assert!(stats.writes >= stats.commits && stats.commits > empty.commits);
    let later = store.stats(at(60)).await.unwrap();
    assert_eq!((later.waiting, later.due), (3, 3));
    finish(store, finish_of(held, 2)).await.unwrap();
    assert_eq!(store.stats(at(60)).await.unwrap().owned, 3);
}

pub(crate) async fn old_operations_are_removed_with_all_that_is_theirs(store: &dyn FullStore) {
    let node = joined(store).await;
    let mut ends = Vec::new();
    for second in [10, 20, 30] {
        let new = keyed(&format!("key {second}"), "digest", owned(node));
        let hold = start(store, node, new.clone()).await;
        finish(store, Finish { at: at(second), ..finish_of(hold, 2) }).await.unwrap();
        ends.push(new);
    }
    let alive = running(store, node).await;
    signal(store, "old", 1, 10).await;
    signal(store, "young", 1, 30).await;
    assert_eq!(store.prune(at(10)).await, Ok(0));
    assert_eq!(store.prune(at(30)).await, Ok(2));
    assert_eq!(store.prune(at(30)).await, Ok(0));
    for gone in &ends[..2] {
        assert!(store.show(gone.id).await.unwrap().is_none());
        assert!(numbers(store, gone.id).await.is_empty());
        assert_eq!(create(store, gone.clone()).await, Receipt::Saved, "its key is free again");
    }
    assert_eq!(numbers(store, ends[2].id).await, [1, 2]);
    assert_eq!(create(store, ends[2].clone()).await, Receipt::Repeated(ends[2].id));
    assert_eq!(numbers(store, alive.id).await, [1]);
    park(store, Park { key: Some("old".into()), ..park_of(alive) }).await.unwrap();
    assert_eq!(show(store, alive.id).await.summary.due_at, Some(at(50)), "the old signal is gone");
    let other = running(store, node).await;
    park(store, Park { key: Some("young".into()), ..park_of(other) }).await.unwrap();
    assert_eq!(show(store, other.id).await.summary.due_at, Some(at(30)));
}

pub(crate) async fn the_database_answers(store: &dyn FullStore) {
    assert_eq!(store.ping().await, Ok::<(), StoreError>(()));
}

pub(crate) async fn an_operation_is_found_by_the_end_of_its_id(store: &dyn FullStore) {
    let ids = mixture(store).await;
    for id in [ids[0], ids[1], ids[59]] {
        let text = id.0.simple().to_string();
        for digits in [8, 20, 32] {
            let query = OperationQuery {
                id_end: Some(text[32 - digits..].to_owned()),
                limit: 10,
                ..OperationQuery::default()
            };
            let found: Vec<OperationId> =
                store.list(&query).await.unwrap().iter().map(|row| row.id).collect();
            assert_eq!(found, [id], "{digits} digits");
        }
    }
    let query =
        OperationQuery { id_end: Some("0123456789abcdef".into()), limit: 10, ..OperationQuery::default() };
    assert!(store.list(&query).await.unwrap().is_empty());
}
