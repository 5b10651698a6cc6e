//! A workflow whose steps do what the params say.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use engine::store::{MemoryStore, RecordUpdate};
use engine::{
    Effect, EngineBuilder, Fact, OnFailure, Operation, Outcome, Plan, Settings, Settled, Step, Timestamp,
    Workflow, done, fail, retry, skip, wait, wait_for,
};
use serde::{Deserialize, Serialize};
use testing::workflow_test::Tally;
use testing::{FakeClient, FakeSystem, TestEngine, VirtualClock};

pub(crate) struct StepScript;

/// What each of the three steps does, such as `{"a": "make", "b": ["wait", "done"], "c": "fail"}`. A list is
/// one answer per run; the last one stays.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Params {
    #[serde(default)]
    pub(crate) a: Vec<String>,
    #[serde(default)]
    pub(crate) b: Vec<String>,
    #[serde(default)]
    pub(crate) c: Vec<String>,
    #[serde(default)]
    pub(crate) undo: Vec<String>,
    /// Whether the record of its resource says in the end how it came to rest.
    #[serde(default)]
    pub(crate) parts: bool,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct State {
    pub(crate) notes: u32,
}

impl Workflow for StepScript {
    const KIND: &'static str = "test.script";
    const ABOUT: &'static str = "Does what the params say.";
    const DEADLINE: Duration = Duration::from_secs(3600);
    type Params = Params;
    type State = State;
    type Input = u32;

    fn on_settled(op: &Operation<StepScript>, rest: &Settled<'_>) -> Option<RecordUpdate> {
        let said = format!("{} {}", rest.phase, rest.step.unwrap_or("nowhere"));
        op.params.parts.then(|| record_update(&said, rest.phase.is_final().then_some(rest.at)))
    }
}

pub(crate) fn record_update(record: &str, gone_at: Option<Timestamp>) -> RecordUpdate {
    let record = format!("{record:?}");
    RecordUpdate { kind: "script".into(), record, labels: Vec::new(), gone_at, due_at: None }
}

pub(crate) struct Scripted {
    pub(crate) name: &'static str,
    pub(crate) effect: Effect,
    pub(crate) far: FakeClient,
    pub(crate) tally: Arc<Tally>,
}

/// How often a step has run, kept outside: facts would change what is saved.
fn nth<'a>(script: &'a [String], tally: &Tally, key: &str) -> &'a str {
    let before = tally.seen().iter().filter(|seen| *seen == key).count();
    script.get(before).or(script.last()).map_or("done", String::as_str)
}

#[derive(Serialize, Deserialize)]
struct CreatedThing(String);
impl Fact for CreatedThing {
    const KEY: &'static str = "scripted.made";
}

impl Scripted {
    async fn act(&self, word: &str, op: &mut Operation<StepScript>) -> Outcome {
        match word {
            "make" => {
                self.far.make(&op.idempotency_key(self.name)).await?;
                op.remember(&CreatedThing(op.idempotency_key(self.name)))?;
                done()
            }
            "make_and_fail" => {
                self.far.make(&op.idempotency_key(self.name)).await?;
                fail("made it, then failed")
            }
            "note" => {
                op.state.notes += 1;
                done()
            }
            "input" => {
                op.state.notes = op.input;
                done()
            }
            "slow" => {
                tokio::time::sleep(Duration::from_secs(5)).await;
                done()
            }
            "wait" => wait(Duration::from_secs(10), "the world needs time"),
            "signal" => match op.signalled("ready") {
                Some(_) => done(),
                None => wait_for("ready", Duration::from_secs(600), "no callback has come yet"),
            },
            "retry" => retry("not today"),
            "fail" => fail("no way"),
            "skip" => skip("not needed"),
            "panic" => panic!("boom"),
            "hang" => std::future::pending().await,
            "done" => done(),
            other => fail(format!("no such word: {other}")),
        }
    }
}

#[async_trait]
impl Step<StepScript> for Scripted {
    fn name(&self) -> &'static str {
        self.name
    }
    fn title(&self) -> &'static str {
        "Following the script"
    }
    fn effect(&self) -> Effect {
        self.effect
    }
    fn driver(&self) -> Option<&'static str> {
        Some("script")
    }
    async fn run(&self, op: &mut Operation<StepScript>) -> Outcome {
        op.input += 1;
        let script = match self.name {
            "a" => &op.params.a,
            "b" => &op.params.b,
            _ => &op.params.c,
        };
        let key = format!("{}:{}", op.id, self.name);
        let word = nth(script, &self.tally, &key).to_owned();
        self.tally.note(key);
        self.act(&word, op).await
    }
    async fn undo(&self, op: &mut Operation<StepScript>) -> Outcome {
        let key = format!("undo {}:{}", op.id, self.name);
        let word = nth(&op.params.undo, &self.tally, &key).to_owned();
        self.tally.note(key);
        if word != "done" {
            return self.act(&word, op).await;
        }
        self.far.take_back(&op.idempotency_key(self.name)).await?;
        done()
    }
}

/// A house with the script in it, and all that a test looks at.
pub(crate) struct ScriptedEngine {
    pub(crate) test_engine: TestEngine,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) world: Arc<FakeSystem>,
    pub(crate) tally: Arc<Tally>,
}

pub(crate) struct Props {
    pub(crate) on_failure: OnFailure,
    pub(crate) effect: Effect,
    pub(crate) is_clean_up: bool,
    /// The condition of step b does not hold.
    pub(crate) leaves_out_b: bool,
}

impl Default for Props {
    fn default() -> Self {
        Props {
            on_failure: OnFailure::Unwind,
            effect: Effect::Keyed,
            is_clean_up: false,
            leaves_out_b: false,
        }
    }
}

impl ScriptedEngine {
    pub(crate) async fn new() -> ScriptedEngine {
        ScriptedEngine::with(&Props::default()).await
    }

    pub(crate) async fn with(props: &Props) -> ScriptedEngine {
        ScriptedEngine::build(props, |builder| builder).await
    }

    /// With other settings than the default ones.
    pub(crate) async fn with_settings(change: impl FnOnce(&mut Settings)) -> ScriptedEngine {
        let mut settings = Settings::default();
        change(&mut settings);
        ScriptedEngine::build(&Props::default(), |builder| builder.settings(settings)).await
    }

    pub(crate) async fn build(
        props: &Props,
        change: impl FnOnce(EngineBuilder) -> EngineBuilder,
    ) -> ScriptedEngine {
        let store = Arc::new(MemoryStore::new());
        let (world, tally) = (Arc::new(FakeSystem::default()), Arc::new(Tally::default()));
        let far = FakeClient::immortal(&world);
        let clock = Arc::new(VirtualClock::seeded(1));
        let builder = change(TestEngine::plan(store.clone(), clock));
        let builder = register(builder, props, &far, &tally);
        ScriptedEngine { test_engine: TestEngine::open(builder, None).await, store, world, tally }
    }

    pub(crate) fn runs_of(&self, step: &str) -> usize {
        self.tally.seen().iter().filter(|seen| !seen.starts_with("undo") && seen.ends_with(step)).count()
    }
}

pub(crate) fn register(
    builder: EngineBuilder,
    props: &Props,
    far: &FakeClient,
    tally: &Arc<Tally>,
) -> EngineBuilder {
    let step = |name| Scripted { name, effect: props.effect, far: far.clone(), tally: Arc::clone(tally) };
    let plan = Plan::new(props.on_failure).retrigger(Duration::from_secs(60), 3).step(10, step("a"));
    let plan = if props.is_clean_up {
        plan.clean_up(20, step("b"))
    } else if props.leaves_out_b {
        plan.step_when(|_| false, 20, step("b"))
    } else {
        plan.step(20, step("b"))
    };
    builder.workflow(plan.step(30, step("c")))
}
