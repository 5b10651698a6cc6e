//! Kills at random moments, while operations come in and run.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rand::RngExt as _;
use reqwest::Client;
use serde_json::json;

use super::check::{self, KeyUse, ServerUnderTest};
use super::{durable_postgres, on};
use crate::stage::{DataDirectory, Sandbox, ServerProcess};

const KILLS: usize = 90;
/// How many operations are asked for between two kills.
const OPERATIONS_PER_KILL: usize = 4;

#[test]
fn random_kills_of_one_server_on_sqlite_lose_and_double_nothing() {
    let place = DataDirectory::new();
    let sandbox = Sandbox::start(&place);
    hunt(&[place], &sandbox);
}

#[test]
fn random_kills_of_two_servers_on_one_postgres_lose_and_double_nothing() {
    let postgres = durable_postgres();
    postgres.create_database("engine").unwrap();
    let places = [on(&postgres.url("engine")), on(&postgres.url("engine"))];
    let sandbox = Sandbox::start(&places[0]);
    hunt(&places, &sandbox);
}

/// How far the hunt is, for the thread that submits.
struct Hunt {
    kills: AtomicUsize,
    is_over: AtomicBool,
    urls: Mutex<Vec<String>>,
}

/// Kills the servers in turn while operations are submitted to them, then checks the world.
fn hunt(places: &[DataDirectory], sandbox: &Sandbox) {
    let arguments = ["--sandbox-url", sandbox.url.as_str(), "--log-level", "error"];
    let mut servers: Vec<ServerProcess> = places.iter().map(|place| place.serve(&arguments)).collect();
    let token = std::fs::read_to_string(places[0].data("admin.token")).unwrap().trim().to_owned();
    let urls = servers.iter().map(|server| server.url.clone()).collect();
    let hunt = Hunt { kills: AtomicUsize::new(0), is_over: AtomicBool::new(false), urls: Mutex::new(urls) };
    let kills_max = kills_max();
    thread::scope(|scope| {
        let submitting = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(submit_all(&hunt, &token))
        });
        let mut dice = rand::rng();
        while hunt.kills.load(Ordering::SeqCst) < kills_max {
            let turn = hunt.kills.load(Ordering::SeqCst) % places.len();
            thread::sleep(Duration::from_millis(dice.random_range(0..200)));
            servers.remove(turn).kill();
            hunt.kills.fetch_add(1, Ordering::SeqCst);
            let server = places[turn].serve(&arguments);
            hunt.urls.lock().unwrap()[turn].clone_from(&server.url);
            servers.insert(turn, server);
        }
        hunt.is_over.store(true, Ordering::SeqCst);
        let asked = submitting.join().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let url = servers[0].url.clone();
        runtime.block_on(async {
            let api = ServerUnderTest { http: Client::new(), url, token: token.clone() };
            check::until_over(&api).await;
            check::everything(&api, &sandbox.url, &asked).await;
        });
    });
    testing::count("kills", hunt.kills.load(Ordering::SeqCst) as u64);
}

/// A soak kills as long as it was asked to; a kill takes about a third of a second.
fn kills_max() -> usize {
    let minutes = std::env::var("SOAK_MINUTES").ok().and_then(|minutes| minutes.parse::<usize>().ok());
    minutes.map_or(KILLS, |minutes| minutes * 90)
}

/// Asks for more operations as the hunt goes on. An answer that does not come is asked for again, with the
/// same key and maybe from another server.
async fn submit_all(hunt: &Hunt, token: &str) -> BTreeMap<String, KeyUse> {
    let http = Client::builder().timeout(Duration::from_secs(10)).build().unwrap();
    let mut asked = BTreeMap::new();
    for number in 0.. {
        while number >= (hunt.kills.load(Ordering::SeqCst) + 1) * OPERATIONS_PER_KILL {
            if hunt.is_over.load(Ordering::SeqCst) {
                return asked;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let (key, fails) = (format!("key-{number}"), number % 7 == 3);
        let wait_ms = rand::rng().random_range(0..400);
        let params = json!({"name": key, "wait_ms": wait_ms, "fail": fails});
        let id = loop {
            let url = {
                let urls = hunt.urls.lock().unwrap();
                urls[number % urls.len()].clone()
            };
            let api = ServerUnderTest { http: http.clone(), url, token: token.to_owned() };
            if let Some(id) = api.submit(&key, &params).await {
                break id;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        asked.insert(key, KeyUse { id, fails });
    }
    asked
}
