//! An Image Builder that shows a build only some time after it was asked for it.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ::launch::model::image_builder::ImageBuilder;
use ::launch::model::status::LaunchPhase;
use ::launch::model::{LaunchSettings, Launches};
use ::launch::workflows::notice::{self, Notices};
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use engine::{Clock, Timestamp, WallClock};
use serde_json::{Value, json};
use testing::TestEngine;
use uuid::Uuid;

use super::site::{LaunchSite, build_and_launch, quick};

#[derive(Default)]
struct Builder {
    posts: AtomicU32,
    build: Mutex<Option<(Uuid, Timestamp, Value)>>,
}

/// Shorter than the time that a lost call may take.
const SHOWS_AFTER: Duration = Duration::from_millis(150);
const SETTLE: Duration = Duration::from_millis(600);

async fn submit(State(builder): State<Arc<Builder>>, Json(request): Json<Value>) -> StatusCode {
    builder.posts.fetch_add(1, Ordering::SeqCst);
    *builder.build.lock().unwrap() = Some((Uuid::now_v7(), WallClock.now(), request));
    StatusCode::BAD_GATEWAY
}

async fn list(State(builder): State<Arc<Builder>>) -> Json<Value> {
    let build = builder.build.lock().unwrap();
    let shown = build.iter().filter(|(_, at, _)| WallClock.now().since(*at) >= SHOWS_AFTER);
    let data: Vec<Value> = shown
        .map(|(id, at, request)| {
            json!({"id": id, "created_at": at, "image_name": "web", "request": request, "client_id": "api"})
        })
        .collect();
    Json(json!({"meta": {"count": data.len()}, "links": {"first": "", "last": ""}, "data": data}))
}

async fn show(State(builder): State<Arc<Builder>>) -> Json<Value> {
    let request = builder.build.lock().unwrap().as_ref().map(|(_, _, request)| request.clone());
    let error = json!({"id": 1, "reason": "as it was told", "details": null});
    Json(json!({"image_status": {"status": "failure", "error": error}, "request": request}))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_build_that_is_not_shown_yet_is_not_asked_for_again() {
    let builder = Arc::new(Builder::default());
    let app = Router::new()
        .route("/compose", post(submit))
        .route("/composes", get(list))
        .route("/composes/{id}", get(show))
        .with_state(Arc::clone(&builder));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });

    let site = LaunchSite::with(LaunchSettings { settle: SETTLE, ..quick() }).await;
    let driver = ImageBuilder::new(&url, Duration::from_secs(5)).unwrap();
    let launches = Arc::new(Launches { builder: Some(driver), ..(*site.launches).clone() });
    let engine = TestEngine::plan(Arc::clone(&site.store), Arc::new(WallClock))
        .workflow(::launch::workflows::launch::plan(&launches))
        .workflow(notice::plan(&Notices::none()));
    let test_engine = TestEngine::open(engine, None).await;
    let begun = site.begin(&test_engine, &build_and_launch(1)).await;
    let (_, view) = site.rests(&test_engine, begun).await;
    assert_eq!(view.stage, LaunchPhase::Failed);
    assert!(view.legacy.error.contains("as it was told"), "{}", view.legacy.error);
    assert_eq!(builder.posts.load(Ordering::SeqCst), 1);
    test_engine.close().await;
}
