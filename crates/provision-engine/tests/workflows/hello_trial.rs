//! `demo.hello`, as it is or with more steps, against the real greeter.

use std::sync::Arc;

use crate::world::Drivers;
use ::demo::workflows::hello::Hello;
use async_trait::async_trait;
use engine::store::MemoryStore;
use engine::{Clock, Plan, WallClock};
use serde_json::{Value, json};
use testing::House;
use testing::trial::Trial;

use crate::world::World;

pub(crate) struct HelloTrial {
    pub(crate) world: World,
    pub(crate) drivers: Drivers,
    plan: fn(&Drivers) -> Plan<Hello>,
}

impl HelloTrial {
    pub(crate) async fn of(plan: fn(&Drivers) -> Plan<Hello>) -> HelloTrial {
        let world = World::start().await;
        HelloTrial { drivers: world.drivers(None), world, plan }
    }

    /// A running engine with this plan.
    pub(crate) async fn house(&self, plan: Plan<Hello>) -> House {
        House::open(House::plan(Arc::new(MemoryStore::new()), self.clock()).workflow(plan), None).await
    }
}

#[async_trait]
impl Trial for HelloTrial {
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
