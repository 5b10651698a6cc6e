//! Two releases on one database: a plan with one step more, a state with one field more, in both directions.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use engine::store::{MemoryStore, SavedReader, SealedColumn, SealedWriter};
use engine::{
    Effect, Fact, Inspection, OnFailure, Operation, OperationId, Outcome, Phase, Plan, Release, Step,
    Workflow, done, fail, wait_for,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use testing::{Death, DyingStore, FakeClient, FakeSystem, TestEngine, VirtualClock};

const LONG: Duration = Duration::from_secs(600);

/// What differs between the releases of the workflow.
trait Build: Send + Sync + 'static {
    type State: engine::Record + Default;
    const RELEASE: Release;
    const PAINTS: bool;
    fn count(state: &mut Self::State);
    fn colour(_state: &mut Self::State) {}
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct OldState {
    count: u32,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct NewState {
    count: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    colour: Option<String>,
}

struct Old;
impl Build for Old {
    type State = OldState;
    const RELEASE: Release = Release([1, 0, 0]);
    const PAINTS: bool = false;
    fn count(state: &mut OldState) {
        state.count += 1;
    }
}

/// The next release has a step more.
struct New;
impl Build for New {
    type State = NewState;
    const RELEASE: Release = Release([1, 1, 0]);
    const PAINTS: bool = true;
    fn count(state: &mut NewState) {
        state.count += 1;
    }
    fn colour(state: &mut NewState) {
        state.colour = Some("red".into());
    }
}

/// The next release has the same steps, and saves more.
struct Fix;
impl Build for Fix {
    type State = NewState;
    const RELEASE: Release = Release([1, 0, 1]);
    const PAINTS: bool = false;
    fn count(state: &mut NewState) {
        state.count += 1;
        Fix::colour(state);
    }
    fn colour(state: &mut NewState) {
        state.colour = Some("red".into());
    }
}

struct UpgradeWorkflow<B>(PhantomData<B>);

#[derive(Debug, Default, Serialize, Deserialize)]
struct Params {
    /// The step that waits for the signal `go`.
    holds: String,
    #[serde(default)]
    fails: bool,
    /// Whether the effects must not be repeated, and the last one never answers.
    #[serde(default)]
    hangs: bool,
}

impl<B: Build> Workflow for UpgradeWorkflow<B> {
    const KIND: &'static str = "test.upgrade";
    const ABOUT: &'static str = "Has a step more in the next release.";
    type Params = Params;
    type State = B::State;
    type Input = ();
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct ReadFields {
    times: u32,
}
impl Fact for ReadFields {
    const KEY: &'static str = "upgrade.seen";
}

struct Make<B> {
    name: &'static str,
    effect: Effect,
    far: FakeClient,
    /// How often the last step has run.
    runs: Arc<AtomicU32>,
    build: PhantomData<B>,
}

#[async_trait]
impl<B: Build> Step<UpgradeWorkflow<B>> for Make<B> {
    fn name(&self) -> &'static str {
        self.name
    }
    fn title(&self) -> &'static str {
        "Making"
    }
    fn effect(&self) -> Effect {
        self.effect
    }
    async fn run(&self, op: &mut Operation<UpgradeWorkflow<B>>) -> Outcome {
        if op.params.holds == self.name && op.signalled("go").is_none() {
            return wait_for("go", LONG * 100, "the test has not said go");
        }
        if self.name == "last" {
            self.runs.fetch_add(1, Ordering::Relaxed);
        }
        self.far.make(&op.idempotency_key(self.name)).await?;
        if op.params.hangs && self.name == "last" {
            return std::future::pending().await;
        }
        let seen = op.recall::<ReadFields>()?.unwrap_or_default();
        op.remember(&ReadFields { times: seen.times + 1 })?;
        match self.name {
            "paint" => B::colour(&mut op.state),
            _ => B::count(&mut op.state),
        }
        if op.params.fails && self.name == "last" { fail("no way") } else { done() }
    }
    async fn undo(&self, op: &mut Operation<UpgradeWorkflow<B>>) -> Outcome {
        if self.name == "last" && op.signalled("back").is_none() {
            return wait_for("back", LONG * 100, "the test has not said back");
        }
        self.far.take_back(&op.idempotency_key(self.name)).await?;
        done()
    }
}

/// A database on which replicas of several releases come and go.
struct UpgradeSite {
    truth: Arc<MemoryStore>,
    world: Arc<FakeSystem>,
    clock: Arc<VirtualClock>,
    effect: Effect,
    runs: Arc<AtomicU32>,
}

impl UpgradeSite {
    fn new() -> UpgradeSite {
        let clock = Arc::new(VirtualClock::seeded(5));
        UpgradeSite {
            truth: Arc::default(),
            world: Arc::default(),
            clock,
            effect: Effect::Keyed,
            runs: Arc::default(),
        }
    }

    async fn replica<B: Build>(&self) -> (TestEngine, Arc<DyingStore>) {
        let store = Arc::new(DyingStore::new(self.truth.clone(), Death::Never));
        let far = FakeClient::new(&self.world, store.death_flag());
        let step = |name| {
            let (far, runs) = (far.clone(), Arc::clone(&self.runs));
            Make::<B> { name, effect: self.effect, far, runs, build: PhantomData }
        };
        let mut plan = Plan::new(OnFailure::Unwind).step(10, step("first"));
        if B::PAINTS {
            plan = plan.step(15, step("paint"));
        }
        let plan = plan.step(20, step("hold")).step(30, step("last"));
        let builder = TestEngine::plan(store.clone(), self.clock.clone()).release(B::RELEASE).workflow(plan);
        (TestEngine::open(builder, None).await, store)
    }

    async fn begin<B: Build>(&self, params: serde_json::Value) -> OperationId {
        let (test_engine, _) = self.replica::<B>().await;
        let id = test_engine.submit("test.upgrade", None, params).await;
        test_engine.until(id, |phase| phase == Phase::Waiting).await;
        test_engine.close().await;
        id
    }

    /// A replica of this release alone for a while, with everything due; what it makes of the operation.
    async fn meanwhile<B: Build>(&self, id: OperationId) -> Inspection {
        let (test_engine, _) = self.replica::<B>().await;
        signal(&test_engine).await;
        tokio::time::sleep(LONG).await;
        let left = test_engine.inspect(id).await;
        test_engine.close().await;
        left
    }

    async fn end<B: Build>(&self, id: OperationId) -> Inspection {
        let (test_engine, _) = self.replica::<B>().await;
        signal(&test_engine).await;
        let ended = test_engine.until(id, |phase| phase.is_final() || phase == Phase::Stuck).await;
        test_engine.close().await;
        ended
    }

    fn stands(&self) -> usize {
        self.world.standing().len()
    }
}

/// Ends every wait of the steps.
async fn signal(test_engine: &TestEngine) {
    for key in ["go", "back"] {
        test_engine.engine.signal(key, json!({})).await.unwrap();
    }
}

#[track_caller]
fn assert_rests(left: &Inspection, part: &str) {
    let summary = &left.shown.summary;
    let reason = summary.reason.as_deref().unwrap_or_default();
    assert!(reason.contains(part), "{reason}");
    assert!(summary.owner.is_none() && summary.due_at.is_some(), "another node takes it: {summary:?}");
    assert_ne!(summary.phase, Phase::Stuck);
}

#[tokio::test(start_paused = true)]
async fn an_older_replica_leaves_a_step_that_it_does_not_have_to_a_newer_one() {
    let site = UpgradeSite::new();
    let id = site.begin::<New>(json!({"holds": "hold"})).await;
    assert_eq!(site.stands(), 2, "the new step has run");
    let before = site.truth.unfinished(None, 1).await.unwrap();
    assert_rests(&site.meanwhile::<Old>(id).await, "release 1.1.0 created it");
    assert_eq!(site.truth.unfinished(None, 1).await.unwrap(), before, "nothing was written");
    let ended = site.end::<New>(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded);
    assert_eq!((ended.memory.state["colour"].as_str(), site.stands()), (Some("red"), 4));
}

#[tokio::test(start_paused = true)]
async fn an_older_replica_leaves_a_plan_alone_whose_new_step_has_not_started() {
    let site = UpgradeSite::new();
    let id = site.begin::<New>(json!({"holds": "first"})).await;
    assert_rests(&site.meanwhile::<Old>(id).await, "with other steps than this release has");
    let ended = site.end::<New>(id).await;
    assert_eq!(
        (ended.shown.summary.phase, site.stands()),
        (Phase::Succeeded, 4),
        "the new step was not left out"
    );
}

#[tokio::test(start_paused = true)]
async fn an_older_replica_does_not_undo_without_the_new_step() {
    let site = UpgradeSite::new();
    let (new, _) = site.replica::<New>().await;
    let id = new.submit("test.upgrade", None, json!({"holds": "", "fails": true})).await;
    new.until(id, |phase| phase == Phase::Undoing).await;
    new.close().await;
    let left = site.meanwhile::<Old>(id).await;
    assert_rests(&left, "this release");
    assert_eq!(left.shown.summary.phase, Phase::Undoing);
    assert!(site.stands() > 0);
    let ended = site.end::<New>(id).await;
    assert_eq!((ended.shown.summary.phase, site.stands()), (Phase::Undone, 0), "nothing is left behind");
}

#[tokio::test(start_paused = true)]
async fn a_newer_replica_ends_what_an_older_one_began_with_its_own_plan() {
    let site = UpgradeSite::new();
    let id = site.begin::<Old>(json!({"holds": "hold"})).await;
    let ended = site.end::<New>(id).await;
    assert_eq!((ended.shown.summary.phase, site.stands()), (Phase::Succeeded, 4));
    assert_eq!(ended.memory.state["colour"], "red");
}

#[tokio::test(start_paused = true)]
async fn a_rolling_upgrade_that_is_rolled_back_and_done_again_loses_nothing() {
    let site = UpgradeSite::new();
    let id = site.begin::<Old>(json!({"holds": "last"})).await;
    // The new replica runs its step and waits; then only the old one is there.
    let (new, _) = site.replica::<New>().await;
    TestEngine::eventually(async || {
        if site.stands() >= 3 {
            return true;
        }
        new.engine.signal("wake", json!({})).await.unwrap();
        new.engine.ask(id, engine::PhaseVerb::Pause, "t", "").await.ok();
        new.engine.ask(id, engine::PhaseVerb::Resume, "t", "").await.ok();
        false
    })
    .await;
    new.until(id, |phase| phase == Phase::Waiting).await;
    new.close().await;
    assert_rests(&site.meanwhile::<Old>(id).await, "step paint, which this release does not have");
    let ended = site.end::<New>(id).await;
    assert_eq!((ended.shown.summary.phase, site.stands()), (Phase::Succeeded, 4));
    assert_eq!(ended.memory.state["colour"], "red");
}

#[tokio::test(start_paused = true)]
async fn fields_that_an_older_replica_does_not_know_survive_its_work() {
    let site = UpgradeSite::new();
    let id = site.begin::<Fix>(json!({"holds": "hold"})).await;
    // A newer release also remembers more, and saves more with a fact.
    let rows = site.truth.sealed_page(SealedColumn::Memory, "", None).await.unwrap().rows;
    let mut memory: serde_json::Value = serde_json::from_str(&rows[0].text).unwrap();
    memory["frozen"] = json!({"by": "policy"});
    memory["facts"]["upgrade.seen"]["where"] = json!("here");
    assert!(site.truth.replace_sealed(&rows[0], &memory.to_string()).await.unwrap());

    let (old, _) = site.replica::<Old>().await;
    signal(&old).await;
    let ended = old.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "the same steps: an older replica may end it");
    assert_eq!(ended.memory.facts["upgrade.seen"], json!({"times": 4, "where": "here"}));
    assert_eq!(ended.memory.state, json!({"count": 4, "colour": "red"}));
}

#[tokio::test(start_paused = true)]
async fn what_is_put_down_by_an_older_replica_keeps_the_memory_of_a_newer_one() {
    let site = UpgradeSite::new();
    let id = site.begin::<Fix>(json!({"holds": "last"})).await;
    let rows = site.truth.sealed_page(SealedColumn::Memory, "", None).await.unwrap().rows;
    let mut memory: serde_json::Value = serde_json::from_str(&rows[0].text).unwrap();
    memory["frozen"] = json!({"by": "policy"});
    assert!(site.truth.replace_sealed(&rows[0], &memory.to_string()).await.unwrap());
    let (old, _) = site.replica::<Old>().await;
    old.engine.ask(id, engine::PhaseVerb::Pause, "t", "").await.unwrap();
    let paused = old.until(id, |phase| phase == Phase::Paused).await;
    assert_eq!(paused.memory.unknown["frozen"], json!({"by": "policy"}));
    let saved = site.truth.unfinished(None, 1).await.unwrap().remove(0);
    assert!(saved.events.is_empty() && saved.memory.unwrap().contains(r#""frozen":{"by":"policy"}"#));
}

#[tokio::test(start_paused = true)]
async fn a_call_with_an_unknown_outcome_is_not_repeated_after_an_older_replica_had_it() {
    let site = UpgradeSite { effect: Effect::Once, ..UpgradeSite::new() };
    let (new, store) = site.replica::<New>().await;
    let id = new.submit("test.upgrade", None, json!({"holds": "", "hangs": true})).await;
    TestEngine::eventually(async || site.stands() == 4).await;
    store.kill();
    site.truth.expire(new.node);
    assert_rests(&site.meanwhile::<Old>(id).await, "release 1.1.0 created it");
    let ended = site.end::<New>(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Stuck);
    assert!(ended.memory.stuck.unwrap().cause.as_str().starts_with("it is unknown whether last happened"));
    assert_eq!(site.runs.load(Ordering::Relaxed), 1, "it was not repeated");
}

#[tokio::test(start_paused = true)]
async fn a_check_with_each_release_says_what_it_could_not_end() {
    let site = UpgradeSite::new();
    let by_new = site.begin::<New>(json!({"holds": "first"})).await;
    let by_old = site.begin::<Old>(json!({"holds": "first"})).await;
    let (old, _) = site.replica::<Old>().await;
    let (count, found) = old.engine.check_unfinished(&*site.truth).await.unwrap();
    assert_eq!((count, found.len(), found[0].operation), (2, 1, by_new), "{found:?}");
    old.close().await;
    let (new, _) = site.replica::<New>().await;
    let (count, found) = new.engine.check_unfinished(&*site.truth).await.unwrap();
    assert_eq!((count, found.len()), (2, 0), "{found:?}");
    assert_ne!(by_new, by_old);
}
