//! Operations to measure with: ten steps that each save a fact, a wait, and a step to be killed in.

use std::sync::atomic::{AtomicU64, Ordering};

use engine::prelude::*;
use tokio::sync::Notify;

/// Ten steps, each of which saves a fact of its own.
pub(super) struct Ten;

impl Workflow for Ten {
    const KIND: &'static str = "bench.ten";
    const ABOUT: &'static str = "Saves ten facts in ten steps.";
    type Params = ();
    type State = ();
    type Input = ();
}

#[derive(Serialize, Deserialize)]
struct NumberedParams<const N: usize> {
    text: String,
}

const KEYS: [&str; 10] =
    ["fact.0", "fact.1", "fact.2", "fact.3", "fact.4", "fact.5", "fact.6", "fact.7", "fact.8", "fact.9"];
const NAMES: [&str; 10] = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];

impl<const N: usize> Fact for NumberedParams<N> {
    const KEY: &'static str = KEYS[N];
}

struct Save<const N: usize>;

#[async_trait]
impl<const N: usize> Step<Ten> for Save<N> {
    fn name(&self) -> &'static str {
        NAMES[N]
    }

    fn title(&self) -> &'static str {
        "Saving a fact"
    }

    async fn run(&self, op: &mut Operation<Ten>) -> Outcome {
        op.remember(&NumberedParams::<N> { text: "forty bytes of something that was learnt".into() })?;
        done()
    }
}

pub(super) fn ten() -> Plan<Ten> {
    Plan::new(OnFailure::Unwind)
        .step(1, Save::<0>)
        .step(2, Save::<1>)
        .step(3, Save::<2>)
        .step(4, Save::<3>)
        .step(5, Save::<4>)
        .step(6, Save::<5>)
        .step(7, Save::<6>)
        .step(8, Save::<7>)
        .step(9, Save::<8>)
        .step(10, Save::<9>)
}

/// Waits for a signal that does not come.
pub(super) struct Idle;

impl Workflow for Idle {
    const KIND: &'static str = "bench.idle";
    const ABOUT: &'static str = "Waits.";
    type Params = ();
    type State = ();
    type Input = ();
}

struct Sit;

#[async_trait]
impl Step<Idle> for Sit {
    fn name(&self) -> &'static str {
        "sit"
    }

    fn title(&self) -> &'static str {
        "Waiting for a signal that does not come"
    }

    async fn run(&self, op: &mut Operation<Idle>) -> Outcome {
        wait_for(format!("bench-{}", op.id), Duration::from_hours(12), "no process calls")
    }
}

pub(super) fn idle() -> Plan<Idle> {
    Plan::new(OnFailure::Unwind).step(1, Sit)
}

/// Stands in the middle of a step until its process is killed; the next process finishes it.
pub(super) struct HeldStep;

impl Workflow for HeldStep {
    const KIND: &'static str = "bench.held";
    const ABOUT: &'static str = "Stands in a step until its process is killed.";
    type Params = ();
    type State = ();
    type Input = ();
}

/// How many operations have reached the step.
#[derive(Default)]
pub(super) struct Reached {
    pub(super) count: AtomicU64,
    pub(super) changed: Notify,
}

struct HoldWorkflow {
    reached: Arc<Reached>,
    is_first_life: bool,
}

#[async_trait]
impl Step<HeldStep> for HoldWorkflow {
    fn name(&self) -> &'static str {
        "hold"
    }

    fn title(&self) -> &'static str {
        "Standing in the middle"
    }

    fn limit(&self) -> Option<Duration> {
        Some(Duration::from_hours(1))
    }

    async fn run(&self, _op: &mut Operation<HeldStep>) -> Outcome {
        self.reached.count.fetch_add(1, Ordering::SeqCst);
        self.reached.changed.notify_one();
        if self.is_first_life {
            std::future::pending::<()>().await;
        }
        done()
    }
}

pub(super) fn held(reached: &Arc<Reached>, is_first_life: bool) -> Plan<HeldStep> {
    Plan::new(OnFailure::Unwind).step(1, HoldWorkflow { reached: Arc::clone(reached), is_first_life })
}
