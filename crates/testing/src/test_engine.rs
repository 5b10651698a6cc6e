//! An engine in a test: built, started, watched until it is done.

use std::sync::Arc;
use std::time::Duration;

use engine::secret::{KeyRing, SharedRing};
use engine::store::Store;
use engine::{
    Clock, Command, Engine, EngineBuilder, Event, Inspection, OperationId, Phase, RetryPolicy, Settings,
};
use serde_json::Value;

/// Between two looks at an operation, longer the longer nothing happens.
const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// The same key for every engine of a test, so that they open each other's secrets.
pub fn key_ring() -> SharedRing {
    let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    let text = format!(r#"{{"active":"k1","keys":{{"k1":"{key}"}}}}"#);
    SharedRing::new(KeyRing::parse(&text).expect("the ring above is valid"))
}

/// An engine that is running, and what tests ask of it.
pub struct TestEngine {
    pub engine: Engine,
    pub node: engine::NodeId,
}

impl TestEngine {
    /// An engine with settings that do not make tests wait; add workflows and give it to [`TestEngine::open`].
    pub fn plan(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> EngineBuilder {
        let retries = RetryPolicy {
            first: Duration::from_millis(2),
            max: Duration::from_millis(20),
            budget: Duration::from_millis(500),
        };
        let settings = Settings { retries, poll: Duration::from_millis(50), ..Settings::default() };
        Engine::builder(store, clock, key_ring()).settings(settings)
    }

    pub async fn open(builder: EngineBuilder, previous: Option<engine::NodeId>) -> TestEngine {
        let engine = builder.build();
        let node = engine.start(previous).await.expect("the store is there");
        TestEngine { engine, node }
    }

    pub async fn submit(&self, workflow: &str, resource: Option<&str>, params: Value) -> OperationId {
        let command = command(workflow, resource, params);
        self.engine.submit_json(command).await.expect("accepted").id
    }

    /// Waits until the operation is in one of these phases.
    pub async fn until(&self, id: OperationId, wanted: impl Fn(Phase) -> bool) -> Inspection {
        let mut updates = self.engine.event_feed().watch();
        let mut pause = PAUSE_MIN;
        loop {
            let inspection = self.inspect(id).await;
            if wanted(inspection.shown.summary.phase) {
                return inspection;
            }
            // Other nodes may have done it, so the feed of this one is only a hint. An hour of virtual time costs as many
            // looks as it has pauses.
            let told = tokio::time::timeout(pause, updates.recv()).await;
            pause = if told.is_ok() { PAUSE_MIN } else { (pause * 2).min(PAUSE_MAX) };
        }
    }

    pub async fn finished(&self, id: OperationId) -> Inspection {
        self.until(id, Phase::is_final).await
    }

    pub async fn inspect(&self, id: OperationId) -> Inspection {
        self.engine.inspect(id).await.expect("the store answers").expect("the operation exists")
    }

    pub async fn journal(&self, id: OperationId) -> Vec<Event> {
        self.engine.journal(id, 0, 100_000).await.expect("the store answers")
    }

    /// The kinds of all events, for short assertions.
    pub async fn kinds(&self, id: OperationId) -> String {
        let kinds: Vec<&str> = self.journal(id).await.iter().map(|event| event.body.kind()).collect();
        kinds.join(" ")
    }

    pub async fn close(self) {
        self.engine.stop(Duration::from_secs(5)).await;
    }
}

pub(crate) fn command(workflow: &str, resource: Option<&str>, params: Value) -> Command {
    Command {
        name: None,
        workflow: workflow.into(),
        tenant: "test".into(),
        resource: resource.map(str::to_owned),
        params,
        by: "test".into(),
        idempotency_key: None,
        queue: false,
    }
}
