//! How the engine has been doing: a few numbers, taken every half minute and kept for an hour, and the last events.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::store::Stats;
use engine::{OperationId, Timestamp};
use server::{Inside, Meter};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

const EVERY: Duration = Duration::from_secs(30);
const SAMPLES_MAX: usize = 120;
const EVENTS_MAX: usize = 8;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) at: Timestamp,
    pub(crate) stats: Stats,
    /// Operations that ended since the sample before.
    pub(crate) finished: u64,
}

#[derive(Clone)]
pub(crate) struct Pulse {
    kept: Arc<Mutex<Kept>>,
}

#[derive(Default)]
struct Kept {
    samples: VecDeque<Sample>,
    finished: u64,
    events: VecDeque<(OperationId, u32)>,
}

impl Pulse {
    /// Begins to take samples; ends with the process.
    pub(crate) fn start(inside: &Inside, meter: Arc<Meter>) -> Pulse {
        let pulse = Pulse { kept: Arc::default() };
        tokio::spawn(pulse.clone().keep_sampling(inside.clone(), meter));
        tokio::spawn(pulse.clone().keep_listening(inside.clone(), inside.engine().feed().watch()));
        pulse
    }

    fn open(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn samples(&self) -> Vec<Sample> {
        self.open().samples.iter().copied().collect()
    }

    /// Newest first.
    pub(crate) fn events(&self) -> Vec<(OperationId, u32)> {
        self.open().events.iter().rev().copied().collect()
    }

    async fn keep_sampling(self, inside: Inside, meter: Arc<Meter>) {
        let mut clock = tokio::time::interval(EVERY);
        loop {
            tokio::select! {
                () = inside.closing().cancelled() => return,
                _ = clock.tick() => {}
            }
            let Ok(stats) = inside.engine().stats().await else { continue };
            let total = meter.finished_so_far();
            let mut kept = self.open();
            let finished = total.saturating_sub(std::mem::replace(&mut kept.finished, total));
            if kept.samples.len() == SAMPLES_MAX {
                kept.samples.pop_front();
            }
            kept.samples.push_back(Sample { at: inside.engine().now(), stats, finished });
        }
    }

    async fn keep_listening(self, inside: Inside, mut news: Receiver<(OperationId, u32)>) {
        loop {
            let heard = tokio::select! {
                () = inside.closing().cancelled() => return,
                heard = news.recv() => heard,
            };
            match heard {
                Ok(event) => {
                    let events = &mut self.open().events;
                    // One line for each operation: its last.
                    events.retain(|(id, _)| *id != event.0);
                    if events.len() == EVENTS_MAX {
                        events.pop_front();
                    }
                    events.push_back(event);
                }
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            }
        }
    }
}
