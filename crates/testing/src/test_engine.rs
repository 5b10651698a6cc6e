//! An engine in a test: built, started, watched until it is done.

use std::sync::Arc;
use std::time::Duration;

use engine::secret::{KeyRing, SharedRing};
use engine::store::Store;
use engine::{
    Clock, Command, Engine, EngineBuilder, Event, Inspection, OperationId, Phase, RetryPolicy, Settings,
};
use serde_json::Value;

use crate::dying_store::{Death, DyingStore};

/// Between two looks at an operation, longer the longer nothing happens.
const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_millis(500);
/// Far more claims of one operation, and far more looks at it without news of any, than a test needs. A test of an engine
/// that goes round in circles fails after them instead of going round, too.
const CLAIMS_MAX: usize = 20_000;
const QUIET_LOOKS_MAX: usize = 2500;

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
        let store = DyingStore::new(store, Death::Never).with_claims_in_all(CLAIMS_MAX);
        Engine::builder(Arc::new(store), clock, key_ring()).settings(settings)
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
        let mut quiet_looks = 0;
        loop {
            let inspection = self.inspect(id).await;
            let phase = inspection.shown.summary.phase;
            if wanted(phase) {
                return inspection;
            }
            assert!(quiet_looks < QUIET_LOOKS_MAX, "operation {id} stays {phase}, and nothing happens");
            // Other nodes may have done it, so the feed of this one is only a hint. An hour of virtual time costs as many
            // looks as it has pauses.
            let told = tokio::time::timeout(pause, updates.recv()).await;
            quiet_looks += usize::from(told.is_err());
            pause = if told.is_ok() { PAUSE_MIN } else { (pause * 2).min(PAUSE_MAX) };
        }
    }

    /// Waits until this is so, whatever else happens.
    pub async fn eventually(is_so: impl AsyncFn() -> bool) {
        for _ in 0..QUIET_LOOKS_MAX {
            if is_so().await {
                return;
            }
            tokio::time::sleep(PAUSE_MIN).await;
        }
        panic!("it is not so after {QUIET_LOOKS_MAX} looks");
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
