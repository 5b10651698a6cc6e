//! The server itself: its settings, its keys, and the systems outside.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::types::{Key, KeyList, SealedValues, Setting};
use async_trait::async_trait;
use serde_json::json;
use server::{Diagnostics, KeyKeeper, Meter, Server, System};

use crate::world::{ApiFixture, endpoints, settings, world};

/// A system that says what it is told to, and counts who asks.
struct Puppet {
    name: &'static str,
    address: Option<&'static str>,
    says: Result<String, String>,
    asked: Arc<AtomicUsize>,
}

#[async_trait]
impl System for Puppet {
    fn name(&self) -> &str {
        self.name
    }

    fn address(&self) -> Option<&str> {
        self.address
    }

    async fn look(&self) -> Result<String, String> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.says.clone()
    }
}

/// A ring that grows in memory.
struct Ring(Mutex<usize>);

impl Ring {
    fn list(&self, sealed: bool) -> Result<KeyList, String> {
        let newest = *self.0.lock().unwrap();
        if newest == 0 {
            return Err("the file /secret/place is gone".to_owned());
        }
        let key = |nth| Key {
            id: format!("k{nth}"),
            active: nth == newest,
            retiring: false,
            since: None,
            sealed: sealed.then_some(SealedValues { operations: nth, records: 2, history: 0 }),
        };
        Ok(KeyList { items: (1..=newest).map(key).collect(), changed_at: None })
    }
}

#[async_trait]
impl KeyKeeper for Ring {
    async fn keys(&self, sealed: bool) -> Result<KeyList, String> {
        self.list(sealed)
    }

    async fn rotate(&self) -> Result<KeyList, String> {
        *self.0.lock().unwrap() += 1;
        self.list(false)
    }
}

async fn world_with(diagnostics: Diagnostics) -> ApiFixture {
    let base = world().await;
    let router = server::router(Server {
        engine: base.engine.clone(),
        access: base.store.clone(),
        people: base.store.clone(),
        meter: Arc::new(Meter::new()),
        settings: settings(),
        bearers: None,
        endpoints: endpoints(),
        workflows: None,
        diagnostics,
        closing: base.closing.clone(),
    });
    ApiFixture { router, ..base }
}

#[tokio::test]
async fn settings_are_shown_as_they_were_handed_in() {
    let setting = Setting {
        path: "server.listen".into(),
        value: json!("127.0.0.1:1337"),
        origin: "default".into(),
        variable: "PROVISION_ENGINE_SERVER__LISTEN".into(),
        about: "Where to listen.".into(),
    };
    let world = world_with(Diagnostics::new(vec![setting], Vec::new(), None)).await;
    let found = world.get("/settings").await;
    assert_eq!((found.status, &found.json["items"][0]["path"]), (200, &json!("server.listen")));
    assert_eq!(found.json["items"][0]["origin"], "default");
    world.get("/settings?nonsense=1").await.is(400, "unknown-parameter");
}

#[tokio::test]
async fn systems_say_how_they_are_and_are_asked_once_in_five_seconds() {
    let asked = Arc::new(AtomicUsize::new(0));
    let puppet = |name, address, says| -> Arc<dyn System> {
        Arc::new(Puppet { name, address, says, asked: Arc::clone(&asked) })
    };
    let systems = vec![
        puppet("Good", Some("http://good"), Ok("answered".to_owned())),
        puppet("Bad", Some("http://bad"), Err("x".repeat(5000))),
        puppet("None", None, Ok("never asked".to_owned())),
    ];
    let world = world_with(Diagnostics::new(Vec::new(), systems, None)).await;
    let found = world.call("GET", "/systems").token(&world.reader).send().await;
    let states: Vec<_> = found.json["items"].as_array().unwrap().iter().map(|one| &one["state"]).collect();
    assert_eq!(states, ["ok", "failing", "not_configured"]);
    assert_eq!(found.json["items"][0]["detail"], "answered");
    assert_eq!(found.json["items"][1]["detail"].as_str().unwrap().len(), 300);
    assert!(found.json["items"][2].get("detail").is_none(), "{}", found.text);
    let again = world.get("/systems").await;
    assert_eq!((again.json, asked.load(Ordering::SeqCst)), (found.json, 2));
    world.clock.turn(Duration::from_secs(5));
    world.get("/systems").await;
    assert_eq!(asked.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn a_rotated_ring_has_one_key_more_and_the_audit_log_says_which() {
    let world =
        world_with(Diagnostics::new(Vec::new(), Vec::new(), Some(Arc::new(Ring(Mutex::new(1)))))).await;
    assert_eq!(world.get("/keys").await.json["items"], json!([{"id": "k1", "active": true}]));
    let counted =
        json!([{"id": "k1", "active": true, "sealed": {"operations": 1, "records": 2, "history": 0}}]);
    assert_eq!(world.get("/keys?sealed=true").await.json["items"], counted);
    world.get("/keys?sealed=1").await.is(400, "invalid-parameter");
    let rotated = world.call("POST", "/keys/rotate").token(&world.admin).send().await;
    let expected = json!([{"id": "k1", "active": false}, {"id": "k2", "active": true}]);
    assert_eq!((rotated.status, &rotated.json["items"]), (200, &expected));
    let audit = world.get("/audit?limit=1").await;
    assert_eq!(
        (&audit.json["items"][0]["action"], &audit.json["items"][0]["target"]),
        (&json!("key.rotate"), &json!("k2"))
    );
}

#[tokio::test]
async fn a_ring_that_cannot_be_read_says_nothing_of_its_file_and_one_that_is_not_kept_is_not_found() {
    let broken =
        world_with(Diagnostics::new(Vec::new(), Vec::new(), Some(Arc::new(Ring(Mutex::new(0)))))).await;
    let answer = broken.get("/keys").await.is(500, "internal");
    assert!(!answer.text.contains("secret"), "{}", answer.text);
    let without = world().await;
    without.get("/keys").await.is(404, "not-found");
    without.call("POST", "/keys/rotate").token(&without.admin).send().await.is(404, "not-found");
}
