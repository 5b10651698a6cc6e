//! The primary of PostgreSQL is killed and its standby is promoted, while replicas work.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use engine::{Clock as _, WallClock};
use futures_util::StreamExt as _;
use reqwest::{Client, Response};
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use testing::private_postgres::PrivatePostgres;
use tokio::runtime::Runtime;

use super::check::{self, KeyUse, ServerUnderTest};
use super::{durable_postgres, on};
use crate::stage::{DataDirectory, Sandbox, ServerProcess, until};

/// To the standby and back.
const FAILOVERS: usize = 2;
/// How many operations are submitted around each failover.
const OPERATIONS: usize = 300;
/// The primary is killed when so many of them are acknowledged.
const ACKNOWLEDGED_BEFORE_KILL: usize = 100;
const IN_FLIGHT: usize = 16;
/// From the kill until both replicas are ready, with the promotion in between.
const READY_AGAIN_MAX: Duration = Duration::from_secs(15);

#[test]
fn replicas_go_on_when_the_primary_is_killed_and_its_standby_promoted() {
    let (mut primary, mut standby) = primary_and_standby();
    let url = url_of_both(&primary, &standby);
    let places = [on(&url), on(&url)];
    let sandbox = Sandbox::start(&places[0]);
    let mut replicas = Replicas::start(&places, &sandbox);
    let mut asked = BTreeMap::new();
    for failover in 0..FAILOVERS {
        if failover > 0 {
            // The server that was killed is the next standby.
            primary.follow(&standby).unwrap();
            std::mem::swap(&mut primary, &mut standby);
        }
        primary.wait_for_standby_at_commit().unwrap();
        let acknowledged = Arc::new(AtomicUsize::new(0));
        let load = submit_all(replicas.apis.clone(), failover, Arc::clone(&acknowledged));
        let load = replicas.runtime.spawn(load);
        until("the load", || (acknowledged.load(Ordering::SeqCst) >= ACKNOWLEDGED_BEFORE_KILL).then_some(()));
        kill(&primary);
        let killed_at = WallClock.now();
        replicas.expect_not_ready();
        assert!(!load.is_finished(), "the primary was killed after the load");
        let promoted_at = WallClock.now();
        standby.promote().unwrap();
        replicas.expect_ready();
        let ready_at = WallClock.now();
        let (since_kill, since_promote) = (ready_at.since(killed_at), ready_at.since(promoted_at));
        println!("ready again {since_kill:?} after the kill, {since_promote:?} after the order to promote");
        assert!(since_kill < READY_AGAIN_MAX, "ready again after {since_kill:?}");
        asked.extend(replicas.runtime.block_on(load).unwrap());
    }
    replicas.expect_all_running();
    assert_eq!(asked.len(), FAILOVERS * OPERATIONS);
    replicas.runtime.block_on(async {
        check::until_over(&replicas.apis[0]).await;
        check::everything(&replicas.apis[1], &sandbox.url, &asked).await;
    });
    let ledger = replicas.get(&format!("{}/ledger/summary", sandbox.url));
    let ledger: Value = replicas.runtime.block_on(ledger.json()).unwrap();
    assert_eq!(ledger["greeter/greet"]["made"], asked.len(), "{ledger}");
    testing::count("kills", FAILOVERS as u64);
}

/// Why the guide asks for a synchronous standby.
#[test]
fn a_standby_that_confirms_no_commit_forgets_what_was_acknowledged() {
    let (primary, standby) = primary_and_standby();
    let place = on(&url_of_both(&primary, &standby));
    let sandbox = Sandbox::start(&place);
    let places = [place];
    primary.wait_for_standby_at_commit().unwrap();
    let mut replicas = Replicas::start(&places, &sandbox);
    primary.wait_for_no_standby_at_commit().unwrap();
    standby.stop_immediate().unwrap();
    let id = replicas.submit_one("lost");
    let operation = format!("{}/operations/{id}", replicas.apis[0].url);
    let phase =
        || replicas.runtime.block_on(replicas.apis[0].get(&format!("/operations/{id}")))["phase"].clone();
    until("the operation to succeed", || (phase() == "succeeded").then_some(()));

    kill(&primary);
    replicas.expect_not_ready();
    standby.start_again().unwrap();
    standby.promote().unwrap();
    replicas.expect_ready();
    assert_eq!(replicas.get(&operation).status(), 404, "the new primary knows nothing of it");
    assert_eq!(sandbox.standing(), 1, "and what it made stands");
    assert_ne!(replicas.submit_one("lost"), id);
    until("the same made twice", || (sandbox.standing() == 2).then_some(()));
    replicas.expect_all_running();
    testing::count("kills", 1);
}

fn primary_and_standby() -> (PrivatePostgres, PrivatePostgres) {
    let primary = durable_postgres();
    primary.create_database("engine").unwrap();
    let standby = primary.start_standby().unwrap();
    (primary, standby)
}

fn url_of_both(one: &PrivatePostgres, other: &PrivatePostgres) -> String {
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", one.port(), other.port());
    format!("postgres://postgres@{hosts}/engine?target_session_attrs=read-write")
}

/// The other processes of the server end when they see that their parent is gone.
fn kill(server: &PrivatePostgres) {
    let pid = Pid::from_raw(i32::try_from(server.pid().unwrap()).unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
    until("the end of the primary", || server.pid().is_none().then_some(()));
}

/// Asks the replicas in turn for many operations. An answer that does not come is asked for again with the same
/// key, from the other replica.
async fn submit_all(
    apis: Vec<ServerUnderTest>,
    failover: usize,
    acknowledged: Arc<AtomicUsize>,
) -> BTreeMap<String, KeyUse> {
    let submit_one = async |number: usize| {
        let key = format!("failover-{failover}-{number}");
        let params = json!({"name": key, "wait_ms": 500});
        let mut turn = number;
        let id = loop {
            if let Some(id) = apis[turn % apis.len()].submit(&key, &params).await {
                break id;
            }
            turn += 1;
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        acknowledged.fetch_add(1, Ordering::SeqCst);
        (key, KeyUse { id, fails: false })
    };
    futures_util::stream::iter(0..OPERATIONS).map(submit_one).buffer_unordered(IN_FLIGHT).collect().await
}

/// The servers of one database, and how to ask them.
struct Replicas {
    servers: Vec<ServerProcess>,
    apis: Vec<ServerUnderTest>,
    /// Connections live on between the calls, so their runtime must too.
    runtime: Runtime,
}

impl Replicas {
    fn start(places: &[DataDirectory], sandbox: &Sandbox) -> Replicas {
        let arguments = ["--sandbox-url", sandbox.url.as_str(), "--log-level", "warn"];
        let servers: Vec<ServerProcess> = places.iter().map(|place| place.serve(&arguments)).collect();
        let token = std::fs::read_to_string(places[0].data("admin.token")).unwrap().trim().to_owned();
        let http = Client::builder().timeout(READY_AGAIN_MAX).build().unwrap();
        let api = |server: &ServerProcess| ServerUnderTest {
            http: http.clone(),
            url: server.url.clone(),
            token: token.clone(),
        };
        let apis = servers.iter().map(api).collect();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        Replicas { servers, apis, runtime: runtime.unwrap() }
    }

    fn get(&self, url: &str) -> Response {
        let ServerUnderTest { http, token, .. } = &self.apis[0];
        self.runtime.block_on(async { http.get(url).bearer_auth(token).send().await }).unwrap()
    }

    fn submit_one(&self, key: &str) -> String {
        let params = json!({"name": key});
        self.runtime.block_on(self.apis[0].submit(key, &params)).expect("the database is there")
    }

    fn expect_not_ready(&self) {
        for ServerUnderTest { url, .. } in &self.apis {
            let is_refused = || self.get(&format!("{url}/readyz")).status() == 503;
            until("a replica that is not ready", || is_refused().then_some(()));
            let refused = self.get(&format!("{url}/operations"));
            assert_eq!(refused.status(), 503);
            assert!(refused.headers().contains_key("retry-after"));
            assert_eq!(self.get(&format!("{url}/healthz")).status(), 200, "the process itself is well");
        }
    }

    fn expect_ready(&self) {
        for ServerUnderTest { url, .. } in &self.apis {
            let is_ready = || self.get(&format!("{url}/readyz")).status() == 200;
            until("a replica that is ready", || is_ready().then_some(()));
        }
    }

    /// The processes that were started, and no others, did all the work.
    fn expect_all_running(&mut self) {
        for server in &mut self.servers {
            assert!(server.going.status().is_none(), "{}", server.going.err());
        }
    }
}
