//! A scripted external system with a ledger of its effects.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::Halt;

/// The outside, as it is for everybody.
#[derive(Default)]
pub struct FakeSystem(Mutex<FakeBooks>);

#[derive(Default)]
struct FakeBooks {
    ledger: BTreeMap<String, KeyLog>,
    faults: Vec<CallFault>,
}

/// What the world remembers about one token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyLog {
    pub made: u32,
    pub taken_back: u32,
}

/// What goes wrong with one of the next calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallFault {
    /// It breaks before anything happened.
    Before,
    /// It happens, and the answer is lost.
    LostAnswer,
    /// It takes this long.
    Slow(Duration),
}

impl FakeSystem {
    fn effects(&self) -> MutexGuard<'_, FakeBooks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn plan_fault(&self, fault: CallFault) {
        self.effects().faults.push(fault);
    }

    pub fn ledger(&self) -> BTreeMap<String, KeyLog> {
        self.effects().ledger.clone()
    }

    /// Tokens of everything that stands in the world now.
    pub fn standing(&self) -> Vec<String> {
        let effects = self.effects();
        let stands = effects.ledger.iter().filter(|(_, line)| line.made > line.taken_back);
        stands.map(|(token, _)| token.clone()).collect()
    }
}

/// One process's way to the world. It ends when the process dies.
#[derive(Clone)]
pub struct FakeClient {
    world: Arc<FakeSystem>,
    is_dead: Arc<AtomicBool>,
}

impl FakeClient {
    pub fn new(world: &Arc<FakeSystem>, is_dead: Arc<AtomicBool>) -> FakeClient {
        FakeClient { world: Arc::clone(world), is_dead }
    }

    /// A way to the world for a process that does not die.
    pub fn immortal(world: &Arc<FakeSystem>) -> FakeClient {
        FakeClient::new(world, Arc::default())
    }

    /// Creates what belongs to this token, unless it is there already.
    pub async fn make(&self, token: &str) -> Result<(), Halt> {
        self.call(|effects| {
            let line = effects.ledger.entry(token.to_owned()).or_default();
            if line.made == line.taken_back {
                line.made += 1;
            }
        })
        .await
    }

    /// Removes what belongs to this token; nothing there is fine.
    pub async fn take_back(&self, token: &str) -> Result<(), Halt> {
        self.call(|effects| {
            if let Some(line) = effects.ledger.get_mut(token).filter(|line| line.made > line.taken_back) {
                line.taken_back += 1;
            }
        })
        .await
    }

    async fn call(&self, effect: impl FnOnce(&mut FakeBooks)) -> Result<(), Halt> {
        let fault = self.world.effects().faults.pop();
        if let Some(CallFault::Slow(latency)) = fault {
            tokio::time::sleep(latency).await;
        }
        if self.is_dead.load(Ordering::SeqCst) {
            // A dead process makes no calls and hears no answers.
            return pending().await;
        }
        if fault == Some(CallFault::Before) {
            return Err(Halt::Retry { after: None, cause: "the external system broke".into() });
        }
        effect(&mut self.world.effects());
        if fault == Some(CallFault::LostAnswer) {
            return Err(Halt::Retry { after: None, cause: "the answer was lost".into() });
        }
        Ok(())
    }
}
