//! A workflow test without a type of its own.

use async_trait::async_trait;
use engine::{Engine, Plan, Workflow};
use serde_json::Value;

use super::WorkflowTest;

/// A trial made of values, for a world in memory.
pub struct Case<'a, W: Workflow> {
    pub plan: &'a (dyn Fn() -> Plan<W> + Sync),
    pub params: Value,
    /// What the steps wait for. It is there before they wait.
    pub signals: Vec<(String, Value)>,
    pub attempts: Vec<&'static str>,
    pub standing: &'a (dyn Fn() -> Vec<String> + Sync),
    pub clear: &'a (dyn Fn() + Sync),
}

#[async_trait]
impl<W: Workflow> WorkflowTest for Case<'_, W> {
    type Workflow = W;

    fn plan(&self) -> Plan<W> {
        (self.plan)()
    }

    fn params(&self) -> Value {
        self.params.clone()
    }

    async fn prepare(&self, engine: &Engine) {
        for (key, payload) in &self.signals {
            engine.signal(key, payload.clone()).await.expect("memory answers");
        }
    }

    fn attempts(&self) -> Vec<&'static str> {
        self.attempts.clone()
    }

    async fn standing(&self) -> Vec<String> {
        (self.standing)()
    }

    async fn clear(&self) {
        (self.clear)();
    }
}
