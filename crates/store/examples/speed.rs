use engine::store::{Append, Create, Finish, Hold, Store, Write};
use engine::{Body, Changes, Clock, Event, NodeId, OperationId, Phase, Timestamp, WallClock};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use store::private_postgres::{PrivatePostgres, PrivatePostgresOptions};
use store::{PostgresStore, SqliteStore};

fn body() -> Body {
    let mut changes = Changes::default();
    changes.facts.insert("instance_id".into(), "i-0123456789abcdef".into());
    changes.done.push("launch".into());
    Body::Stepped { changes, started: Some("attach".into()) }
}

fn cpu() -> f64 {
    let t = std::fs::read_to_string("/proc/self/stat").unwrap();
    let f: Vec<&str> = t.rsplit(')').next().unwrap().split_whitespace().collect();
    (f[11].parse::<f64>().unwrap() + f[12].parse::<f64>().unwrap()) / 100.0
}

async fn run(name: &str, store: Arc<dyn Store>, callers: usize) {
    let node = NodeId::new(&WallClock);
    let done = Arc::new(AtomicU64::new(0));
    let before = store.stats(Timestamp(0)).await.unwrap();
    let start = Instant::now();
    let c0 = cpu();
    let secs = 4;
    let mut tasks = Vec::new();
    for _ in 0..callers {
        let (store, done) = (store.clone(), done.clone());
        tasks.push(tokio::spawn(async move {
            let mut lat = Vec::new();
            while start.elapsed() < Duration::from_secs(secs) {
                let id = OperationId::new(&WallClock);
                let now = WallClock.now();
                let create = Create {
                    id,
                    workflow: "w".into(),
                    tenant: "t".into(),
                    resource: None,
                    params: "{}".into(),
                    created_at: now,
                    deadline_at: now,
                    owner: Some(node),
                    event: Event { seq: 1, at: now, body: Body::Created { by: "b".into(), started: None } },
                    idempotency: None,
                    queue: false,
                };
                store.commit(Write::Create(Box::new(create))).await.unwrap();
                for seq in 2..=10 {
                    let t = Instant::now();
                    store
                        .commit(Write::Append(Append {
                            id,
                            event: Event { seq, at: now, body: body() },
                            phase: None,
                            consumes: None,
                        }))
                        .await
                        .unwrap();
                    lat.push(t.elapsed());
                }
                store
                    .commit(Write::Finish(Box::new(Finish {
                        hold: Hold { id, node, epoch: 1 },
                        event: Some(Event { seq: 11, at: now, body: body() }),
                        phase: Phase::Succeeded,
                        cause: None,
                        at: now,
                        memory: "{\"facts\":{\"a\":1}}".into(),
                        seq: 11,
                    })))
                    .await
                    .unwrap();
                done.fetch_add(11, Ordering::Relaxed);
            }
            lat
        }));
    }
    let mut lat = Vec::new();
    for t in tasks {
        lat.extend(t.await.unwrap());
    }
    lat.sort();
    let el = start.elapsed().as_secs_f64();
    let after = store.stats(Timestamp(0)).await.unwrap();
    let n = done.load(Ordering::Relaxed) as f64;
    println!(
        "{name:10} whole lives callers={callers:5} writes/s={:9.0} p50={:?} p99={:?} writes/commit={:.1}",
        n / el,
        lat[lat.len() / 2],
        lat[lat.len() * 99 / 100],
        (after.writes - before.writes) as f64 / (after.commits - before.commits) as f64
    );
}

async fn appends(name: &str, store: Arc<dyn Store>, callers: usize) {
    let node = NodeId::new(&WallClock);
    let done = Arc::new(AtomicU64::new(0));
    let before = store.stats(Timestamp(0)).await.unwrap();
    let start = Instant::now();
    let mut tasks = Vec::new();
    for _ in 0..callers {
        let (store, done) = (store.clone(), done.clone());
        tasks.push(tokio::spawn(async move {
            let id = OperationId::new(&WallClock);
            let now = WallClock.now();
            let mut seq = 0;
            let _ = node;
            let mut lat = Vec::new();
            while start.elapsed() < Duration::from_secs(4) {
                seq += 1;
                let t = Instant::now();
                store
                    .commit(Write::Append(Append {
                        id,
                        event: Event { seq, at: now, body: body() },
                        phase: None,
                        consumes: None,
                    }))
                    .await
                    .unwrap();
                lat.push(t.elapsed());
                done.fetch_add(1, Ordering::Relaxed);
            }
            lat
        }));
    }
    let mut lat = Vec::new();
    for t in tasks {
        lat.extend(t.await.unwrap());
    }
    lat.sort();
    let el = start.elapsed().as_secs_f64();
    let after = store.stats(Timestamp(0)).await.unwrap();
    let n = done.load(Ordering::Relaxed) as f64;
    println!(
        "{name:10} appends     callers={callers:5} writes/s={:9.0} p50={:?} p99={:?} writes/commit={:.1}",
        n / el,
        lat[lat.len() / 2],
        lat[lat.len() * 99 / 100],
        (after.writes - before.writes) as f64 / (after.commits - before.commits) as f64
    );
}

async fn raw(url: &str) {
    let (c, conn) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(conn);
    c.batch_execute("create table raw (id bigserial primary key, body text not null)").await.unwrap();
    let start = Instant::now();
    let n = Arc::new(AtomicU64::new(0));
    let mut tasks = Vec::new();
    for _ in 0..32 {
        let (c, conn) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(conn);
        let n = n.clone();
        tasks.push(tokio::spawn(async move {
            let st = c.prepare("insert into raw (body) values ($1)").await.unwrap();
            let text = body().to_text();
            while start.elapsed() < Duration::from_secs(4) {
                c.execute(&st, &[&text]).await.unwrap();
                n.fetch_add(1, Ordering::Relaxed);
            }
        }));
    }
    for t in tasks {
        t.await.unwrap();
    }
    println!(
        "raw pg 32 connections: {:.0} commits/s",
        n.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64()
    );
}

#[tokio::main]
async fn main() {
    let dir = tempfile::tempdir_in("/tmp").unwrap();
    let sqlite = SqliteStore::open(dir.path().join("a.db")).unwrap();
    if std::env::args().nth(1).as_deref() == Some("sqlite1000") {
        run("sqlite", sqlite.clone(), 1000).await;
        return;
    }
    for n in [1, 64, 1000] {
        appends("sqlite", sqlite.clone(), n).await;
    }
    for n in [1, 64, 1000] {
        run("sqlite", sqlite.clone(), n).await;
    }
    drop(sqlite);
    if std::env::args().nth(1).as_deref() == Some("sqlite") {
        return;
    }
    let server =
        PrivatePostgres::start(&PrivatePostgresOptions { durable: true, ..Default::default() }).unwrap();
    raw(&server.url("postgres")).await;
    let committers: usize = std::env::args().nth(1).and_then(|t| t.parse().ok()).unwrap_or(4);
    let pg = PostgresStore::connect(&server.url("postgres"), committers).await.unwrap();
    for n in [1, 64, 1000] {
        appends("postgres", pg.clone(), n).await;
    }
    for n in [1, 64, 1000] {
        run("postgres", pg.clone(), n).await;
    }
    raw2(&server.url("postgres")).await;
}
async fn raw2(url: &str) {
    let (c, conn) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(conn);
    let st = c.prepare("insert into raw (body) values ($1)").await.unwrap();
    let text = body().to_text();
    let mut lat = Vec::new();
    for _ in 0..3000 {
        let t = Instant::now();
        c.execute(&st, &[&text]).await.unwrap();
        lat.push(t.elapsed());
    }
    lat.sort();
    println!("raw pg 1 connection p50={:?}", lat[1500]);
}
