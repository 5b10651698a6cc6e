//! The sandbox as the receiver of notices: an inbox, and a topic of Kafka.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ::kafka::KafkaOptions;
use ::launch::workflows::notice::{
    self, Deliver, Kafka, NOTIFICATIONS_TOPIC, Notice, NoticeSubject, Notices,
};
use async_trait::async_trait;
use engine::store::{MemoryStore, OperationQuery};
use engine::{Clock, Inspection, Plan, RetryPolicy, Timestamp, WallClock};
use sandbox::Sandbox;
use serde_json::{Value, json};
use testing::TestEngine;
use testing::workflow_test::WorkflowTest;
use uuid::Uuid;

pub(crate) const ID: Uuid = Uuid::from_u128(7);

pub(crate) struct NoticePost {
    pub(crate) sandbox: Sandbox,
    pub(crate) notices: Notices,
    http: reqwest::Client,
}

impl NoticePost {
    pub(crate) async fn open() -> NoticePost {
        let sandbox = Sandbox::start("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let options =
            KafkaOptions { brokers: sandbox.kafka(), group: "test".into(), ..KafkaOptions::default() };
        let notices = Notices::beside(&sandbox.url()).unwrap().and(Kafka::new(&options).unwrap());
        let hasty = RetryPolicy {
            first: Duration::from_millis(2),
            max: Duration::from_millis(20),
            budget: Duration::from_secs(60),
        };
        NoticePost { notices: Notices { retries: hasty, ..notices }, sandbox, http: reqwest::Client::new() }
    }

    pub(crate) async fn test_engine(&self) -> TestEngine {
        engine_with(&self.notices).await
    }

    pub(crate) fn webhook_alone(&self) -> Notices {
        Notices { retries: self.notices.retries, ..Notices::beside(&self.sandbox.url()).unwrap() }
    }

    pub(crate) async fn call(&self, method: &str, path: &str, body: Value) -> Value {
        let method = method.parse().unwrap();
        let request = self.http.request(method, format!("{}{path}", self.sandbox.url())).json(&body);
        let answer = request.send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        answer.json().await.unwrap_or_default()
    }

    async fn messages(&self, path: &str) -> Vec<Value> {
        let list = self.call("GET", path, Value::Null).await;
        list["messages"].as_array().unwrap().clone()
    }

    pub(crate) async fn letters(&self) -> Vec<Value> {
        self.messages("/inbox/notices").await
    }

    pub(crate) async fn topic(&self, topic: &str) -> Vec<Value> {
        self.messages(&format!("/kafka/{topic}")).await
    }
}

pub(crate) async fn engine_with(notices: &Notices) -> TestEngine {
    let builder = TestEngine::plan(Arc::new(MemoryStore::new()), Arc::new(WallClock));
    TestEngine::open(builder.workflow(notice::plan(notices)), None).await
}

/// All operations there are, once they are over, in the order in which they came.
pub(crate) async fn finished(test_engine: &TestEngine) -> Vec<Inspection> {
    let mut all =
        test_engine.engine.list(&OperationQuery { limit: 10, ..OperationQuery::default() }).await.unwrap();
    all.sort_by_key(|summary| summary.id.0);
    let mut ended = Vec::new();
    for summary in all {
        ended.push(test_engine.finished(summary.id).await);
    }
    ended
}

pub(crate) fn launch_succeeded() -> Notice {
    Notice {
        id: ID,
        org: "org-1".into(),
        account: Some("13".into()),
        at: Timestamp::parse("2026-02-03T04:05:06.789Z").unwrap(),
        about: NoticeSubject::Launch {
            event: "launch-success".into(),
            launch: "7".into(),
            provider: "aws".into(),
            events: vec![json!({"instance_id": "i-1"}), json!({"instance_id": "i-2"})],
        },
        targets: BTreeSet::new(),
    }
}

#[async_trait]
impl WorkflowTest for NoticePost {
    type Workflow = Deliver;

    fn plan(&self) -> Plan<Deliver> {
        notice::plan(&self.notices)
    }

    fn params(&self) -> Value {
        json!(launch_succeeded())
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(WallClock)
    }

    /// As a careful receiver sees it: what came twice is one.
    async fn standing(&self) -> Vec<String> {
        let letters = self.letters().await;
        let letters = letters.iter().map(|letter| format!("inbox {}", letter["headers"]["idempotency-key"]));
        let topic = self.topic(NOTIFICATIONS_TOPIC).await;
        let messages = topic.iter().map(|message| format!("kafka {}", message["headers"]["rh-message-id"]));
        letters.chain(messages).collect::<BTreeSet<String>>().into_iter().collect()
    }

    async fn clear(&self) {
        self.call("DELETE", "/inbox/notices", Value::Null).await;
        self.call("DELETE", &format!("/kafka/{NOTIFICATIONS_TOPIC}"), Value::Null).await;
    }
}
