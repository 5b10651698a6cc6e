use engine::store::{Append, Claimed, Ownership, Park, Receipt, SignalLimit, Store, TakenSignal, Write};
use futures_util::future::join_all;
use serde_json::Value;

use crate::fixture::*;
use crate::postgres_only::open;
use crate::store_fixture::{FullStore, new_database};

/// The key and the payload of the signal that a claim found.
fn said(claimed: &Claimed) -> Option<(&str, Value)> {
    claimed.signal.as_ref().map(|signal| (signal.key.as_str(), signal.payload.clone()))
}

/// An event that takes over the signal that this claim found.
fn taken(claimed: &Claimed, seq: u32) -> Write {
    let signal = claimed.signal.as_ref().unwrap();
    let consumes = Some(Box::new(TakenSignal { key: signal.key.clone(), number: signal.number }));
    let event = stepped(seq).into();
    Write::Append(Append {
        id: claimed.id,
        event,
        phase: None,
        processed: None,
        consumes,
        record_update: None,
    })
}

fn waiting(hold: Ownership, key: &str) -> Park {
    Park { key: Some(key.into()), ..park_of(hold) }
}

pub(crate) async fn a_signal_before_the_wait_ends_it_at_once(store: &dyn FullStore) {
    let node = joined(store).await;
    assert_eq!(signal(store, "built", 7, 5).await, Receipt::Woke(0));
    let hold = running(store, node).await;
    park(store, waiting(hold, "built")).await.unwrap();
    assert_eq!(show(store, hold.id).await.summary.due_at, Some(at(5)));
    let claimed = claim_one(store, node, at(5)).await;
    assert_eq!(said(&claimed), Some(("built", 7.into())));
}

pub(crate) async fn a_signal_during_the_wait_ends_it(store: &dyn FullStore) {
    let node = joined(store).await;
    let (hold, other) = (running(store, node).await, running(store, node).await);
    park(store, waiting(hold, "built")).await.unwrap();
    park(store, waiting(other, "another key")).await.unwrap();
    assert!(claim(store, node, at(49)).await.is_empty());
    assert_eq!(signal(store, "built", 7, 6).await, Receipt::Woke(1));
    let claimed = claim_one(store, node, at(6)).await;
    assert_eq!((claimed.id, said(&claimed)), (hold.id, Some(("built", 7.into()))));
}

pub(crate) async fn a_signal_for_a_running_operation_is_found_at_its_next_park(store: &dyn FullStore) {
    let node = joined(store).await;
    let hold = running(store, node).await;
    park(store, waiting(hold, "built")).await.unwrap();
    let claimed = claim_one(store, node, at(50)).await;
    assert_eq!(claimed.signal, None);
    assert_eq!(signal(store, "built", 7, 60).await, Receipt::Woke(0));
    assert_eq!(show(store, hold.id).await.summary.due_at, None);
    park(store, waiting(hold_of(&claimed, node), "built")).await.unwrap();
    let claimed = claim_one(store, node, at(60)).await;
    assert_eq!(said(&claimed), Some(("built", 7.into())));
    // Without a key it waits for a time only.
    park(store, park_of(hold_of(&claimed, node))).await.unwrap();
    assert_eq!(signal(store, "built", 8, 70).await, Receipt::Woke(0));
    assert_eq!(show(store, hold.id).await.summary.due_at, Some(at(50)));
}

pub(crate) async fn a_signal_is_gone_when_an_event_has_taken_it_over(store: &dyn FullStore) {
    let node = joined(store).await;
    let hold = running(store, node).await;
    signal(store, "built", 7, 5).await;
    signal(store, "started", 8, 5).await;
    park(store, waiting(hold, "built")).await.unwrap();
    let claimed = claim_one(store, node, at(5)).await;
    store.commit(taken(&claimed, 2)).await.unwrap();
    park(store, waiting(hold_of(&claimed, node), "built")).await.unwrap();
    assert_eq!(show(store, hold.id).await.summary.due_at, Some(at(50)));
    let claimed = claim_one(store, node, at(50)).await;
    assert_eq!(claimed.signal, None);
    park(store, waiting(hold_of(&claimed, node), "started")).await.unwrap();
    assert_eq!(said(&claim_one(store, node, at(5)).await), Some(("started", 8.into())));
}

/// The second one comes between the claim and the event that takes over the first, in the same microsecond and
/// with the same payload.
pub(crate) async fn a_second_signal_is_not_deleted_unread(store: &dyn FullStore) {
    let node = joined(store).await;
    let hold = running(store, node).await;
    signal(store, "built", 7, 5).await;
    park(store, waiting(hold, "built")).await.unwrap();
    let claimed = claim_one(store, node, at(5)).await;
    assert_eq!(signal(store, "built", 7, 5).await, Receipt::Woke(0));
    store.commit(taken(&claimed, 2)).await.unwrap();
    park(store, waiting(hold_of(&claimed, node), "built")).await.unwrap();
    let claimed = claim_one(store, node, at(5)).await;
    assert_eq!(said(&claimed), Some(("built", 7.into())));
    store.commit(taken(&claimed, 3)).await.unwrap();
    park(store, waiting(hold_of(&claimed, node), "built")).await.unwrap();
    assert_eq!(show(store, hold.id).await.summary.due_at, Some(at(50)), "both have been read");
}

pub(crate) async fn taking_a_signal_over_and_sending_the_next_at_the_same_moment_lose_nothing(
    store: &dyn FullStore,
) {
    let node = joined(store).await;
    for n in 0..100 {
        let hold = running(store, node).await;
        let key = format!("key-{n}");
        signal(store, &key, 1, 5).await;
        park(store, waiting(hold, &key)).await.unwrap();
        let claimed = claim_one(store, node, at(5)).await;
        let (_, receipt) = tokio::join!(store.commit(taken(&claimed, 2)), signal(store, &key, 2, 6));
        assert_eq!(receipt, Receipt::Woke(0));
        park(store, waiting(hold_of(&claimed, node), &key)).await.unwrap();
        let claimed = claim_one(store, node, at(6)).await;
        assert_eq!(said(&claimed), Some((key.as_str(), 2.into())));
        finish(store, finish_of(hold_of(&claimed, node), 3)).await.unwrap();
    }
}

pub(crate) async fn a_signal_ends_every_wait_for_it_and_the_last_payload_counts(store: &dyn FullStore) {
    let node = joined(store).await;
    let holds = [running(store, node).await, running(store, node).await];
    for hold in holds {
        park(store, waiting(hold, "built")).await.unwrap();
    }
    assert_eq!(signal(store, "built", 7, 5).await, Receipt::Woke(2));
    assert_eq!(signal(store, "built", 8, 6).await, Receipt::Woke(2));
    let claimed = claim(store, node, at(6)).await;
    assert_eq!(claimed.len(), 2);
    assert!(claimed.iter().all(|claimed| said(claimed) == Some(("built", 8.into()))));
}

pub(crate) async fn signals_and_parks_at_the_same_moment_lose_nothing(store: &dyn FullStore) {
    let node = joined(store).await;
    let round = async |n: usize| {
        let hold = running(store, node).await;
        let key = format!("key-{n}");
        let (parked, _) = tokio::join!(park(store, waiting(hold, &key)), signal(store, &key, 1, 5));
        parked.unwrap();
        hold.id
    };
    let ids = futures_util::future::join_all((0..200).map(round)).await;
    for id in ids {
        assert_eq!(show(store, id).await.summary.due_at, Some(at(5)), "{id} sleeps on");
    }
    let claimed = claim(store, node, at(5)).await;
    assert_eq!(claimed.iter().filter(|claimed| claimed.signal.is_some()).count(), 200);
}

/// One of a sender that may have three unread signals with 20 bytes.
async fn limited(store: &dyn Store, key: &str, payload: &str) -> Receipt {
    let prefix = format!("{}/", key.split('/').next().unwrap());
    let limit = Some(SignalLimit { prefix, signals_max: 3, bytes_max: 20 });
    let write = Write::Signal { key: key.into(), payload: payload.into(), at: at(5), limit };
    store.commit(write).await.unwrap()
}

pub(crate) async fn unread_signals_of_a_sender_are_limited_by_number_and_bytes(store: &dyn FullStore) {
    const TAKEN: Receipt = Receipt::Woke(0);
    let node = joined(store).await;
    for other in ["op-1", "op-10/a", "op-0/a", "op-1.a"] {
        signal(store, other, 7, 5).await;
    }
    for key in ["op-1/a", "op-1/b", "op-1/c"] {
        assert_eq!(limited(store, key, "1").await, TAKEN, "{key}");
    }
    let full = Receipt::TooManySignals { signals: 3, bytes: 9 };
    assert_eq!(limited(store, "op-1/d", "1").await, full);
    // A key that is there already needs no more room, unless it is for bytes. A text has two quotes.
    assert_eq!(limited(store, "op-1/a", "123456789012").await, TAKEN);
    assert_eq!(limited(store, "op-1/b", "1234").await, Receipt::TooManySignals { signals: 2, bytes: 17 });
    // Nothing that was taken is lost, and what is read makes room.
    let hold = running(store, node).await;
    park(store, waiting(hold, "op-1/a")).await.unwrap();
    let claimed = claim_one(store, node, at(5)).await;
    assert_eq!(said(&claimed), Some(("op-1/a", "123456789012".into())));
    store.commit(taken(&claimed, 2)).await.unwrap();
    assert_eq!(limited(store, "op-1/d", "1").await, TAKEN);
    for (key, payload) in [("op-1/b", "1"), ("op-1/c", "1"), ("op-1/d", "1")] {
        let hold = running(store, node).await;
        park(store, waiting(hold, key)).await.unwrap();
        let claimed = claim_one(store, node, at(5)).await;
        assert_eq!(said(&claimed), Some((key, payload.into())));
        finish(store, finish_of(hold_of(&claimed, node), 2)).await.unwrap();
    }
}

pub(crate) async fn a_signal_that_ends_a_wait_is_taken_beyond_the_limit(store: &dyn FullStore) {
    let node = joined(store).await;
    for key in ["op-1/a", "op-1/b", "op-1/c"] {
        limited(store, key, "1").await;
    }
    let hold = running(store, node).await;
    park(store, waiting(hold, "op-1/built")).await.unwrap();
    assert_eq!(limited(store, "op-1/built", "far more than twenty bytes").await, Receipt::Woke(1));
    let claimed = claim_one(store, node, at(5)).await;
    assert_eq!(said(&claimed), Some(("op-1/built", "far more than twenty bytes".into())));
}

pub(crate) async fn signals_of_a_sender_at_the_same_moment_stay_within_the_limit(store: &dyn FullStore) {
    joined(store).await;
    let keys: Vec<String> = (0..40).map(|n| format!("op-1/{n}")).collect();
    let all = join_all(keys.iter().map(|key| limited(store, key, "1"))).await;
    assert_eq!(all.iter().filter(|receipt| **receipt == Receipt::Woke(0)).count(), 3, "{all:?}");
}

/// Many rounds, because two processes meet at the rows only sometimes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_processes_that_signal_for_one_sender_stay_within_its_limit() {
    let url = new_database();
    let stores = [open(&url).await, open(&url).await, open(&url).await];
    for round in 0..20 {
        let keys: Vec<String> = (0..12).map(|n| format!("op-{round}/{n}")).collect();
        let sent = keys.iter().enumerate().map(|(n, key)| limited(&*stores[n % 3], key, "1"));
        let receipts = join_all(sent).await;
        let taken = receipts.iter().filter(|receipt| **receipt == Receipt::Woke(0)).count();
        assert_eq!(taken, 3, "{receipts:?}");
    }
}
