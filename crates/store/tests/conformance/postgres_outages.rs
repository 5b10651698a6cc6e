use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use engine::OperationId;
use engine::store::{Store, StoreError};
use futures_util::future::join_all;
use store::PostgresStore;
use testing::private_postgres::{PrivatePostgres, PrivatePostgresOptions};
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

use crate::fixture::*;
use crate::postgres_only::{LONG, open, raw_client};
use crate::store_fixture::new_database;

const A_MOMENT: Duration = Duration::from_millis(10);

/// A user who writes one event after the other to one operation, whatever happens.
struct Scribe {
    id: OperationId,
    /// The last number that was acknowledged.
    seq: AtomicU32,
    failures: AtomicU32,
}

impl Scribe {
    async fn write(&self, store: &PostgresStore, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            match append(store, self.id, self.seq.load(Ordering::Relaxed) + 1).await {
                // Fenced: it had happened after all, and no transaction could tell us.
                Ok(_) | Err(StoreError::Fenced) => drop(self.seq.fetch_add(1, Ordering::Relaxed)),
                Err(StoreError::Unavailable(_)) => {
                    self.failures.fetch_add(1, Ordering::Relaxed);
                    sleep(A_MOMENT).await;
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// Until each of them has written a few more.
async fn progress(scribes: &[Scribe]) {
    let before: Vec<u32> = scribes.iter().map(|scribe| scribe.seq.load(Ordering::Relaxed)).collect();
    let all = async {
        for (scribe, before) in scribes.iter().zip(before) {
            while scribe.seq.load(Ordering::Relaxed) < before + 5 {
                sleep(A_MOMENT).await;
            }
        }
    };
    timeout(LONG, all).await.expect("a client does not get on");
}

async fn blocking(server: &Arc<PrivatePostgres>, work: fn(&PrivatePostgres)) {
    let server = Arc::clone(server);
    tokio::task::spawn_blocking(move || work(&server)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_crashes_and_comes_back_loses_nothing_that_was_acknowledged() {
    let options = PrivatePostgresOptions { durable: true, ..PrivatePostgresOptions::default() };
    let server = Arc::new(PrivatePostgres::start(&options).unwrap());
    let store = open(&server.url("postgres")).await;
    let node = joined(&*store).await;
    let holds = join_all((0..50).map(|_| running(&*store, node))).await;
    let scribe = |id| Scribe { id, seq: AtomicU32::new(1), failures: AtomicU32::new(0) };
    let scribes: Vec<Scribe> = holds.iter().map(|hold| scribe(hold.id)).collect();
    let stop = AtomicBool::new(false);
    let writers = join_all(scribes.iter().map(|scribe| scribe.write(&store, &stop)));
    let breaker = async {
        progress(&scribes).await;
        blocking(&server, |server| server.stop_immediate().unwrap()).await;
        let failing = [
            timeout(LONG, append(&*store, new_id(), 1)).await.unwrap().map(drop),
            store.ping().await,
            store.heartbeat(node, LEASE).await.map(drop),
            store.claim(node, LATE, 1).await.map(drop),
            store.list(&engine::store::OperationQuery::default()).await.map(drop),
        ];
        for answer in failing {
            assert!(matches!(answer, Err(StoreError::Unavailable(_))), "{answer:?}");
        }
        blocking(&server, |server| server.start_again().unwrap()).await;
        progress(&scribes).await;
        assert!(scribes.iter().any(|scribe| scribe.failures.load(Ordering::Relaxed) > 0));
        blocking(&server, |server| server.restart_immediate().unwrap()).await;
        progress(&scribes).await;
        stop.store(true, Ordering::Relaxed);
    };
    tokio::join!(writers, breaker);
    let healed = async {
        while store.ping().await.is_err() || store.heartbeat(node, LEASE).await.is_err() {
            sleep(A_MOMENT).await;
        }
    };
    timeout(LONG, healed).await.unwrap();
    for scribe in &scribes {
        let found = store.journal(scribe.id, 0, 1_000_000).await.unwrap();
        let numbers: Vec<u32> = found.iter().map(|event| event.seq).collect();
        let last = u32::try_from(numbers.len()).unwrap();
        assert!(last >= scribe.seq.load(Ordering::Relaxed), "{last}");
        assert_eq!(numbers, (1..=last).collect::<Vec<_>>());
    }
    assert_eq!(claim(&*store, node, LATE).await.len(), 0, "its lease was never over");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_connections_come_back() {
    let url = new_database();
    let store = open(&url).await;
    let node = joined(&*store).await;
    let hold = running(&*store, node).await;
    timeout(LONG, store.wake_up().notified()).await.unwrap();
    let raw = raw_client(&url).await;
    let ours = "application_name = 'provision-engine' and datname = current_database()";
    for round in 2..6 {
        store.stats(at(0)).await.unwrap();
        claim(&*store, node, LATE).await;
        let kill = format!("select pg_terminate_backend(pid) from pg_stat_activity where {ours}");
        let killed = raw.query(&kill, &[]).await.unwrap();
        assert!(killed.len() >= 5, "{}", killed.len());
        // Everything heals when it is asked again, and the listener without being asked.
        let healed = async {
            while store.ping().await.is_err()
                || store.heartbeat(node, LEASE).await.is_err()
                || store.stats(at(0)).await.is_err()
                || store.claim(node, LATE, 1).await.is_err()
            {
                sleep(A_MOMENT).await;
            }
            while let Err(error) = append(&*store, hold.id, round).await {
                match error {
                    StoreError::Unavailable(_) => sleep(A_MOMENT).await,
                    StoreError::Fenced => break,
                    error => panic!("{error}"),
                }
            }
        };
        timeout(LONG, healed).await.unwrap();
        timeout(LONG, store.wake_up().notified()).await.unwrap();
    }
    assert_eq!(numbers(&*store, hold.id).await, [1, 2, 3, 4, 5]);
    let open = format!("select 1 from pg_stat_activity where {ours} and state = 'idle in transaction'");
    assert!(raw.query(&open, &[]).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_server_that_hangs_does_not_hide_the_one_that_works() {
    // The system accepts connections to this one, and no process takes them.
    let hanging = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let works = new_database();
    let (login, rest) = works.split_once('@').unwrap();
    let url = format!("{login}@{},{rest}", hanging.local_addr().unwrap());
    let store = timeout(LONG, PostgresStore::connect(&url, 2)).await.unwrap().expect("one server works");
    let node = joined(&*store).await;
    running(&*store, node).await;
    timeout(LONG, store.wake_up().notified()).await.expect("the listener is connected");
}

#[tokio::test]
async fn a_standby_is_not_used_before_it_is_promoted() {
    let primary = PrivatePostgres::start(&PrivatePostgresOptions::default()).unwrap();
    let standby = primary.start_standby().unwrap();
    let refused = PostgresStore::migrate(&standby.url("postgres")).await;
    let Err(StoreError::Unavailable(text)) = refused else { panic!("{refused:?}") };
    assert!(text.contains("does not allow writes"), "{text}");
    let url =
        format!("postgres://postgres@127.0.0.1:{},127.0.0.1:{}/postgres", standby.port(), primary.port());
    PostgresStore::migrate(&url).await.expect("the primary accepts writes");
    primary.stop_immediate().unwrap();
    let refused = PostgresStore::migrate(&url).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    standby.promote().unwrap();
    PostgresStore::migrate(&url).await.expect("the standby is the primary");
}
