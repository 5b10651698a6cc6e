use engine::store::{Append, ControlRequest, Create, Finish, Ownership, Park, Receipt, Write};
use engine::{OperationId, Phase, PhaseVerb, Timestamp, Turn};

use crate::fixture::*;
use crate::store_fixture::FullStore;

const VERBS: [PhaseVerb; 4] = [PhaseVerb::Cancel, PhaseVerb::Pause, PhaseVerb::Resume, PhaseVerb::Retry];

/// An operation in this phase that no node owns.
async fn in_phase(store: &dyn FullStore, wanted: Phase) -> OperationId {
    let hold = running(store, new_node()).await;
    if wanted.is_final() {
        finish(store, Finish { phase: wanted, ..finish_of(hold, 2) }).await.unwrap();
    } else {
        park(store, Park { phase: wanted, due_at: None, ..park_of(hold) }).await.unwrap();
    }
    hold.id
}

pub(crate) async fn each_verb_in_each_phase_is_answered_as_the_phase_says(store: &dyn FullStore) {
    for before in Phase::ALL {
        for verb in VERBS {
            let id = in_phase(store, before).await;
            let receipt = control(store, id, verb, 60).await;
            let summary = show(store, id).await.summary;
            if before.allows(verb) {
                assert_eq!(receipt, Receipt::Saved, "{verb} when {before}");
                assert_eq!(summary.control, Some(control_of(verb, 60)), "{verb} when {before}");
                assert_eq!(summary.due_at, Some(at(60)), "{verb} when {before}");
                let after = if before.is_final() { before.after(Turn::Revived).unwrap() } else { before };
                assert_eq!(summary.phase, after);
            } else {
                assert_eq!(receipt, Receipt::NotNow(before), "{verb} when {before}");
                assert_eq!((summary.phase, summary.control, summary.due_at), (before, None, None));
            }
        }
    }
}

pub(crate) async fn a_control_for_nothing_is_answered(store: &dyn FullStore) {
    assert_eq!(control(store, new_id(), PhaseVerb::Cancel, 1).await, Receipt::NoSuchOperation);
}

pub(crate) async fn a_control_for_a_running_operation_comes_with_the_heartbeat(store: &dyn FullStore) {
    let node = joined(store).await;
    let (hold, other) = (running(store, node).await, running(store, node).await);
    assert_eq!(requests(store, node).await, []);
    assert_eq!(control(store, hold.id, PhaseVerb::Cancel, 5).await, Receipt::Saved);
    assert_eq!(show(store, hold.id).await.summary.due_at, None, "its owner goes on");
    assert_eq!(requests(store, node).await, [(hold.id, control_of(PhaseVerb::Cancel, 5))]);
    assert_eq!(control(store, hold.id, PhaseVerb::Pause, 6).await, Receipt::Saved);
    assert_eq!(requests(store, node).await, [(hold.id, control_of(PhaseVerb::Pause, 6))]);
    let processed = request_number(store, node).await;
    park(store, Park { processed, ..park_of(hold) }).await.unwrap();
    assert_eq!(requests(store, node).await, []);
    assert_eq!(show(store, other.id).await.summary.control, None);
}

pub(crate) async fn a_control_wakes_what_is_put_down(store: &dyn FullStore) {
    let node = joined(store).await;
    let hold = running(store, node).await;
    park(store, park_of(hold)).await.unwrap();
    assert_eq!(control(store, hold.id, PhaseVerb::Cancel, 5).await, Receipt::Saved);
    let claimed = claim_one(store, node, at(5)).await;
    let number = request_number(store, node).await;
    assert_eq!(claimed.control, Some(ControlRequest { number, ..control_of(PhaseVerb::Cancel, 5) }));
}

pub(crate) async fn a_control_that_was_not_heard_survives_the_park(store: &dyn FullStore) {
    let node = joined(store).await;
    for is_first in [true, false] {
        let hold = running(store, node).await;
        let mut processed = 0;
        if !is_first {
            control(store, hold.id, PhaseVerb::Pause, 5).await;
            processed = request_number(store, node).await;
        }
        control(store, hold.id, PhaseVerb::Cancel, 5).await;
        park(store, Park { processed, phase: Phase::Paused, due_at: None, ..park_of(hold) }).await.unwrap();
        let summary = show(store, hold.id).await.summary;
        assert_eq!((summary.due_at, summary.control), (Some(at(5)), Some(control_of(PhaseVerb::Cancel, 5))));
        let claimed = claim_one(store, node, at(5)).await;
        assert_eq!(claimed.control.clone().map(unnumbered), Some(control_of(PhaseVerb::Cancel, 5)));
        finish(store, finish_of(hold_of(&claimed, node), 2)).await.unwrap();
    }
}

pub(crate) async fn a_control_that_was_heard_does_not_wake(store: &dyn FullStore) {
    let node = joined(store).await;
    let hold = running(store, node).await;
    control(store, hold.id, PhaseVerb::Pause, 5).await;
    let processed = request_number(store, node).await;
    let parking = Park { processed, phase: Phase::Paused, due_at: None, ..park_of(hold) };
    park(store, parking).await.unwrap();
    let summary = show(store, hold.id).await.summary;
    assert_eq!((summary.phase, summary.due_at, summary.control), (Phase::Paused, None, None));
    assert!(claim(store, node, LATE).await.is_empty());
}

/// Two replicas whose clocks are a minute apart: the one that is behind takes the later request.
pub(crate) async fn a_later_request_counts_although_its_clock_is_behind(store: &dyn FullStore) {
    let node = joined(store).await;
    let hold = running(store, node).await;
    control(store, hold.id, PhaseVerb::Pause, 65).await;
    let processed = request_number(store, node).await;
    park(store, Park { processed, phase: Phase::Paused, due_at: None, ..park_of(hold) }).await.unwrap();
    control(store, hold.id, PhaseVerb::Resume, 5).await;
    let claimed = claim_one(store, node, at(5)).await;
    assert!(
        claimed
            .control
            .is_some_and(|control| control.verb == PhaseVerb::Resume && control.number > processed)
    );
}

/// Also for requests that two replicas took in the same microsecond.
pub(crate) async fn two_requests_of_one_moment_are_two(store: &dyn FullStore) {
    let node = joined(store).await;
    let hold = running(store, node).await;
    control(store, hold.id, PhaseVerb::Pause, 5).await;
    let processed = request_number(store, node).await;
    control(store, hold.id, PhaseVerb::Pause, 5).await;
    assert!(request_number(store, node).await > processed);
    park(store, Park { processed, ..park_of(hold) }).await.unwrap();
    assert_eq!(show(store, hold.id).await.summary.due_at, Some(at(5)), "the second one was not heard");
}

pub(crate) async fn a_request_that_is_dropped_is_cleared(store: &dyn FullStore) {
    let node = joined(store).await;
    let hold = running(store, node).await;
    control(store, hold.id, PhaseVerb::Pause, 5).await;
    let processed = request_number(store, node).await + 1;
    park(store, Park { processed, ..park_of(hold) }).await.unwrap();
    let summary = show(store, hold.id).await.summary;
    assert_eq!(
        (summary.due_at, summary.control),
        (Some(at(50)), None),
        "it would wake the operation for ever"
    );
}

pub(crate) async fn an_event_clears_the_request_that_it_deals_with(store: &dyn FullStore) {
    let node = joined(store).await;
    let (hold, other) = (running(store, node).await, running(store, node).await);
    let dealt = |id, processed| Append {
        id,
        event: stepped(2).into(),
        phase: Some(Phase::Undoing),
        processed: Some(processed),
        consumes: None,
        record_update: None,
    };
    control(store, hold.id, PhaseVerb::Cancel, 5).await;
    let processed = request_number(store, node).await;
    store.commit(Write::Append(dealt(hold.id, processed))).await.unwrap();
    let summary = show(store, hold.id).await.summary;
    assert_eq!((summary.phase, summary.control), (Phase::Undoing, None));
    control(store, other.id, PhaseVerb::Cancel, 5).await;
    store.commit(Write::Append(dealt(other.id, processed))).await.unwrap();
    assert_eq!(
        show(store, other.id).await.summary.control,
        Some(control_of(PhaseVerb::Cancel, 5)),
        "it came later"
    );
}

pub(crate) async fn numbers_go_on_when_an_operation_begins_again(store: &dyn FullStore) {
    let node = joined(store).await;
    let hold = running(store, node).await;
    control(store, hold.id, PhaseVerb::Pause, 5).await;
    let before = request_number(store, node).await;
    finish(store, Finish { phase: Phase::Failed, ..finish_of(hold, 2) }).await.unwrap();
    control(store, hold.id, PhaseVerb::Retry, 5).await;
    assert!(claim_one(store, node, at(5)).await.control.is_some_and(|control| control.number > before));
}

pub(crate) async fn what_wakes_at_once_does_not_wake_before_its_time(store: &dyn FullStore) {
    let node = joined(store).await;
    let (asked, signalled) = (running(store, node).await, running(store, node).await);
    control(store, asked.id, PhaseVerb::Cancel, 5).await;
    signal(store, "built", 7, 5).await;
    for (hold, key) in [(asked, None), (signalled, Some("built".to_owned()))] {
        park(store, Park { key, not_before: Some(at(20)), ..park_of(hold) }).await.unwrap();
        assert_eq!(show(store, hold.id).await.summary.due_at, Some(at(20)));
    }
}

/// One operation that has the resource, and two that queue for it.
async fn queue(store: &dyn FullStore) -> (Ownership, OperationId, OperationId) {
    let node = joined(store).await;
    let hold = start(store, node, on("vm-1", owned(node))).await;
    let (second, third) = (on("vm-1", plain("acme")), on("vm-1", plain("acme")));
    for waiting in [&second, &third] {
        assert_eq!(create(store, Create { queue: true, ..waiting.clone() }).await, Receipt::Saved);
    }
    (hold, second.id, third.id)
}

pub(crate) async fn a_cancelled_operation_leaves_the_queue(store: &dyn FullStore) {
    let (hold, second, third) = queue(store).await;
    assert_eq!(control(store, second, PhaseVerb::Cancel, 5).await, Receipt::Saved);
    let summary = show(store, second).await.summary;
    assert_eq!((summary.resource, summary.due_at), (None, Some(at(5))));
    let claimed = claim_one(store, hold.node, LATE).await;
    assert_eq!(
        (claimed.id, claimed.control.map(unnumbered)),
        (second, Some(control_of(PhaseVerb::Cancel, 5)))
    );
    finish(store, finish_of(hold, 2)).await.unwrap();
    assert_eq!(claim_one(store, hold.node, LATE).await.id, third);
}

pub(crate) async fn a_paused_operation_stays_in_the_queue(store: &dyn FullStore) {
    let (hold, second, third) = queue(store).await;
    assert_eq!(control(store, second, PhaseVerb::Pause, 5).await, Receipt::Saved);
    assert_eq!(show(store, second).await.summary.due_at, None);
    assert!(claim(store, hold.node, LATE).await.is_empty());
    finish(store, finish_of(hold, 2)).await.unwrap();
    let claimed = claim_one(store, hold.node, LATE).await;
    assert_eq!(
        (claimed.id, claimed.control.map(unnumbered)),
        (second, Some(control_of(PhaseVerb::Pause, 5)))
    );
    assert_eq!(show(store, third).await.summary.due_at, None);
}

pub(crate) async fn a_finished_operation_begins_again_with_all_its_time(store: &dyn FullStore) {
    let node = joined(store).await;
    let hold = start(store, node, on("vm-1", owned(node))).await;
    let ending = Finish { phase: Phase::Undone, cause: Some("no image".into()), ..finish_of(hold, 2) };
    finish(store, ending).await.unwrap();
    assert_eq!(control(store, hold.id, PhaseVerb::Retry, 5000).await, Receipt::Saved);
    let shown = show(store, hold.id).await;
    let summary = shown.summary;
    assert_eq!((summary.phase, summary.finished_at, summary.reason), (Phase::Pending, None, None));
    assert_eq!((summary.created_at, summary.deadline_at), (at(0), at(6000)));
    assert_eq!((summary.due_at, summary.owner), (Some(at(5000)), None));
    assert_eq!(shown.memory_seq, 2);
    let claimed = claim_one(store, node, LATE).await;
    assert_eq!((claimed.epoch, claimed.seq, claimed.orphaned), (3, 2, false));
    assert_eq!(claimed.memory.as_deref(), Some(r#"{"facts":{}}"#));
    assert_eq!(claimed.control.clone().map(unnumbered), Some(control_of(PhaseVerb::Retry, 5000)));
    // It has its resource again, and ends like any other.
    assert_eq!(create(store, on("vm-1", plain("acme"))).await, Receipt::Busy(hold.id));
    finish(store, finish_of(hold_of(&claimed, node), 3)).await.unwrap();
    assert_eq!(phase(store, hold.id).await, Phase::Succeeded);
    assert_eq!(control(store, hold.id, PhaseVerb::Retry, 5001).await, Receipt::NotNow(Phase::Succeeded));
}

pub(crate) async fn a_finished_operation_does_not_begin_again_on_a_busy_resource(store: &dyn FullStore) {
    let node = joined(store).await;
    let hold = start(store, node, on("vm-1", owned(node))).await;
    finish(store, Finish { phase: Phase::Failed, ..finish_of(hold, 2) }).await.unwrap();
    let next = start(store, node, on("vm-1", owned(node))).await;
    assert_eq!(control(store, hold.id, PhaseVerb::Retry, 5).await, Receipt::Busy(next.id));
    assert_eq!(phase(store, hold.id).await, Phase::Failed);
    finish(store, finish_of(next, 2)).await.unwrap();
    assert_eq!(control(store, hold.id, PhaseVerb::Retry, 6).await, Receipt::Saved);
}

pub(crate) async fn controls_and_parks_at_the_same_moment_lose_nothing(store: &dyn FullStore) {
    let node = joined(store).await;
    let round = async |_| {
        let hold = running(store, node).await;
        let asked = store.commit(Write::Wish { id: hold.id, control: control_of(PhaseVerb::Cancel, 5) });
        let (parked, asked) = tokio::join!(park(store, park_of(hold)), asked);
        assert_eq!((parked.unwrap(), asked.unwrap()), (Receipt::Saved, Receipt::Saved));
        hold.id
    };
    let ids = futures_util::future::join_all((0..100).map(round)).await;
    let woken: Vec<OperationId> = claim(store, node, at(5)).await.iter().map(|claimed| claimed.id).collect();
    for id in ids {
        assert!(
            woken.contains(&id),
            "{id} waits until {:?}",
            show(store, id).await.summary.due_at.map(Timestamp::millis)
        );
    }
}
