//! Kills while many runtimes are upgraded. What counts is how often the Provisioner began an upgrade of each: once.

use std::thread;
use std::time::Duration;

use rand::RngExt as _;
use reqwest::{Client, Method};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::durable_postgres;
use crate::runtimes::{Platform, quick, wanted};
use crate::stage::{DataDirectory, Sandbox, ServerProcess, call};

/// Requests for runtimes that are under way at once.
const ORDERED_AT_ONCE: usize = 24;

/// How often, and how long after the last time.
const LOOKS: u32 = 2400;
const LOOK_EVERY: Duration = Duration::from_millis(50);

fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    for _ in 0..LOOKS {
        if let Some(found) = ask() {
            return found;
        }
        thread::sleep(LOOK_EVERY);
    }
    panic!("waited too long for {what}");
}

struct Fleet {
    runtime: Runtime,
    sandbox: Sandbox,
    places: Vec<DataDirectory>,
    servers: Vec<ServerProcess>,
    token: String,
}

impl Fleet {
    fn open(places: Vec<DataDirectory>, count: usize) -> Fleet {
        let sandbox = Sandbox::start(&places[0]);
        let nothing = json!({"provision_ms": 0, "upgrade_ms": 0, "deprovision_ms": 0});
        call(Method::PUT, &format!("{}/provisioner/script", sandbox.url), Some(&nothing));
        let servers: Vec<ServerProcess> = places.iter().map(|place| serve(place, &sandbox)).collect();
        let token = std::fs::read_to_string(places[0].data("admin.token")).unwrap().trim().to_owned();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let fleet = Fleet { runtime, sandbox, places, servers, token };
        fleet.order(count);
        fleet
    }

    /// Asks the broker for runtimes, and waits until they are there.
    fn order(&self, count: usize) {
        let platform = Platform::of(&self.places[0], &self.servers[0]);
        self.runtime.block_on(async {
            let mut orders = JoinSet::new();
            for n in 0..count {
                if orders.len() >= ORDERED_AT_ONCE {
                    orders.join_next().await.unwrap().unwrap();
                }
                let platform = platform.clone();
                orders.spawn(async move {
                    let id = id(n);
                    let answer = platform.put(&id, &wanted(&id)).await;
                    assert_eq!(answer.status, 202, "{}", answer.body);
                });
            }
            orders.join_all().await;
        });
        let wanted = u64::try_from(count).unwrap();
        until("all runtimes", || {
            let page = self.get("/runtimes?state=succeeded&page_size=1");
            (page["totalCount"].as_u64() == Some(wanted)).then_some(())
        });
    }

    /// Asks any server that answers.
    fn send(&self, method: &Method, path: &str, body: Option<(&str, &Value)>) -> Value {
        self.runtime.block_on(async {
            let http = Client::builder().no_proxy().timeout(Duration::from_secs(10)).build().unwrap();
            for turn in 0..1000 {
                let url = &self.servers[turn % self.servers.len()].url;
                let request = http.request(method.clone(), format!("{url}{path}")).bearer_auth(&self.token);
                let request = match body {
                    Some((key, body)) => request.header("Idempotency-Key", key).json(body),
                    None => request,
                };
                if let Ok(answer) = request.send().await {
                    let status = answer.status();
                    let body: Value = answer.json().await.unwrap_or_default();
                    assert!(!status.is_client_error(), "{status} {body}");
                    if status.is_success() {
                        return body;
                    }
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            panic!("no server answers {path}");
        })
    }

    fn get(&self, path: &str) -> Value {
        self.send(&Method::GET, path, None)
    }

    /// The same key is the same orchestration, whichever server answers at last.
    fn start(&self, key: &str, strategy: &Value) -> String {
        let body = json!({"targets": {"include": [{"planName": "azure"}]}, "strategy": strategy,
            "kubernetes": {"kubernetesVersion": "1.22.9"}});
        let started = self.send(&Method::POST, "/upgrade/cluster", Some((key, &body)));
        started["orchestrationID"].as_str().unwrap().to_owned()
    }

    /// How often the Provisioner began an upgrade of each runtime.
    fn upgrades(&self) -> Vec<u64> {
        let (mut all, mut after) = (Vec::new(), String::new());
        loop {
            let url = format!("{}/provisioner/runtimes?limit=1000{after}", self.sandbox.url);
            let page = call(Method::GET, &url, None);
            let page = page["runtimes"].as_array().unwrap();
            all.extend(page.iter().map(|one| one["upgrades"].as_u64().unwrap()));
            match page.last() {
                Some(last) => after = format!("&after={}", last["id"].as_str().unwrap()),
                None => return all,
            }
        }
    }

    fn kill_one(&mut self, turn: usize) {
        let turn = turn % self.places.len();
        self.servers.remove(turn).kill();
        let server = serve(&self.places[turn], &self.sandbox);
        self.servers.insert(turn, server);
    }
}

fn serve(place: &DataDirectory, sandbox: &Sandbox) -> ServerProcess {
    place.serve(&["--sandbox-url", &sandbox.url, "--log-level", "error"])
}

fn id(n: usize) -> String {
    format!("fleet-{n}")
}

fn prepared(place: DataDirectory) -> DataDirectory {
    place.env("PROVISION_ENGINE_RUNTIME__UPGRADE_CHECK", "50ms").env("PROVISION_ENGINE_STORE__LEASE", "2s")
}

/// Upgrades all, kills at random until it is over, and answers how many kills there were.
fn hunt(fleet: &mut Fleet, count: usize, workers: u32) -> u64 {
    let id = fleet.start("all", &json!({"type": "parallel", "parallel": {"workers": workers}}));
    let mut dice = rand::rng();
    let mut kills = 0;
    let status = loop {
        let status = fleet.get(&format!("/orchestrations/{id}"));
        let running = status["operationStats"]["in progress"].as_u64().unwrap();
        assert!(running <= u64::from(workers), "{status}");
        if status["state"] == "succeeded" {
            break status;
        }
        assert_ne!(status["state"], "failed", "{status}");
        thread::sleep(Duration::from_millis(dice.random_range(100..900)));
        fleet.kill_one(kills);
        kills += 1;
    };
    assert_eq!(status["operationStats"]["succeeded"].as_u64(), Some(count as u64), "{status}");
    let upgrades = fleet.upgrades();
    assert_eq!(upgrades.len(), count);
    assert!(upgrades.iter().all(|times| *times == 1), "each once: {upgrades:?}");
    kills as u64
}

#[test]
fn random_kills_of_two_servers_on_postgres_upgrade_each_of_1000_runtimes_once() {
    let postgres = durable_postgres();
    postgres.create_database("engine").unwrap();
    let url = postgres.url("engine");
    let place = || prepared(quick().env("PROVISION_ENGINE_STORE__DATABASE_URL", &url));
    let mut fleet = Fleet::open(vec![place(), place()], 1000);
    let kills = hunt(&mut fleet, 1000, 50);
    assert!(kills > 0);
    testing::count("kills", kills);
}

#[test]
fn kills_on_sqlite_upgrade_each_once_and_limits_hold_to_the_number() {
    const COUNT: u64 = 40;
    let mut fleet = Fleet::open(vec![prepared(quick())], 40);
    let mut kills = hunt(&mut fleet, 40, 5);
    let ends = |fleet: &Fleet, id: &str, state: &str| {
        until(state, || {
            let status = fleet.get(&format!("/orchestrations/{id}"));
            (status["state"] == state).then_some(status)
        })
    };
    let begun = |fleet: &Fleet| fleet.upgrades().iter().sum::<u64>();

    // Every upgrade fails, and one runs at a time.
    let fault = json!({"operation": "UpgradeShoot", "kind": "operation", "times": 0});
    call(Method::POST, &format!("{}/provisioner/faults", fleet.sandbox.url), Some(&fault));
    let id = fleet.start("fails", &json!({"parallel": {"workers": 1}, "maxFailures": 3}));
    thread::sleep(Duration::from_millis(200));
    fleet.kill_one(0);
    let status = ends(&fleet, &id, "failed");
    assert_eq!(status["operationStats"]["failed"], 3, "{status}");
    assert_eq!(begun(&fleet), COUNT + 3, "none begins after the last failure");
    call(Method::DELETE, &format!("{}/provisioner/faults", fleet.sandbox.url), None);

    let slow = json!({"provision_ms": 0, "upgrade_ms": 400, "deprovision_ms": 0});
    call(Method::PUT, &format!("{}/provisioner/script", fleet.sandbox.url), Some(&slow));
    let id = fleet.start("canceled", &json!({"parallel": {"workers": 4}}));
    thread::sleep(Duration::from_millis(600));
    fleet.send(&Method::PUT, &format!("/orchestrations/{id}/cancel"), None);
    fleet.kill_one(0);
    kills += 2;
    let stats = ends(&fleet, &id, "canceled")["operationStats"].clone();
    let of = |state: &str| stats[state].as_u64().unwrap();
    assert_eq!(of("succeeded") + of("canceled"), COUNT, "{stats}");
    assert_eq!(begun(&fleet), COUNT + 3 + of("succeeded"), "what was canceled was never begun");
    testing::count("kills", kills);
}
