//! What is in the logs, and what must never be.

use std::io;
use std::sync::{Arc, Mutex};

use engine::Role;
use serde_json::json;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::world::world;

#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Paper {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Paper {
    type Writer = Paper;
    fn make_writer(&'a self) -> Paper {
        self.clone()
    }
}

#[tokio::test]
async fn a_request_is_in_the_log_by_its_id_and_route_but_without_token_body_or_query() {
    let paper = Paper::default();
    let subscriber = tracing_subscriber::fmt().with_writer(paper.clone()).with_max_level(LevelFilter::TRACE);
    // For all threads: with one for this thread alone, what other tests meet first would not be logged here.
    tracing::subscriber::set_global_default(subscriber.with_ansi(false).finish()).unwrap();
    tracing::callsite::rebuild_interest_cache();
    let world = world().await;
    let body = json!({"workflow": "test.letters", "params": {"then": "succeed", "password": "hunter2"}});
    let call = world.call("POST", "/operations").token(&world.admin).header("x-request-id", "r-77");
    let id = call.json(&body).send().await.json["id"].as_str().unwrap().to_owned();
    world.until(&id, "succeeded").await;
    world.get("/operations?tenant=very-private").await;
    let made = world.post("/tokens", json!({"name": "ci", "role": "reader"})).await;
    world.call("GET", "/tokens").token("pe_nonsense-token").send().await;
    let zoe = json!({"name": "zoe", "role": "reader", "password": "swordfish in the sea"});
    assert_eq!(world.post("/users", zoe).await.status, 201);
    let joe = world.post("/users", json!({"name": "joe", "role": "reader"})).await.json["password"].clone();
    let change = json!({"current": "swordfish in the air", "new": "swordfish in the sky"});
    world.call("PUT", "/me/password").signed_in("zoe", Role::Reader).json(&change).send().await;
    world.post("/users", json!({"name": "ann", "role": "reader", "password": "swordfish"})).await;
    let text = paper.text();
    let line = text.lines().find(|line| line.contains("answered") && line.contains("r-77")).unwrap_or(&text);
    assert!(line.contains("method=POST") && line.contains("route=/operations"), "{line}");
    assert!(line.contains("status=202"), "{line}");
    let made = made.json["token"].as_str().unwrap();
    for secret in [world.admin.as_str(), made, "hunter2", "pe_nonsense", "very-private", "sealed:"] {
        assert!(!text.contains(secret), "{secret} is in the log:\n{text}");
    }
    for secret in ["swordfish", "$argon2", joe.as_str().unwrap()] {
        assert!(!text.contains(secret), "{secret} is in the log:\n{text}");
    }
}
