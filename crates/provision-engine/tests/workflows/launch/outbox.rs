//! Word of how launches ended reaches others, once.

use ::launch::model::outbox;
use ::launch::model::record::LaunchRecord;
use ::launch::workflows::notice::{self, Notices};
use engine::due::{Backoff, Swept};
use engine::store::Expect;
use engine::{Engine, Resource, WallClock};
use serde_json::{Value, json};
use std::sync::Arc;
use testing::TestEngine;

use super::site::{LaunchSite, launch_only, nothing, patiently};

async fn engine_that_logs(site: &LaunchSite) -> TestEngine {
    let notices = Notices::beside(&site.url()).unwrap();
    let builder = TestEngine::plan(Arc::clone(&site.store), Arc::new(WallClock))
        .workflow(::launch::workflows::launch::plan(&site.launches))
        .workflow(notice::plan(&notices));
    TestEngine::open(builder, None).await
}

/// What the inbox holds once all deliveries are over.
async fn told(site: &LaunchSite, engine: &Engine) -> Vec<Value> {
    let query = engine::store::OperationQuery {
        workflow: Some("notice.deliver".into()),
        limit: 100,
        ..Default::default()
    };
    let are_over = async || {
        let all = engine.list(&query).await.unwrap();
        all.iter().all(|one| one.phase.is_final()).then_some(())
    };
    patiently(are_over).await;
    site.get("/inbox/notices").await["messages"].as_array().cloned().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_end_is_told_once_however_often_the_outbox_is_swept() {
    let site = LaunchSite::start().await;
    let test_engine = engine_that_logs(&site).await;
    site.post("/aws/faults/fail", &json!({"action": "RunInstances", "code": "VcpuLimitExceeded"})).await;
    let failing = site.begin(&test_engine, &launch_only(1)).await;
    site.rests(&test_engine, failing).await;
    let launched = site.begin(&test_engine, &launch_only(2)).await;
    let (_, view) = site.rests(&test_engine, launched).await;
    let quiet = site.begin(&test_engine, &nothing()).await;
    site.rests(&test_engine, quiet).await;

    let mut backoff = Backoff::default();
    assert_eq!(outbox::sweep(&test_engine.engine, &mut backoff).await.unwrap().handled, 3);
    assert_eq!(outbox::sweep(&test_engine.engine, &mut backoff).await.unwrap(), Swept::default());
    assert_eq!(told(&site, &test_engine.engine).await.len(), 3);
    let record = site.view(&test_engine, launched).await.record;
    assert!(record.notices.is_empty(), "{:?}", record.notices);

    // A crash between telling and forgetting: the same word stands there again.
    let again = LaunchRecord { notices: view.record.notices.clone(), ..record };
    let row = test_engine.engine.resource(&LaunchRecord::resource(launched.launch)).await.unwrap().unwrap();
    let record_update = Some(again.record_update().unwrap());
    let expect = Expect::Version(row.version);
    assert!(test_engine.engine.write_resource(&row.name, &row.tenant, expect, record_update).await.unwrap());
    assert_eq!(outbox::sweep(&test_engine.engine, &mut backoff).await.unwrap().handled, 1);
    let told = told(&site, &test_engine.engine).await;
    assert_eq!(told.len(), 3, "{told:?}");
    let text = json!(told).to_string();
    for event in ["launch-failed", "launch-success", "VcpuLimitExceeded"] {
        assert!(text.contains(event), "{event} in {text}");
    }
    for tracked in &view.record.state.instances {
        assert!(text.contains(&tracked.instance.id), "{text}");
    }
    test_engine.close().await;
}
