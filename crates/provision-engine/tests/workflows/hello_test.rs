//! `demo.hello`, as it is or with more steps, against the real greeter.

use std::sync::Arc;

use crate::world::Drivers;
use ::demo::workflows::hello::Hello;
use async_trait::async_trait;
use engine::store::MemoryStore;
use engine::{Clock, Plan, WallClock};
use serde_json::{Value, json};
use testing::TestEngine;
use testing::workflow_test::WorkflowTest;

use crate::world::WorkflowFixture;

pub(crate) struct HelloTest {
    pub(crate) world: WorkflowFixture,
    pub(crate) drivers: Drivers,
    plan: fn(&Drivers) -> Plan<Hello>,
}

impl HelloTest {
    pub(crate) async fn of(plan: fn(&Drivers) -> Plan<Hello>) -> HelloTest {
        let world = WorkflowFixture::start().await;
        HelloTest { drivers: world.drivers(None), world, plan }
    }

    /// A running engine with this plan.
    pub(crate) async fn test_engine(&self, plan: Plan<Hello>) -> TestEngine {
        TestEngine::open(TestEngine::plan(Arc::new(MemoryStore::new()), self.clock()).workflow(plan), None)
            .await
    }
}

#[async_trait]
impl WorkflowTest for HelloTest {
    type Workflow = Hello;

    fn plan(&self) -> Plan<Hello> {
        (self.plan)(&self.drivers)
    }

    fn params(&self) -> Value {
        json!({"name": "trial", "wait_ms": 1})
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(WallClock)
    }

    async fn standing(&self) -> Vec<String> {
        self.world.standing().await
    }

    async fn clear(&self) {
        self.world.clear().await;
    }
}
