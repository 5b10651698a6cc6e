//! A dry run: every step shows what it would do, and nothing is sent or kept.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::clock::Clock;
use crate::event::Changes;
use crate::event_feed::EventFeed;
use crate::ids::{NodeId, OperationId};
use crate::memory::Memory;
use crate::operation::{JournalWriter, Operation};
use crate::outcome::{Abandon, Halt};
use crate::plan::Plan;
use crate::registry::sealing_context;
use crate::secret::{KeyRing, Sealer, SharedRing};
use crate::store::{Expect, MemoryStore, Ownership, RecordUpdate, ResourceWrite, Store, Write};
use crate::workflow::Workflow;

/// What a dry run begins with.
pub struct DryRun {
    pub tenant: String,
    pub resource: String,
    pub params: Value,
    pub clock: Arc<dyn Clock>,
}

impl<W: Workflow> Plan<W> {
    /// Walks through all steps once, with a record that exists only here. `record` gets what seals its secrets. The
    /// operation that comes back has the input that the steps put together.
    pub async fn preview(
        &self,
        asked: DryRun,
        record: impl FnOnce(&Sealer) -> Result<RecordUpdate, String>,
    ) -> Result<Operation<W>, String> {
        let DryRun { tenant, resource, params, clock } = asked;
        let ring = SharedRing::new(KeyRing::generate());
        let sealer = Sealer::new(&ring, sealing_context(&tenant, Some(&resource), self.kind()));
        let store = Arc::new(MemoryStore::new());
        let write = ResourceWrite {
            name: resource.clone(),
            tenant: tenant.clone(),
            expect: Expect::Absent,
            record_update: Some(record(&sealer)?),
            at: clock.now(),
        };
        store.commit(Write::Resource(Box::new(write))).await.map_err(|error| error.to_string())?;
        let id = OperationId::new(&*clock);
        let mut op = Operation {
            id,
            tenant,
            resource: Some(resource),
            created_at: clock.now(),
            deadline_at: clock.now().plus(self.deadline()),
            params: self.admit_params(params, &sealer)?,
            state: W::State::default(),
            input: W::Input::default(),
            journal: JournalWriter {
                memory: Memory::default(),
                seq: 0,
                hold: Ownership { id, node: NodeId(id.0), epoch: 0 },
                pending: Changes::default(),
                announced: BTreeSet::new(),
                lose_calls: None,
                record_update: None,
                written_record: None,
                unknown: None,
                sealer,
                store,
                clock,
                event_feed: EventFeed::default(),
            },
        };
        for planned in &self.steps {
            if planned.applies(&op) {
                let name = planned.step.name();
                planned.step.preview(&mut op).await.map_err(|halt| format!("{name}: {}", why(&halt)))?;
            }
        }
        Ok(op)
    }
}

fn why(halt: &Halt) -> String {
    match halt {
        Halt::Wait { reason, .. } => reason.clone(),
        Halt::Retry { cause, .. } | Halt::Fail { cause } | Halt::Unknown { cause } => cause.to_string(),
        Halt::LetGo(Abandon::StoreLost(why)) => why.clone(),
        Halt::LetGo(Abandon::Fenced) => "another node owns it".into(),
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;

    use super::*;
    use crate::clock::WallClock;
    use crate::outcome::{Outcome, done, fail, wait};
    use crate::plan::OnFailure;
    use crate::step::{Effect, Step};

    struct Dry;
    impl Workflow for Dry {
        const KIND: &'static str = "test.dry";
        const ABOUT: &'static str = "Says which steps ran.";
        type Params = ();
        type State = ();
        type Input = Vec<&'static str>;
    }

    struct Say(&'static str, Effect, fn() -> Outcome);

    #[async_trait]
    impl Step<Dry> for Say {
        fn name(&self) -> &'static str {
            self.0
        }
        fn title(&self) -> &'static str {
            "Saying its name"
        }
        fn effect(&self) -> Effect {
            self.1
        }
        async fn run(&self, op: &mut Operation<Dry>) -> Outcome {
            op.input.push(self.0);
            (self.2)()
        }
    }

    async fn preview(plan: Plan<Dry>) -> Result<Vec<&'static str>, String> {
        let (tenant, resource, clock) = ("t".into(), "r".into(), Arc::new(WallClock));
        let asked = DryRun { tenant, resource, params: serde_json::Value::Null, clock };
        let record = |_: &Sealer| {
            let (kind, record) = ("dry".into(), "{}".into());
            Ok(RecordUpdate { kind, record, labels: Vec::new(), gone_at: None, due_at: None })
        };
        plan.preview(asked, record).await.map(|op| op.input)
    }

    #[tokio::test]
    async fn a_dry_run_runs_pure_steps_alone_and_goes_on_after_a_wait() {
        let waits = || wait(std::time::Duration::ZERO, "not yet");
        let plan = Plan::new(OnFailure::Unwind).step(1, Say("a", Effect::Pure, done));
        let plan = plan.step(2, Say("b", Effect::Keyed, done)).step(3, Say("c", Effect::Pure, waits));
        let plan = plan.step(4, Say("d", Effect::Once, done)).step(5, Say("e", Effect::Pure, done));
        let plan = plan.step_when(|_| false, 6, Say("f", Effect::Pure, done));
        assert_eq!(preview(plan).await, Ok(vec!["a", "c", "e"]));
        let fails = Plan::new(OnFailure::Unwind).step(1, Say("a", Effect::Pure, || fail("no way")));
        assert_eq!(preview(fails).await, Err("a: no way".into()));
    }

    #[test]
    fn a_dry_run_says_why_it_stops() {
        let cause = || "why".into();
        let table = [
            (Halt::Wait { after: std::time::Duration::ZERO, reason: "why".into(), key: None }, "why"),
            (Halt::Retry { after: None, cause: cause() }, "why"),
            (Halt::Fail { cause: cause() }, "why"),
            (Halt::LetGo(Abandon::StoreLost("why".into())), "why"),
            (Halt::LetGo(Abandon::Fenced), "another node owns it"),
        ];
        for (halt, expected) in table {
            assert_eq!(why(&halt), expected);
        }
    }
}
