use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use engine::store::{Create, Park, Receipt, SavedReader, SealedColumn, Store, StoreError, Write};
use engine::{Phase, PhaseVerb};
use futures_util::future::join_all;
use store::{PostgresReader, PostgresStore};
use tokio::time::{sleep, timeout};
use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

use crate::crowd::{finishes_meet_cancels, finishes_meet_creates};
use crate::fixture::*;
use crate::store_fixture::{COMMITTERS, new_database};
use crate::superseding::ends_meet_successors;

pub(crate) const LONG: Duration = Duration::from_secs(30);

/// A connection of a test's own, past the store.
pub(crate) async fn raw_client(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

pub(crate) async fn open(url: &str) -> Arc<PostgresStore> {
    PostgresStore::connect(url, COMMITTERS).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_that_the_database_cannot_hold_harms_no_one_else() {
    let store = open(&new_database()).await;
    let node = joined(&*store).await;
    let holds = join_all((0..200).map(|_| running(&*store, node))).await;
    let writes = holds.iter().enumerate().map(async |(n, hold)| {
        let reason = Some(if n == 99 { "no\0good" } else { "good" }.to_owned());
        park(&*store, Park { reason, event: Some(stepped(2)), ..park_of(*hold) }).await
    });
    for (n, answer) in join_all(writes).await.into_iter().enumerate() {
        match answer {
            Err(StoreError::Refused(_)) => assert_eq!(n, 99),
            answer => assert_eq!((answer, n == 99), (Ok(Receipt::Saved), false)),
        }
    }
    assert_eq!(numbers(&*store, holds[98].id).await, [1, 2]);
    assert_eq!(numbers(&*store, holds[99].id).await, [1], "nothing of it is there");
    let new = Create { params: "\0".into(), ..plain("acme") };
    let refused = store.commit(Write::Create(Box::new(new))).await;
    assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
    let refused =
        store.commit(Write::Signal { key: "\0".into(), payload: 1.into(), at: at(1), limit: None }).await;
    assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_never_claim_the_same() {
    let url = new_database();
    let (one, two) = (open(&url).await, open(&url).await);
    let (first, second) = (joined(&*one).await, joined(&*two).await);
    join_all((0..400).map(|n| create(&*one, plain(["acme", "beta"][n % 2])))).await;
    let take = async |store: &PostgresStore, node| {
        let mut taken = Vec::new();
        loop {
            let claims = store.claim(node, LATE, 13).await.unwrap();
            taken.extend(claims.operations.iter().map(|claimed| claimed.id));
            if claims.operations.is_empty() && claims.next_due.is_none() {
                return taken;
            }
        }
    };
    let (mine, yours) = tokio::join!(take(&one, first), take(&two, second));
    assert_eq!(mine.len() + yours.len(), 400);
    assert_eq!(mine.iter().chain(&yours).collect::<HashSet<_>>().len(), 400);
    for id in mine {
        assert_eq!(show(&*two, id).await.summary.owner, Some(first));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_resource_of_one_process_is_busy_for_the_other() {
    let url = new_database();
    let (one, two) = (open(&url).await, open(&url).await);
    let node = joined(&*one).await;
    for round in 0..20 {
        let name = format!("vm-{round}");
        let asked: Vec<Create> = (0..16).map(|_| keyed(&name, "digest", on(&name, owned(node)))).collect();
        let of = |n: usize| if n.is_multiple_of(2) { &*one } else { &*two };
        let receipts = join_all(asked.iter().enumerate().map(|(n, new)| create(of(n), new.clone()))).await;
        let winner = receipts.iter().position(|receipt| *receipt == Receipt::Saved).unwrap();
        for (n, receipt) in receipts.into_iter().enumerate().filter(|(n, _)| *n != winner) {
            assert_eq!(receipt, Receipt::Repeated(asked[winner].id), "{n}");
        }
        let other = create(&*two, on(&name, plain("acme"))).await;
        assert_eq!(other, Receipt::Busy(asked[winner].id));
    }
}

/// Creates, cancels and finishes of one resource meet in every order; no transaction may be left in the queue.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_one_is_forgotten_in_a_queue() {
    let url = new_database();
    let (one, two) = (open(&url).await, open(&url).await);
    let node = joined(&*one).await;
    let makers = (0..200).map(async |n: usize| {
        let store = if n.is_multiple_of(2) { &one } else { &two };
        let new = Create { queue: true, ..on(["vm-1", "vm-2"][n / 2 % 2], plain("acme")) };
        let id = new.id;
        assert_eq!(create(&**store, new).await, Receipt::Saved);
        if n.is_multiple_of(5) {
            control(&**store, id, PhaseVerb::Cancel, 5).await;
        }
    });
    let finisher = async {
        let mut done = 0;
        while done < 200 {
            for claimed in claim(&*two, node, LATE).await {
                finish(&*one, finish_of(hold_of(&claimed, node), 2)).await.unwrap();
                done += 1;
            }
        }
    };
    let all = async { tokio::join!(join_all(makers), finisher) };
    timeout(LONG, all).await.expect("an operation waits in the queue, and none holds the resource");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_one_is_forgotten_between_two_processes() {
    let url = new_database();
    let (one, two) = (open(&url).await, open(&url).await);
    finishes_meet_creates(&*one, &*two).await;
    let url = new_database();
    let (one, two) = (open(&url).await, open(&url).await);
    finishes_meet_cancels(&*one, &*two).await;
    let url = new_database();
    let (one, two) = (open(&url).await, open(&url).await);
    ends_meet_successors(&*one, &*two).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signal_to_one_process_reaches_the_wait_of_another() {
    let url = new_database();
    let (one, two) = (open(&url).await, open(&url).await);
    let node = joined(&*one).await;
    let round = async |n: usize| {
        let hold = running(&*one, node).await;
        let key = format!("key-{n}");
        let parking = park(&*one, Park { key: Some(key.clone()), ..park_of(hold) });
        let (parked, _) = tokio::join!(parking, signal(&*two, &key, 1, 5));
        parked.unwrap();
        assert_eq!(show(&*one, hold.id).await.summary.due_at, Some(at(5)), "{key} was missed");
    };
    join_all((0..300).map(round)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn others_hear_of_new_work() {
    let url = new_database();
    let (one, two) = (open(&url).await, open(&url).await);
    // Listening begins with a ring, for what was missed before.
    timeout(LONG, two.wake_up().notified()).await.unwrap();
    let node = joined(&*one).await;
    create(&*one, plain("acme")).await;
    timeout(LONG, two.wake_up().notified()).await.unwrap();
    let hold = running(&*one, node).await;
    park(&*one, Park { key: Some("k".into()), ..park_of(hold) }).await.unwrap();
    signal(&*one, "k", 1, 5).await;
    timeout(LONG, two.wake_up().notified()).await.unwrap();
    one.leave(node).await.unwrap();
    running(&*one, node).await;
    one.leave(node).await.unwrap();
    timeout(LONG, two.wake_up().notified()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_lease_frees_what_its_node_owned() {
    let url = new_database();
    let store = open(&url).await;
    let (dead, alive) = (joined(&*store).await, joined(&*store).await);
    let hold = running(&*store, dead).await;
    let mine = running(&*store, alive).await;
    assert_eq!(store.heartbeat(alive, LEASE).await, Ok(Vec::new()));
    assert_eq!(show(&*store, hold.id).await.summary.owner, Some(dead), "its lease is not over yet");
    let raw = raw_client(&url).await;
    raw.execute("update nodes set lease_until = 1 where id = $1", &[&dead.0]).await.unwrap();
    assert_eq!(store.heartbeat(alive, LEASE).await, Ok(Vec::new()));
    assert_eq!(store.heartbeat(dead, LEASE).await, Err(StoreError::Fenced));
    assert_eq!(show(&*store, mine.id).await.summary.owner, Some(alive));
    let claimed = claim_one(&*store, alive, LATE).await;
    assert_eq!((claimed.id, claimed.orphaned, claimed.seq), (hold.id, true, 2));
    assert_eq!(append(&*store, hold.id, 2).await, Err(StoreError::Fenced));

    // A user who is late but still there keeps what it has.
    raw.execute("update nodes set lease_until = 1 where id = $1", &[&alive.0]).await.unwrap();
    assert_eq!(store.heartbeat(alive, LEASE).await, Ok(Vec::new()));
    assert_eq!(show(&*store, mine.id).await.summary.owner, Some(alive));

    // What a node took in the moment of its death does not stay with it.
    let late = running(&*store, dead).await;
    store.heartbeat(alive, LEASE).await.unwrap();
    assert_eq!(claim_one(&*store, alive, LATE).await.id, late.id);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_append_and_an_adoption_never_both_win() {
    let url = new_database();
    let (one, two) = (open(&url).await, open(&url).await);
    let mut old = joined(&*one).await;
    for _ in 0..20 {
        let holds = join_all((0..20).map(|_| running(&*one, old))).await;
        let new = new_node();
        two.join(new, Some(old), LEASE).await.unwrap();
        let late = join_all(holds.iter().map(|hold| append(&*one, hold.id, 2)));
        let (late, claimed) = tokio::join!(late, claim(&*two, new, LATE));
        for claimed in claimed {
            let n = holds.iter().position(|hold| hold.id == claimed.id).unwrap();
            let expect = if late[n].is_ok() { 3 } else { 2 };
            assert_eq!(claimed.seq, expect, "{:?}", late[n]);
            assert_eq!(claimed.events.len(), expect as usize);
        }
        old = new;
        one.join(old, None, LEASE).await.unwrap();
        assert!(claim(&*two, new, LATE).await.is_empty());
        two.leave(new).await.unwrap();
        one.join(old, None, LEASE).await.unwrap();
        for claimed in claim(&*one, old, LATE).await {
            finish(&*one, finish_of(hold_of(&claimed, old), claimed.seq + 1)).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_journal_stops_only_its_own_operation() {
    let url = new_database();
    let store = open(&url).await;
    let node = joined(&*store).await;
    let (broken, whole) = (plain("acme"), plain("acme"));
    create(&*store, broken.clone()).await;
    create(&*store, whole.clone()).await;
    let raw = raw_client(&url).await;
    raw.execute("update journal set body = '{' where operation = $1", &[&broken.id.0]).await.unwrap();
    assert_eq!(claim_one(&*store, node, LATE).await.id, whole.id);
    let summary = show(&*store, broken.id).await.summary;
    assert_eq!((summary.phase, summary.owner, summary.due_at), (Phase::Stuck, None, None));
    assert!(summary.reason.unwrap().starts_with("its journal cannot be read: "));
    assert!(claim(&*store, node, LATE).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_store_closes_its_connections() {
    let url = new_database();
    let store = open(&url).await;
    let node = joined(&*store).await;
    running(&*store, node).await;
    store.ping().await.unwrap();
    drop(store);
    let raw = raw_client(&url).await;
    let gone = async {
        let count = "select count(*) from pg_stat_activity
            where application_name = 'provision-engine' and datname = current_database()";
        while raw.query_one(count, &[]).await.unwrap().get::<_, i64>(0) > 0 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LONG, gone).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_that_is_given_up_leaves_no_open_transaction() {
    let url = new_database();
    let store = open(&url).await;
    let node = joined(&*store).await;
    join_all((0..200).map(|_| create(&*store, plain("acme")))).await;
    for patience in 0..40 {
        let _ = timeout(Duration::from_micros(200 * patience), store.claim(node, LATE, 3)).await;
    }
    let mut taken = HashSet::<Uuid>::new();
    loop {
        let claims = store.claim(node, LATE, 50).await.unwrap();
        taken.extend(claims.operations.iter().map(|claimed| claimed.id.0));
        if claims.operations.is_empty() && claims.next_due.is_none() {
            break;
        }
    }
    assert!(taken.len() >= 200 - 40 * 3, "{}", taken.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_schema_is_made_once_the_one_who_asks() {
    let url = new_database();
    let all = join_all((0..6).map(|_| PostgresStore::migrate(&url))).await;
    let made: Vec<u32> = all.into_iter().flat_map(Result::unwrap).collect();
    assert_eq!(made, [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(PostgresStore::migrate(&url).await, Ok(Vec::new()));
    drop(open(&url).await);
}

/// During an upgrade a replica of an earlier release writes requests in its own way, and by its own clock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_of_an_earlier_release_gets_a_number_too() {
    let url = new_database();
    let store = open(&url).await;
    let node = joined(&*store).await;
    let hold = running(&*store, node).await;
    let raw = raw_client(&url).await;
    control(&*store, hold.id, PhaseVerb::Pause, 65).await;
    let first = request_number(&*store, node).await;
    let text = r#"{"verb":"cancel","by":"eve","reason":"","at":"2023-11-14T22:13:25Z"}"#;
    let old = "update operations set wish = $2, wish_at = $3 where id = $1";
    raw.execute(old, &[&hold.id.0, &text, &at(5).0]).await.unwrap();
    let found = store.heartbeat(node, LEASE).await.unwrap().remove(0).1;
    assert!(found.verb == PhaseVerb::Cancel && found.number > first, "{found:?} after {first}");
    park(&*store, Park { processed: first, ..park_of(hold) }).await.unwrap();
    let claimed = claim_one(&*store, node, at(5)).await;
    assert_eq!(claimed.control, Some(found.clone()), "it was not heard yet");
    // An earlier release clears what it has heard, and moves a finished operation back like this.
    let old = "update operations set wish = null, wish_at = null where id = $1";
    raw.execute(old, &[&hold.id.0]).await.unwrap();
    assert_eq!(store.heartbeat(node, LEASE).await, Ok(Vec::new()));
    let old = "insert into operations (id, workflow, tenant, params, phase, epoch, queued, orphaned, due_at,
            deadline_at, created_at, wish, wish_at, memory_seq)
        values ($1, 'launch', 'acme', '{}', 'pending', 2, false, false, $3, $3, $3, $2, $3, 0)";
    raw.execute(old, &[&new_id().0, &text, &at(5).0]).await.unwrap();
    let claimed = claim_one(&*store, node, at(5)).await;
    assert!(claimed.control.is_some_and(|control| control.number > found.number));
}

/// A replica of an earlier release names no number, and its clock may be ahead.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operation_that_an_earlier_release_queued_keeps_its_place() {
    let url = new_database();
    let store = open(&url).await;
    let node = joined(&*store).await;
    let hold = start(&*store, node, on("vm-1", owned(node))).await;
    let later = Create { queue: true, ..on("vm-1", plain("acme")) };
    let of_earlier_release = new_id();
    let raw = raw_client(&url).await;
    let old =
        "insert into operations (id, workflow, tenant, resource, params, phase, epoch, queued, orphaned,
            deadline_at, created_at, memory_seq)
        values ($1, 'launch', 'acme', 'vm-1', '{}', 'pending', 1, true, false, $2, $2, 0)";
    raw.execute(old, &[&of_earlier_release.0, &LATE.0]).await.unwrap();
    create(&*store, later).await;
    finish(&*store, finish_of(hold, 2)).await.unwrap();
    assert_eq!(claim_one(&*store, node, LATE).await.id, of_earlier_release);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_newer_schema_is_not_touched() {
    let url = new_database();
    PostgresStore::migrate(&url).await.unwrap();
    let raw = raw_client(&url).await;
    raw.execute("insert into schema_version (version) values (99)", &[]).await.unwrap();
    for refused in
        [PostgresStore::migrate(&url).await.map(drop), PostgresStore::connect(&url, 1).await.map(drop)]
    {
        let Err(StoreError::Refused(text)) = refused else { panic!("it was opened") };
        assert!(text.contains("schema version 99"), "{text}");
    }
}

/// Everything that a migration would change.
async fn schema(raw: &Client) -> Vec<String> {
    let columns = "select table_name || '.' || column_name from information_schema.columns
        where table_schema = 'public' union all select version::text from schema_version order by 1";
    raw.query(columns, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_at_an_older_database_changes_nothing_in_it() {
    let url = new_database();
    create(&*open(&url).await, plain("acme")).await;
    let raw = raw_client(&url).await;
    // As an earlier release left it.
    raw.batch_execute("drop table drafts; delete from schema_version where version > 3").await.unwrap();
    let before = schema(&raw).await;
    let reader = PostgresReader::new(&url).unwrap();
    assert_eq!(reader.unfinished(None, 10).await.unwrap().len(), 1);
    assert_eq!(reader.sealed_page(SealedColumn::Journal, "", None).await.unwrap().rows.len(), 1);
    assert_eq!(schema(&raw).await, before);
}
