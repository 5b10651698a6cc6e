//! Short words for what most cases do.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use engine::store::{
    Append, Claimed, ControlRequest, Create, Finish, Idempotency, OperationDetail, Ownership, Park, Receipt,
    Store, StoreError, Write,
};
use engine::{Body, Changes, Event, NodeId, OperationId, Phase, PhaseVerb, Timestamp};
use uuid::Uuid;

pub(crate) const LEASE: Duration = Duration::from_secs(60);
/// When everything is due, also what was freed by the database's clock.
pub(crate) const LATE: Timestamp = Timestamp(4_000_000_000_000_000);

/// This many seconds into the test, long before the database's clock.
pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp(1_700_000_000_000_000 + second * 1_000_000)
}

static COUNT: AtomicU64 = AtomicU64::new(1);

/// A new id, greater than all before it.
pub(crate) fn new_id() -> OperationId {
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    let first = OperationId::first_at(Timestamp(at(0).0 + i64::try_from(n).unwrap() * 1000));
    let spread = u128::from(n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 16);
    OperationId(Uuid::from_u128(first.0.as_u128() | spread))
}

pub(crate) fn new_node() -> NodeId {
    NodeId(new_id().0)
}

pub(crate) async fn joined(store: &dyn Store) -> NodeId {
    let node = new_node();
    store.join(node, None, LEASE).await.unwrap();
    node
}

pub(crate) fn event(seq: u32, body: Body) -> Event {
    Event { seq, at: at(i64::from(seq)), body }
}

pub(crate) fn stepped(seq: u32) -> Event {
    event(seq, Body::Stepped { changes: Changes::default(), started: Some(format!("step {seq}")) })
}

/// An operation without a resource, a key or an owner.
pub(crate) fn plain(tenant: &str) -> Create {
    let id = new_id();
    Create {
        name: None,
        id,
        workflow: "launch".into(),
        tenant: tenant.into(),
        resource: None,
        params: r#"{"size":3}"#.into(),
        created_at: at(0),
        deadline_at: at(1000),
        owner: None,
        event: event(1, Body::Created { by: "test".into(), started: None, made_by: None }),
        idempotency: None,
        queue: false,
        subject: None,
        beside: None,
        supersedes: None,
    }
}

pub(crate) fn owned(node: NodeId) -> Create {
    Create { owner: Some(node), ..plain("acme") }
}

pub(crate) fn on(resource: &str, create: Create) -> Create {
    Create { resource: Some(resource.into()), ..create }
}

pub(crate) fn keyed(key: &str, digest: &str, create: Create) -> Create {
    let same = Idempotency { scope: "caller".into(), key: key.into(), digest: digest.into() };
    Create { idempotency: Some(same), ..create }
}

pub(crate) async fn create(store: &dyn Store, create: Create) -> Receipt {
    store.commit(Write::Create(Box::new(create))).await.unwrap()
}

/// An operation that is owned from the beginning.
pub(crate) async fn running(store: &dyn Store, node: NodeId) -> Ownership {
    start(store, node, owned(node)).await
}

pub(crate) async fn start(store: &dyn Store, node: NodeId, new: Create) -> Ownership {
    let id = new.id;
    let new = Create { owner: Some(node), ..new };
    assert_eq!(create(store, new).await, Receipt::Saved);
    Ownership { id, node, epoch: 1 }
}

pub(crate) fn append_of(id: OperationId, event: Event) -> Write {
    Write::Append(Append {
        id,
        event: event.into(),
        phase: None,
        processed: None,
        consumes: None,
        record_update: None,
    })
}

pub(crate) async fn append(store: &dyn Store, id: OperationId, seq: u32) -> Result<Receipt, StoreError> {
    store.commit(append_of(id, stepped(seq))).await
}

/// A park that waits until second 50 and says nothing.
pub(crate) fn park_of(hold: Ownership) -> Park {
    Park {
        hold,
        event: None,
        phase: Phase::Waiting,
        at: at(40),
        due_at: Some(at(50)),
        key: None,
        step: None,
        reason: None,
        memory: None,
        processed: 0,
        not_before: None,
        record_update: None,
    }
}

pub(crate) async fn park(store: &dyn Store, park: Park) -> Result<Receipt, StoreError> {
    store.commit(Write::Park(Box::new(park))).await
}

pub(crate) fn finish_of(hold: Ownership, seq: u32) -> Finish {
    Finish {
        hold,
        event: Some(stepped(seq)),
        phase: Phase::Succeeded,
        cause: None,
        at: at(100),
        memory: r#"{"facts":{}}"#.into(),
        seq,
        settles: None,
        record_update: None,
    }
}

pub(crate) async fn finish(store: &dyn Store, finish: Finish) -> Result<Receipt, StoreError> {
    store.commit(Write::Finish(Box::new(finish))).await
}

pub(crate) fn control_of(verb: PhaseVerb, second: i64) -> ControlRequest {
    ControlRequest { verb, by: "operator".into(), reason: "a reason".into(), at: at(second), number: 0 }
}

/// The same without the number, which differs between stores.
pub(crate) fn unnumbered(control: ControlRequest) -> ControlRequest {
    ControlRequest { number: 0, ..control }
}

/// What a heartbeat brings.
pub(crate) async fn requests(store: &dyn Store, node: NodeId) -> Vec<(OperationId, ControlRequest)> {
    let found = store.heartbeat(node, LEASE).await.unwrap();
    found.into_iter().map(|(id, control)| (id, unnumbered(control))).collect()
}

/// The number of the only control request for operations of this node.
pub(crate) async fn request_number(store: &dyn Store, node: NodeId) -> i64 {
    let found = store.heartbeat(node, LEASE).await.unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].1.number
}

pub(crate) async fn control(store: &dyn Store, id: OperationId, verb: PhaseVerb, second: i64) -> Receipt {
    store.commit(Write::Wish { id, control: control_of(verb, second) }).await.unwrap()
}

pub(crate) async fn signal(store: &dyn Store, key: &str, payload: i64, second: i64) -> Receipt {
    let (key, payload) = (key.into(), payload.into());
    store.commit(Write::Signal { key, payload, at: at(second), limit: None }).await.unwrap()
}

pub(crate) async fn claim(store: &dyn Store, node: NodeId, now: Timestamp) -> Vec<Claimed> {
    store.claim(node, now, 1000).await.unwrap().operations
}

/// Claims at a moment when exactly one operation is due.
pub(crate) async fn claim_one(store: &dyn Store, node: NodeId, now: Timestamp) -> Claimed {
    let mut found = claim(store, node, now).await;
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

pub(crate) fn hold_of(claimed: &Claimed, node: NodeId) -> Ownership {
    Ownership { id: claimed.id, node, epoch: claimed.epoch }
}

pub(crate) async fn show(store: &dyn Store, id: OperationId) -> OperationDetail {
    store.show(id).await.unwrap().unwrap()
}

pub(crate) async fn phase(store: &dyn Store, id: OperationId) -> Phase {
    show(store, id).await.summary.phase
}

pub(crate) async fn numbers(store: &dyn Store, id: OperationId) -> Vec<u32> {
    store.journal(id, 0, 1000).await.unwrap().iter().map(|event| event.seq).collect()
}
