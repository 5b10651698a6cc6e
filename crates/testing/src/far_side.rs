//! A scripted outside system that keeps a ledger of what was really done to it.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::Halt;

/// The outside, as it is for everybody.
#[derive(Default)]
pub struct World(Mutex<Books>);

#[derive(Default)]
struct Books {
    ledger: BTreeMap<String, Line>,
    troubles: Vec<Trouble>,
}

/// What the world remembers about one token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    pub made: u32,
    pub taken_back: u32,
}

/// What goes wrong with one of the next calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// It breaks before anything happened.
    Before,
    /// It happens, and the answer is lost.
    LostAnswer,
    /// It takes this long.
    Slow(Duration),
}

impl World {
    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn plan_trouble(&self, trouble: Trouble) {
        self.books().troubles.push(trouble);
    }

    pub fn ledger(&self) -> BTreeMap<String, Line> {
        self.books().ledger.clone()
    }

    /// Tokens of everything that stands in the world now.
    pub fn standing(&self) -> Vec<String> {
        let books = self.books();
        let stands = books.ledger.iter().filter(|(_, line)| line.made > line.taken_back);
        stands.map(|(token, _)| token.clone()).collect()
    }
}

/// One process's way to the world. It ends when the process dies.
#[derive(Clone)]
pub struct FarSide {
    world: Arc<World>,
    is_dead: Arc<AtomicBool>,
}

impl FarSide {
    pub fn new(world: &Arc<World>, is_dead: Arc<AtomicBool>) -> FarSide {
        FarSide { world: Arc::clone(world), is_dead }
    }

    /// A way to the world for a process that does not die.
    pub fn immortal(world: &Arc<World>) -> FarSide {
        FarSide::new(world, Arc::default())
    }

    /// Creates what belongs to this token, unless it is there already.
    pub async fn make(&self, token: &str) -> Result<(), Halt> {
        self.call(|books| {
            let line = books.ledger.entry(token.to_owned()).or_default();
            if line.made == line.taken_back {
                line.made += 1;
            }
        })
        .await
    }

    /// Removes what belongs to this token; nothing there is fine.
    pub async fn take_back(&self, token: &str) -> Result<(), Halt> {
        self.call(|books| {
            if let Some(line) = books.ledger.get_mut(token).filter(|line| line.made > line.taken_back) {
                line.taken_back += 1;
            }
        })
        .await
    }

    async fn call(&self, effect: impl FnOnce(&mut Books)) -> Result<(), Halt> {
        let trouble = self.world.books().troubles.pop();
        if let Some(Trouble::Slow(latency)) = trouble {
            tokio::time::sleep(latency).await;
        }
        if self.is_dead.load(Ordering::SeqCst) {
            // A dead process makes no calls and hears no answers.
            return pending().await;
        }
        if trouble == Some(Trouble::Before) {
            return Err(Halt::Retry { after: None, cause: "the far side broke".into() });
        }
        effect(&mut self.world.books());
        if trouble == Some(Trouble::LostAnswer) {
            return Err(Halt::Retry { after: None, cause: "the answer was lost".into() });
        }
        Ok(())
    }
}
