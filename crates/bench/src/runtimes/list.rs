//! How long a page of a hundred runtimes takes when there are many of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ::runtimes::api::types::RuntimePage;
use ::runtimes::model::{InstanceRecord, PROVISION, seal_json};
use anyhow::{Context, Result, anyhow, ensure};
use engine::store::Expect;
use engine::{Clock, Engine, Resource, WallClock};
use reqwest::Method;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::bench_server::{BenchDatabase, BenchServer};
use crate::load::percentile;
use crate::target::BenchDatabaseKind;
use provision_engine::output::note;

/// Many writers share a commit.
const WRITERS: usize = 256;
const TIMES: usize = 50;
const PAGE: usize = 100;
const ACCOUNTS: usize = 100;
const REGIONS: [&str; 5] = ["westeurope", "northeurope", "centralus", "eastus", "uksouth"];

/// One question, asked many times.
#[derive(Debug, Serialize)]
pub(crate) struct ListMeasurement {
    pub(crate) question: &'static str,
    pub(crate) p50_ms: f64,
    pub(crate) max_ms: f64,
}

pub(super) async fn measure(bench_database: &BenchDatabase, records: usize) -> Result<Vec<ListMeasurement>> {
    note(format!("  {records} records of runtimes"));
    let bench_server = bench_database.bench_server().await?;
    fill(&bench_server.test_engine.engine, records).await?;
    settle(&bench_database.target).await?;
    let middle = format!("page={}", (records / PAGE / 2).max(1));
    let cursor =
        ask(&bench_server, &middle).await?.next.context("a list of so many records has a second half")?;
    let questions = [
        ("the first page", String::new()),
        ("a page in the middle, by its number", middle),
        ("a page in the middle, by cursor", format!("cursor={cursor}")),
        ("of one account", "account=account-7".to_owned()),
        ("of a plan in a region", "plan=azure&region=eastus".to_owned()),
        ("in one state", "state=succeeded".to_owned()),
        ("of an account, in one state", "account=account-7&state=succeeded".to_owned()),
    ];
    let mut lists = Vec::new();
    for (question, query) in questions {
        let mut millis = Vec::with_capacity(TIMES);
        for _ in 0..TIMES {
            let began = WallClock.now();
            let page = ask(&bench_server, &query).await?;
            millis.push(WallClock.now().since(began).as_secs_f64() * 1000.0);
            ensure!(page.count > 0, "{question}: the page is empty");
        }
        let (p50_ms, max_ms) = (percentile(&mut millis, 50), percentile(&mut millis, 100));
        lists.push(ListMeasurement { question, p50_ms, max_ms });
    }
    bench_server.close().await;
    Ok(lists)
}

async fn ask(bench_server: &BenchServer, query: &str) -> Result<RuntimePage> {
    let request = bench_server.platform.request(Method::GET, &format!("/runtimes?page_size={PAGE}&{query}"));
    Ok(request.send().await?.error_for_status()?.json().await?)
}

async fn fill(engine: &Engine, records: usize) -> Result<()> {
    let next = Arc::new(AtomicUsize::new(0));
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| {
            let (engine, next) = (engine.clone(), Arc::clone(&next));
            tokio::spawn(async move {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= records {
                        return anyhow::Ok(());
                    }
                    let instance = instance(&engine, number);
                    let record_update = instance.record_update().map_err(|error| anyhow!(error))?;
                    let name = InstanceRecord::resource(&instance.instance_id);
                    engine
                        .write_resource(&name, &instance.account, Expect::Absent, Some(record_update))
                        .await?;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await??;
    }
    Ok(())
}

fn instance(engine: &Engine, number: usize) -> InstanceRecord {
    let id = format!("record-{number}");
    let account = format!("account-{}", number % ACCOUNTS);
    let sealer = engine.sealer(&account, &InstanceRecord::resource(&id));
    let parameters = Map::from_iter([("name".to_owned(), Value::from("bench"))]);
    let (parameters, context) = (seal_json(&parameters, &sealer), seal_json(&Map::new(), &sealer));
    InstanceRecord {
        plan: ["azure", "aws"][number % 2].to_owned(),
        provider: "azure".to_owned(),
        region: REGIONS[number % REGIONS.len()].to_owned(),
        subaccount: format!("subaccount-{}", number % (10 * ACCOUNTS)),
        account,
        runtime_id: Some(format!("runtime-{number}")),
        ready: true,
        ..InstanceRecord::new(&id, "service", "plan", parameters, context)
    }
}

/// Lets the records look as if operations had made them, and does what a server that has grown slowly would have
/// done long ago.
async fn settle(target: &BenchDatabaseKind) -> Result<()> {
    let sql =
        format!("update resources set workflow = '{PROVISION}', phase = 'succeeded' where workflow is null");
    if let Some(file) = target.sqlite_file() {
        let change = move || rusqlite::Connection::open(file)?.execute_batch(&sql);
        return tokio::task::spawn_blocking(change).await?.context("cannot change the records");
    }
    let client = target.connect().await?;
    for chore in [&*sql, "vacuum analyze resources", "vacuum analyze resource_labels", "checkpoint"] {
        client.batch_execute(chore).await.with_context(|| format!("cannot {chore}"))?;
    }
    Ok(())
}
