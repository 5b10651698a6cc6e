//! How many calls of a step may be under way in this process, over all versions of its workflow.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::Semaphore;

use crate::declaration::StepDeclaration;

/// The gates of one workflow, by step. The newest version that has a step says its limit; calls of older versions count
/// as well.
#[derive(Clone, Default)]
pub(crate) struct Gates(Arc<RwLock<BTreeMap<String, Gate>>>);

struct Gate {
    version: u32,
    limit: Option<usize>,
    places: Arc<Semaphore>,
}

impl Gates {
    /// What a version says about its steps.
    pub(crate) fn set(&self, version: u32, steps: &[StepDeclaration]) {
        let mut gates = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for step in steps {
            let gate = gates.entry(step.name.clone()).or_insert_with(|| Gate::new(version, step.limit));
            if gate.version <= version {
                gate.version = version;
                gate.change(step.limit);
            }
        }
    }

    pub(crate) fn of(&self, step: &str) -> Option<Arc<Semaphore>> {
        let gates = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let gate = gates.get(step)?;
        gate.limit.map(|_| Arc::clone(&gate.places))
    }
}

impl Gate {
    fn new(version: u32, limit: Option<usize>) -> Gate {
        Gate { version, limit, places: Arc::new(Semaphore::new(limit.unwrap_or_default())) }
    }

    fn change(&mut self, limit: Option<usize>) {
        match (self.limit, limit) {
            (Some(before), Some(now)) if now > before => self.places.add_permits(now - before),
            (Some(before), Some(now)) => self.take_away(before - now),
            (None, Some(now)) => self.places = Arc::new(Semaphore::new(now)),
            (_, None) => {}
        }
        self.limit = limit;
    }

    /// Calls that are under way keep their places until they end; they are waited for before another one begins.
    fn take_away(&self, count: usize) {
        let at_once = self.places.forget_permits(count);
        let Ok(later) = u32::try_from(count - at_once) else { return };
        if later > 0 {
            let places = Arc::clone(&self.places);
            tokio::spawn(async move {
                if let Ok(taken) = places.acquire_many_owned(later).await {
                    taken.forget();
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(limit: Option<usize>) -> Vec<StepDeclaration> {
        let limit = limit.map(|limit| format!(", limit: {limit}")).unwrap_or_default();
        let text = format!(
            "{{workflow: a.b, title: T, steps: [{{name: s, weight: 1, title: S, url: 'http://127.0.0.1/'{limit}}}]}}"
        );
        let read = crate::Declaration::parse(&text, external_step::Reach::default());
        read.unwrap_or_else(|wrong| panic!("{wrong}")).steps
    }

    #[tokio::test]
    async fn versions_share_the_places_and_the_newest_says_how_many() {
        let gates = Gates::default();
        gates.set(1, &step(Some(2)));
        let first = gates.of("s").unwrap().acquire_owned().await.unwrap();
        let second = gates.of("s").unwrap().acquire_owned().await.unwrap();
        gates.set(2, &step(Some(2)));
        assert!(gates.of("s").unwrap().try_acquire_owned().is_err(), "the calls of version 1 count");
        gates.set(3, &step(Some(3)));
        let third = gates.of("s").unwrap().try_acquire_owned().unwrap();
        gates.set(1, &step(Some(9)));
        assert!(gates.of("s").unwrap().try_acquire_owned().is_err(), "an older version says nothing");
        gates.set(4, &step(Some(1)));
        tokio::task::yield_now().await;
        drop((first, second));
        tokio::task::yield_now().await;
        assert!(
            gates.of("s").unwrap().try_acquire_owned().is_err(),
            "one is under way, and one is the limit"
        );
        drop(third);
        let _only = gates.of("s").unwrap().acquire_owned().await.unwrap();
        assert!(gates.of("s").unwrap().try_acquire_owned().is_err());
        gates.set(5, &step(None));
        assert!(gates.of("s").is_none() && gates.of("other").is_none());
    }
}
