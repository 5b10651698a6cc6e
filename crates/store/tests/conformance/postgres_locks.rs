//! A transaction outside the engine holds a row in a transaction, for as long as it likes: a person in `psql`, or a
//! process that was stopped in the middle of a commit. Everything else goes on.

use std::sync::Arc;
use std::time::Duration;

use engine::secret::{KeyRing, SharedRing};
use engine::store::{Create, Expect, Finish, Park, Receipt, ResourceQuery, Store, StoreError, Write};
use engine::{Engine, NodeId, OperationId, Phase, PhaseVerb, Settings, WallClock};
use futures_util::future::{FutureExt, join_all};
use store::PostgresStore;
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::*;
use crate::postgres_only::{LONG, open, raw_client};
use crate::resources::{record_update, resource_write};
use crate::store_fixture::new_database;

/// Nothing that does not need the row waits as long as this, also on a busy machine. What waits for a row gives
/// up only later, after ten seconds.
const SOON: Duration = Duration::from_secs(5);

/// Holds rows until it is dropped.
struct HeldLock {
    _client: Client,
}

async fn hold(url: &str, rows: &str) -> HeldLock {
    let client = raw_client(url).await;
    client.batch_execute("begin").await.unwrap();
    let found = client.query(&format!("select 1 from {rows} for update"), &[]).await.unwrap();
    assert!(!found.is_empty(), "nothing is held by {rows}");
    HeldLock { _client: client }
}

async fn expire(url: &str, node: Uuid) {
    let raw = raw_client(url).await;
    raw.execute("update nodes set lease_until = 1 where id = $1", &[&node]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_held_operation_of_a_dead_node_costs_no_one_a_lease() {
    let url = new_database();
    let store = open(&url).await;
    let (dead, alive) = (joined(&*store).await, joined(&*store).await);
    let (held, other) = (running(&*store, dead).await, running(&*store, dead).await);
    let lock = hold(&url, &format!("operations where id = '{}'", held.id.0)).await;
    expire(&url, dead.0).await;
    timeout(SOON, store.heartbeat(alive, LEASE)).await.expect("the lease was not renewed").unwrap();
    assert_eq!(claim_one(&*store, alive, LATE).await.id, other.id);
    drop(lock);
    let freed = async {
        while claim(&*store, alive, LATE).await.is_empty() {
            store.heartbeat(alive, LEASE).await.unwrap();
        }
    };
    timeout(LONG, freed).await.expect("what was held is freed later");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_held_node_costs_only_that_node_its_lease() {
    let url = new_database();
    let store = open(&url).await;
    let [dead, held, alive] = [joined(&*store).await, joined(&*store).await, joined(&*store).await];
    let orphan = running(&*store, dead).await;
    let _lock = hold(&url, &format!("nodes where id = '{}'", held.0)).await;
    let refused = timeout(SOON, store.heartbeat(held, LEASE)).await.expect("it waits for its row");
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    expire(&url, dead.0).await;
    timeout(SOON, store.heartbeat(alive, LEASE)).await.expect("the lease was not renewed").unwrap();
    assert_eq!(claim_one(&*store, alive, LATE).await.id, orphan.id);
    let (leaving, newcomer) = (store.leave(held), new_node());
    timeout(SOON, leaving).await.expect("leaving waits for the row").unwrap();
    timeout(SOON, store.join(newcomer, Some(held), LEASE)).await.expect("joining waits for the row").unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_passes_by_what_is_held() {
    let url = new_database();
    let store = open(&url).await;
    let node = joined(&*store).await;
    let (held, free) = (plain("acme"), plain("acme"));
    let later = Create { created_at: at(500), ..plain("acme") };
    for new in [&held, &free, &later] {
        create(&*store, new.clone()).await;
    }
    let lock = hold(&url, &format!("operations where id = '{}'", held.id.0)).await;
    let claims = timeout(SOON, store.claim(node, at(10), 10)).await.unwrap().unwrap();
    assert_eq!(claims.operations.iter().map(|claimed| claimed.id).collect::<Vec<_>>(), [free.id]);
    let claims = timeout(SOON, store.claim(node, at(10), 10)).await.unwrap().unwrap();
    assert!(claims.operations.is_empty());
    assert_eq!(claims.next_due, Some(at(500)), "a node that waits for a held resource claims again at once");
    drop(lock);
    let freed = async { while claim(&*store, node, at(10)).await.is_empty() {} };
    timeout(LONG, freed).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_passes_by_what_is_held_and_says_so() {
    let url = new_database();
    let store = open(&url).await;
    let node = joined(&*store).await;
    let (held, free) = (running(&*store, node).await, running(&*store, node).await);
    let lock = hold(&url, &format!("operations where id = '{}'", held.id.0)).await;
    let released = timeout(SOON, store.release(node, &[held.id, free.id])).await.unwrap();
    assert!(matches!(released, Err(StoreError::Unavailable(_))), "{released:?}");
    assert_eq!(show(&*store, free.id).await.summary.owner, None);
    assert_eq!(show(&*store, held.id).await.summary.owner, Some(node));
    drop(lock);
    let freed = async { while store.release(node, &[held.id]).await.is_err() {} };
    timeout(LONG, freed).await.unwrap();
    assert_eq!(show(&*store, held.id).await.summary.owner, None);
}

/// One thing of each kind that a transaction can hold, and a user who wants to write it.
struct LockKind {
    what: &'static str,
    rows: String,
    write: Option<Write>,
}

async fn one_of_each(store: &PostgresStore, node: NodeId) -> Vec<LockKind> {
    let running = running(store, node).await;
    let due = plain("acme");
    create(store, due.clone()).await;
    let finished = start(store, node, keyed("held", "digest", on("ended", owned(node)))).await;
    finish(store, Finish { phase: Phase::Failed, ..finish_of(finished, 2) }).await.unwrap();
    signal(store, "held", 1, 5).await;
    let record = |expect| resource_write("held", expect, Some(record_update("held", &[])));
    store.commit(Write::Resource(Box::new(record(Expect::Absent)))).await.unwrap();
    let queued = Create { queue: true, ..on("queue", plain("acme")) };
    start(store, node, on("queue", owned(node))).await;
    create(store, queued.clone()).await;
    let operation = |id: OperationId| format!("operations where id = '{}'", id.0);
    let asks = |id, verb| Some(Write::Wish { id, control: control_of(verb, 5) });
    let kind = |what, rows, write| LockKind { what, rows, write };
    let parks = Some(Write::Park(Box::new(park_of(running))));
    let signals = Some(Write::Signal { key: "held".into(), payload: 2.into(), at: at(6), limit: None });
    let repeats = Some(Write::Create(Box::new(keyed("held", "digest", owned(node)))));
    let changes = Some(Write::Resource(Box::new(record(Expect::Version(1)))));
    let journal = format!("journal where operation = '{}'", due.id.0);
    vec![
        kind("a running operation", operation(running.id), parks),
        kind("an operation that is due", operation(due.id), asks(due.id, PhaseVerb::Cancel)),
        kind("an operation that queues", operation(queued.id), asks(queued.id, PhaseVerb::Cancel)),
        kind(
            "a finished operation",
            format!("archive where id = '{}'", finished.id.0),
            asks(finished.id, PhaseVerb::Retry),
        ),
        kind("a line of the journal", journal, Some(append_of(due.id, stepped(2)))),
        kind("a signal", "signals where key = 'held'".to_owned(), signals),
        kind("a record", "resources where name = 'held'".to_owned(), changes),
        kind("an idempotency key", "idempotency where key = 'held'".to_owned(), repeats),
        kind("a node", format!("nodes where id = '{}'", joined(store).await.0), None),
    ]
}

/// All that a replica does, with other rows.
async fn everything_else(store: &PostgresStore, node: NodeId) {
    let name = format!("vm-{}", new_id().0);
    store.heartbeat(node, LEASE).await.unwrap();
    let new = keyed(&name, "digest", on(&name, owned(node)));
    let hold = start(store, node, new).await;
    append(store, hold.id, 2).await.unwrap();
    assert_eq!(control(store, hold.id, PhaseVerb::Pause, 5).await, Receipt::Saved);
    park(store, Park { key: Some(name.clone()), ..park_of(hold) }).await.unwrap();
    signal(store, &name, 1, 5).await;
    let mut claimed = claim(store, node, at(5)).await;
    claimed.retain(|claimed| claimed.id == hold.id);
    finish(store, finish_of(hold_of(&claimed[0], node), 3)).await.unwrap();
    let record = resource_write(&name, Expect::Absent, Some(record_update(&name, &[])));
    store.commit(Write::Resource(Box::new(record))).await.unwrap();
    let page = ResourceQuery { kind: "runtime".into(), limit: 10, ..Default::default() };
    store.resources(&page).await.unwrap();
    store.show(hold.id).await.unwrap();
    store.stats(at(5)).await.unwrap();
    store.prune(at(-1000)).await.unwrap();
    store.ping().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_held_everything_else_goes_on() {
    let url = new_database();
    let store = open(&url).await;
    let node = joined(&*store).await;
    for LockKind { what, rows, write } in one_of_each(&store, node).await {
        let lock = hold(&url, &rows).await;
        // The transaction that wants the row is in the queue of a committer before anything else is.
        let mut writer = write.map(|write| store.commit(write));
        let written = writer.as_mut().and_then(FutureExt::now_or_never);
        assert_eq!(written, None);
        let rest = timeout(SOON, everything_else(&store, node)).await;
        rest.unwrap_or_else(|_| panic!("something else waits while {what} is held"));
        drop(lock);
        if let Some(writer) = writer {
            let written = timeout(LONG, writer).await.expect("the row is free");
            assert!(written.is_ok(), "{what}: {written:?}");
        }
    }
}

/// Those who need the row wait for it, in a queue of their own, and get it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_wait_for_what_is_held_and_no_one_waits_with_them() {
    let url = new_database();
    let store = open(&url).await;
    let node = joined(&*store).await;
    let holds = join_all((0..200).map(|_| running(&*store, node))).await;
    let lock = hold(&url, &format!("operations where id = '{}'", holds[77].id.0)).await;
    let writes = holds.iter().map(|hold| park(&*store, Park { event: Some(stepped(2)), ..park_of(*hold) }));
    let mut writes: Vec<_> = writes.map(Box::pin).collect();
    let waiting = writes.remove(77);
    let request = control(&*store, holds[77].id, PhaseVerb::Cancel, 5);
    let others = async {
        let began = Instant::now();
        assert!(join_all(writes).await.iter().all(Result::is_ok));
        assert!(began.elapsed() < SOON, "the others waited for {:?}", began.elapsed());
        everything_else(&store, node).await;
        drop(lock);
    };
    let (waited, request, ()) = tokio::join!(waiting, request, others);
    assert_eq!((waited, request), (Ok(Receipt::Saved), Receipt::Saved));
    assert_eq!(show(&*store, holds[77].id).await.summary.due_at, Some(at(5)));
}

/// An idle engine looks for work a few times in a second. It does not ask more often because a transaction holds an
/// operation that is due.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_does_not_spin_on_what_is_held() {
    let url = new_database();
    let store = open(&url).await;
    let held = plain("acme");
    create(&*store, held.clone()).await;
    let lock = hold(&url, &format!("operations where id = '{}'", held.id.0)).await;
    let ring = SharedRing::new(KeyRing::generate());
    let builder = Engine::builder(Arc::clone(&store) as Arc<dyn Store>, Arc::new(WallClock), ring);
    let engine = builder.settings(Settings::default()).build();
    engine.start(None).await.unwrap();
    let raw = raw_client(&url).await;
    let transactions = async || {
        let count = "select xact_commit + xact_rollback from pg_stat_database
            where datname = current_database()";
        raw.query_one(count, &[]).await.unwrap().get::<_, i64>(0)
    };
    // A server counts what a connection did with a delay of about a second.
    sleep(Duration::from_secs(2)).await;
    let before = transactions().await;
    sleep(Duration::from_secs(5)).await;
    let made = transactions().await - before;
    assert!(made < 200, "{made} transactions in 5 seconds");
    drop(lock);
    let set_aside = async { while show(&*store, held.id).await.summary.reason.is_none() {} };
    timeout(LONG, set_aside).await.expect("it is claimed when it is free");
    engine.stop(Duration::ZERO).await;
}
