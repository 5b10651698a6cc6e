//! Looks at sources, on trial and at work.

use std::sync::Arc;
use std::time::Duration;

use ::kafka::KafkaOptions;
use ::launch::model::Launches;
use ::launch::model::cloud::{Access, ProviderKind};
use ::launch::model::sources::{self, NewSource, SourceDirectory};
use ::launch::workflows::notice::{Kafka, Notices};
use ::launch::workflows::source_check::{self, CheckSource, SourceCheck};
use ::sources::SourcesApi;
use async_trait::async_trait;
use engine::due::{Backoff, Swept};
use engine::store::{Expect, OperationQuery};
use engine::{Clock, Engine, Phase, Plan, Resource, WallClock};
use serde_json::{Value, json};
use testing::workflow_test::{self, WorkflowTest};

use super::office::{Office, anna};

struct SourceCheckTest {
    office: Office,
}

#[async_trait]
impl WorkflowTest for SourceCheckTest {
    type Workflow = CheckSource;

    fn plan(&self) -> Plan<CheckSource> {
        source_check::plan(&self.office.launches)
    }

    fn params(&self) -> Value {
        json!({"requester": anna(), "source_id": "sandbox"})
    }

    fn resource(&self) -> Option<String> {
        Some(SourceCheck::resource(&anna(), "sandbox"))
    }

    async fn prepare(&self, engine: &Engine) {
        let record = SourceCheck {
            owner: anna(),
            source_id: "sandbox".into(),
            finding: None,
            application: None,
            notice: None,
        };
        let name = SourceCheck::resource(&anna(), "sandbox");
        let record_update = Some(record.record_update().unwrap());
        assert!(engine.write_resource(&name, "test", Expect::Absent, record_update).await.unwrap());
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(WallClock)
    }

    async fn standing(&self) -> Vec<String> {
        let ledger = self.office.get("/ledger").await;
        ledger["effects"].as_array().unwrap().iter().map(|effect| effect["token"].to_string()).collect()
    }

    async fn clear(&self) {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn looking_at_a_source_passes_all_workflow_tests() {
    workflow_test::check_all(&SourceCheckTest { office: Office::open().await }).await;
}

async fn record(office: &Office, id: &str) -> SourceCheck {
    let row = office.engine.resource(&SourceCheck::resource(&anna(), id)).await.unwrap().unwrap();
    serde_json::from_str(&row.record).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_says_whether_a_source_can_be_used_and_the_list_shows_it() {
    let office = Office::open().await;
    for (role, reason) in
        [("launcher", None), ("no-launch", Some("RunInstances")), ("denied", Some("log in"))]
    {
        let arn = format!("arn:aws:iam::123456789012:role/{role}");
        let access = Access::Role { arn, external_id: None };
        let new = NewSource { name: role.into(), provider: ProviderKind::Aws, access };
        let source = sources::create(&office.launches, &office.engine, &anna(), &new).await.unwrap();
        let check = source_check::ask(&office.engine, &anna(), &source.id, None).await.unwrap();
        let ended = office.ended(check.operation).await;
        assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
        let finding = record(&office, &source.id).await.finding.unwrap();
        assert_eq!(finding.is_available, reason.is_none());
        assert!(reason.is_none_or(|part| finding.reason.unwrap().contains(part)));
        let listed = sources::get(&office.launches, &anna(), &source.id).await.unwrap();
        let status = if reason.is_none() { "available" } else { "unavailable" };
        assert_eq!(listed.status.as_deref(), Some(status));
    }
    let check = source_check::ask(&office.engine, &anna(), "4711", None).await.unwrap();
    office.ended(check.operation).await;
    assert!(!record(&office, "4711").await.finding.unwrap().is_available);
    assert_eq!(source_check::ask(&office.engine, &anna(), "../1", None).await.unwrap_err().status, 400);
}

#[tokio::test]
async fn who_asks_while_a_look_is_under_way_joins_it() {
    let office = Office::closed();
    let first = source_check::ask(&office.engine, &anna(), "sandbox", None).await.unwrap();
    let second = source_check::ask(&office.engine, &anna(), "sandbox", None).await.unwrap();
    assert_eq!((first.joined, second.joined), (false, true));
    assert_eq!(first.operation, second.operation);
    let other = source_check::ask(&office.engine, &super::office::bert(), "sandbox", None).await.unwrap();
    assert!(!other.joined);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_service_that_keeps_a_source_is_told_once() {
    let office = Office::open_with(|sandbox, launches| {
        let url = format!("{}/api/sources/v3.1", sandbox.url());
        let directory = SourceDirectory::outside(SourcesApi::new(&url, Duration::from_secs(5)).unwrap());
        let kafka =
            KafkaOptions { brokers: sandbox.kafka(), group: "test".into(), ..KafkaOptions::default() };
        (Launches { accounts: directory, ..launches }, Notices::none().and(Kafka::new(&kafka).unwrap()))
    })
    .await;
    let check = source_check::ask(&office.engine, &anna(), "1", None).await.unwrap();
    office.ended(check.operation).await;
    let before = record(&office, "1").await;
    assert!(before.finding.as_ref().unwrap().is_available, "{before:?}");
    assert_eq!(before.notice, Some(check.operation.0));
    let mut backoff = Backoff::default();
    assert_eq!(source_check::sweep(&office.engine, &mut backoff).await.unwrap().handled, 1);
    assert_eq!(record(&office, "1").await, SourceCheck { notice: None, ..before.clone() });
    assert_eq!(source_check::sweep(&office.engine, &mut backoff).await.unwrap(), Swept::default());

    let query =
        OperationQuery { workflow: Some("notice.deliver".into()), limit: 10, ..OperationQuery::default() };
    let told = office.engine.list(&query).await.unwrap();
    assert_eq!(told.len(), 1);
    let ended = office.ended(told[0].id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    let params: Value = serde_json::from_str(&ended.shown.params).unwrap();
    assert_eq!(params["about"]["application"], json!(before.application.unwrap()));
    assert_eq!(params["about"]["is_available"], true);
}
