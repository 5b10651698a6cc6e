//! A dry run: every step shows what it would do, and nothing is sent or kept.

use std::sync::Arc;

use serde_json::Value;

use crate::clock::Clock;
use crate::event::Changes;
use crate::feed::Feed;
use crate::ids::{NodeId, OperationId};
use crate::memory::Memory;
use crate::operation::{Book, Operation};
use crate::outcome::{Halt, LetGo};
use crate::plan::Plan;
use crate::registry::sealing_context;
use crate::secret::{KeyRing, Sealer, SharedRing};
use crate::store::{Expect, Hold, MemoryStore, Portrait, ResourceWrite, Store, Write};
use crate::workflow::Workflow;

/// What a dry run begins with.
pub struct Rehearsal {
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
        asked: Rehearsal,
        record: impl FnOnce(&Sealer) -> Result<Portrait, String>,
    ) -> Result<Operation<W>, String> {
        let Rehearsal { tenant, resource, params, clock } = asked;
        let ring = SharedRing::new(KeyRing::generate());
        let sealer = Sealer::new(&ring, sealing_context(&tenant, Some(&resource), W::KIND));
        let store = Arc::new(MemoryStore::new());
        let write = ResourceWrite {
            name: resource.clone(),
            tenant: tenant.clone(),
            expect: Expect::Absent,
            portrait: Some(record(&sealer)?),
            at: clock.now(),
        };
        store.commit(Write::Resource(Box::new(write))).await.map_err(|error| error.to_string())?;
        let id = OperationId::new(&*clock);
        let mut op = Operation {
            id,
            tenant,
            resource: Some(resource),
            params: W::admit(params, &sealer)?,
            state: W::State::default(),
            input: W::Input::default(),
            book: Book {
                memory: Memory::default(),
                seq: 0,
                hold: Hold { id, node: NodeId(id.0), epoch: 0 },
                pending: Changes::default(),
                portrait: None,
                portrayed: None,
                unknown: None,
                sealer,
                store,
                clock,
                feed: Feed::default(),
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
        Halt::Retry { cause, .. } | Halt::Fail { cause } => cause.to_string(),
        Halt::LetGo(LetGo::StoreLost(why)) => why.clone(),
        Halt::LetGo(LetGo::Fenced) => "it belongs to somebody else".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dry_run_says_why_it_stops() {
        let cause = || "why".into();
        let table = [
            (Halt::Wait { after: std::time::Duration::ZERO, reason: "why".into(), key: None }, "why"),
            (Halt::Retry { after: None, cause: cause() }, "why"),
            (Halt::Fail { cause: cause() }, "why"),
            (Halt::LetGo(LetGo::StoreLost("why".into())), "why"),
            (Halt::LetGo(LetGo::Fenced), "it belongs to somebody else"),
        ];
        for (halt, expected) in table {
            assert_eq!(why(&halt), expected);
        }
    }
}
