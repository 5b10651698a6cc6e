//! What programs ask of an engine, and what a step has in its hands.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use engine::secret::Sealed;
use engine::store::{Expect, LabelQuery, MemoryStore, OperationQuery, RecordUpdate, ResourceQuery, Store};
use engine::{
    Command, Effect, Engine, Halt, OnFailure, Operation, Outcome, Phase, Plan, RecordWrites, Resource,
    Settings, Step, Submission, SubmitError, Workflow, done,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use testing::workflow_test::Tally;
use testing::{FakeClient, FakeSystem, TestEngine, VirtualClock, key_ring};

use crate::scripted::{Params, Props, ScriptedEngine, record_update, register};

fn command(params: Value) -> Command {
    Command {
        name: None,
        workflow: "test.script".into(),
        tenant: "t".into(),
        resource: None,
        params,
        by: "me".into(),
        idempotency_key: None,
        queue: false,
    }
}

#[tokio::test(start_paused = true)]
async fn every_pass_begins_with_an_empty_input() {
    let stage = ScriptedEngine::with(&Props { effect: Effect::Pure, ..Props::default() }).await;
    let params = json!({"a": ["input"], "b": ["wait", "wait", "done"]});
    let id = stage.test_engine.submit("test.script", None, params).await;
    let ended = stage.test_engine.finished(id).await;
    assert_eq!((ended.shown.summary.phase, stage.runs_of("a")), (Phase::Succeeded, 3));
    assert_eq!(ended.memory.state["notes"], 1, "the first step is always the first to add to it");
}

#[tokio::test(start_paused = true)]
async fn an_operation_is_run_at_once_only_where_there_is_room() {
    let truth = Arc::new(MemoryStore::new());
    let settings = Settings { max_running: 2, ..Settings::default() };
    let builder =
        Engine::builder(truth.clone(), Arc::new(VirtualClock::seeded(3)), key_ring()).settings(settings);
    let far = FakeClient::immortal(&Arc::new(FakeSystem::default()));
    let engine = register(builder, &Props::default(), &far, &Arc::new(Tally::default())).build();
    let owner = async |id| truth.show(id).await.unwrap().unwrap().summary.owner;
    let submit = async || engine.submit_json(command(json!({"a": ["hang"]}))).await.unwrap().id;

    let before = submit().await;
    assert_eq!((owner(before).await, engine.node(), engine.running()), (None, None, 0), "it has not started");
    assert!(engine.is_ready().await.is_err() && engine.is_saving().await);
    let node = engine.start(None).await.unwrap();
    engine.is_ready().await.unwrap();
    assert_eq!(engine.node(), Some(node));
    TestEngine::eventually(async || owner(before).await == Some(node)).await;
    let (second, third) = (submit().await, submit().await);
    assert_eq!((owner(second).await, owner(third).await), (Some(node), None), "there is room for two");
    assert_eq!(engine.running(), 2);
    let stats = engine.stats().await.unwrap();
    assert_eq!((stats.owned, stats.due), (2, 1));
    engine.stop(Duration::from_millis(1)).await;
    assert!(engine.is_ready().await.is_err(), "it has left");
    assert_eq!((owner(second).await, owner(submit().await).await), (None, None), "others may take all of it");
}

#[tokio::test(start_paused = true)]
async fn work_that_waits_for_room_goes_on_as_soon_as_there_is_room() {
    let hour = Duration::from_secs(3600);
    let settings = Settings { max_running: 1, poll: hour, lease: hour * 10, ..Settings::default() };
    let (truth, clock) = (Arc::new(MemoryStore::new()), Arc::new(VirtualClock::seeded(3)));
    let builder = Engine::builder(truth, clock, key_ring()).settings(settings);
    let far = FakeClient::immortal(&Arc::new(FakeSystem::default()));
    let engine = register(builder, &Props::default(), &far, &Arc::new(Tally::default())).build();
    let node = engine.start(None).await.unwrap();
    let test_engine = TestEngine { engine, node };
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(test_engine.submit("test.script", None, json!({"a": ["slow"]})).await);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    for id in ids {
        let ended = test_engine.finished(id).await.shown.summary;
        let took = ended.finished_at.unwrap().since(ended.created_at);
        assert!(took < Duration::from_secs(60), "it waited for the next look: {took:?}");
    }
    test_engine.close().await;
}

#[tokio::test(start_paused = true)]
async fn an_engine_says_what_it_knows_about_its_workflows() {
    let stage = ScriptedEngine::new().await;
    let engine = &stage.test_engine.engine;
    assert_eq!(engine.workflows().len(), 1);
    assert!(engine.workflow("test.other").is_none());
    let info = engine.workflow("test.script").unwrap();
    assert_eq!((info.workflow.as_str(), info.about.as_str()), ("test.script", "Does what the params say."));
    assert_eq!((info.on_failure, info.deadline_seconds, info.steps.len()), ("unwind", 3600, 3));
    assert_eq!((info.version, &*info.schema), (None, &json!({"type": "object"})));
    assert!(engine.is_compiled("test.script") && !engine.is_compiled("test.other"));
    let leaves = ScriptedEngine::with(&Props { on_failure: OnFailure::Leave, ..Props::default() }).await;
    assert_eq!(leaves.test_engine.engine.workflow("test.script").unwrap().on_failure, "leave");
}

#[tokio::test(start_paused = true)]
async fn what_was_submitted_can_be_looked_at() {
    let stage = ScriptedEngine::new().await;
    let engine = &stage.test_engine.engine;
    let mut updates = engine.event_feed().watch();
    let id = stage.test_engine.submit("test.script", None, json!({"a": ["make"]})).await;
    stage.test_engine.finished(id).await;
    assert_eq!(updates.try_recv().unwrap(), (id, 1));
    let listed = engine.list(&OperationQuery { limit: 10, ..OperationQuery::default() }).await.unwrap();
    assert_eq!((listed.len(), listed[0].id), (1, id));
    let journal = engine.journal(id, 0, 100).await.unwrap();
    let after = engine.journal(id, 1, 100).await.unwrap();
    assert_eq!((journal.len(), after.len()), (journal.last().unwrap().seq as usize, journal.len() - 1));
    let inspection = stage.test_engine.inspect(id).await;
    assert_eq!((inspection.seq as usize, inspection.unreadable), (journal.len(), None));
    assert_eq!(listed[0].created_at, inspection.shown.summary.created_at);
    assert!(engine.now() >= inspection.shown.summary.finished_at.unwrap());
    assert!(engine.inspect(engine::OperationId::first_at(engine::Timestamp(0))).await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn params_have_a_limit_and_a_form() {
    let stage = ScriptedEngine::new().await;
    let engine = &stage.test_engine.engine;
    let long = |bytes: usize| command(json!({"a": ["x".repeat(bytes)]}));
    let error = engine.submit_json(long(256 * 1024)).await.unwrap_err().to_string();
    assert!(error.contains("params are larger than 262144 bytes"), "{error}");
    // The whole text is {"a":["x…"],"b":[],"c":[],"undo":[],"parts":false}.
    let rest = serde_json::to_string(&Params { a: vec![String::new()], ..Params::default() }).unwrap().len();
    engine.submit_json(long(256 * 1024 - rest)).await.unwrap();
    assert!(engine.submit_json(long(256 * 1024 - rest + 1)).await.is_err(), "one byte more");
    let error = engine.submit_json(command(json!({"a": "no list"}))).await.unwrap_err().to_string();
    assert!(error.starts_with("a: "), "the field is named: {error}");
    for (tenant, key) in [("", None), ("t", Some("")), ("t", Some("a\u{7}"))] {
        let tenant = tenant.to_owned();
        let wrong = Command { tenant, idempotency_key: key.map(str::to_owned), ..command(json!({})) };
        assert!(matches!(engine.submit_json(wrong).await, Err(SubmitError::Invalid(_))));
    }
    let name = "ä".repeat(600);
    engine.submit_json(Command { resource: Some(name), ..command(json!({})) }).await.unwrap();
    assert!(matches!(engine.signal("", json!(1)).await, Err(SubmitError::Invalid(_))));
}

#[tokio::test(start_paused = true)]
async fn records_are_written_only_by_who_has_seen_them() {
    let stage = ScriptedEngine::new().await;
    let engine = &stage.test_engine.engine;
    let write =
        async |expect, text| engine.write_resource("r", "t", expect, Some(record_update(text, None))).await;
    assert!(write(Expect::Absent, "one").await.unwrap());
    assert!(!write(Expect::Absent, "two").await.unwrap());
    assert!(write(Expect::Version(1), "two").await.unwrap());
    let row = engine.resource("r").await.unwrap().unwrap();
    assert_eq!((row.record.as_str(), row.version, row.tenant.as_str()), ("\"two\"", 2, "t"));
    assert!(engine.resource("s").await.unwrap().is_none());
    let query = ResourceQuery { kind: "script".into(), limit: 10, ..ResourceQuery::default() };
    assert_eq!(engine.resources(&query).await.unwrap().rows.len(), 1);
    let labelled =
        RecordUpdate { labels: vec![("colour".into(), "red".into())], ..record_update("three", None) };
    assert!(engine.write_resource("r", "t", Expect::Version(2), Some(labelled)).await.unwrap());
    let (key, values) = ("colour".into(), vec!["red".into(), "blue".into()]);
    let query = LabelQuery { kind: "script".into(), key, values, also_gone: false };
    assert_eq!(engine.label_counts(&query).await, Ok([("red".to_owned(), 1)].into()));
    assert!(matches!(
        engine.write_resource("", "t", Expect::Absent, None).await,
        Err(SubmitError::Invalid(_))
    ));
    let along = RecordWrites { subject: Some((Expect::Version(1), None)), ..RecordWrites::default() };
    let on_it = Command { resource: Some("r".into()), ..command(json!({})) };
    assert_eq!(engine.accept(on_it, along).await.unwrap_err(), SubmitError::Changed);
}

/// A workflow whose only step looks at everything that it has.
struct LooksWorkflow;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Observed {
    tokens: Vec<String>,
    said: Option<String>,
    seen: Option<u32>,
}

impl Workflow for LooksWorkflow {
    const KIND: &'static str = "test.looks";
    const ABOUT: &'static str = "Looks at what it has.";
    type Params = ();
    type State = Observed;
    type Input = ();
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Position {
    size: u32,
}

impl Resource for Position {
    const KIND: &'static str = "place";
    fn labels(&self) -> Vec<(&'static str, String)> {
        vec![("size", self.size.to_string())]
    }
}

struct LookStep;

#[async_trait]
impl Step<LooksWorkflow> for LookStep {
    fn name(&self) -> &'static str {
        "look"
    }
    fn title(&self) -> &'static str {
        "Looking"
    }
    async fn run(&self, op: &mut Operation<LooksWorkflow>) -> Outcome {
        op.state.tokens = ["a", "a", "b"].map(|label| op.idempotency_key(label)).to_vec();
        let missing = op.need("said", |state: &Observed| state.said.as_ref()).map(drop);
        assert!(matches!(missing, Err(Halt::Fail { cause }) if cause.as_str() == "said is not known yet"));
        op.state.said = Some("yes".into());
        assert_eq!(op.need("said", |state: &Observed| state.said.as_ref())?, "yes");
        assert_eq!(
            (op.recall_as::<u32>("times")?, op.signalled("none"), op.skipped().len()),
            (None, None, 0)
        );
        op.remember_as("times", &3_u32)?;
        assert_eq!(op.recall_as::<u32>("times")?, Some(3), "also before it is saved");
        op.save().await?;
        op.save().await?;
        assert!(op.recall_as::<String>("times").is_err(), "it is a number");
        let place = op.subject::<Position>().await?.unwrap();
        op.state.seen = Some(place.size);
        assert_eq!(op.record::<Position>("other").await?, None);
        op.set_record(&Position { size: place.size + 1 })?;
        let unknown = Sealed::parse("sealed:1:k9:AAAA").unwrap();
        assert!(matches!(op.open(&unknown), Err(Halt::Retry { .. })), "the ring may be about to come");
        let changed = Sealed::parse("sealed:1:k1:AAAA").unwrap();
        assert!(matches!(op.open(&changed), Err(Halt::Fail { .. })), "it never opens");
        let sealed = op.seal(&"secret".into());
        assert_eq!(engine::secret::ExposeSecret::expose_secret(&op.open(&sealed)?), "secret");
        assert!(op.now() > engine::Timestamp(0));
        done()
    }
}

#[tokio::test(start_paused = true)]
async fn a_step_has_facts_state_tokens_records_and_seals() {
    let truth = Arc::new(MemoryStore::new());
    let builder = TestEngine::plan(truth.clone(), Arc::new(VirtualClock::seeded(9)));
    let test_engine =
        TestEngine::open(builder.workflow(Plan::new(OnFailure::Unwind).step(1, LookStep)), None).await;
    let first = Position { size: 7 }.record_update().unwrap();
    test_engine.engine.write_resource("r", "test", Expect::Absent, Some(first)).await.unwrap();
    let id = test_engine.submit("test.looks", Some("r"), json!(null)).await;
    let ended = test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    let found: Observed = serde_json::from_value(ended.memory.state.clone()).unwrap();
    let [a, again, b] = &found.tokens[..] else { panic!("three tokens") };
    assert!(a == again && a != b && a.starts_with(&id.0.simple().to_string()), "{found:?}");
    assert_eq!((found.seen, ended.memory.facts["times"].clone()), (Some(7), json!(3)));
    let row = test_engine.engine.resource("r").await.unwrap().unwrap();
    assert_eq!((row.record.as_str(), row.kind.as_str()), ("{\"size\":8}", "place"));
    assert_eq!(test_engine.kinds(id).await, "created stepped finished", "nothing new is not saved again");
    let sealer = test_engine.engine.sealer("test", "r");
    let other = test_engine.engine.sealer("test", "s");
    let sealed = sealer.seal(&"x".into());
    assert!(sealer.open(&sealed).is_ok() && other.open(&sealed).is_err());
}

/// Takes params from programs, and none from clients.
struct Typed;

impl Workflow for Typed {
    const KIND: &'static str = "test.typed";
    const ABOUT: &'static str = "Has params that are made elsewhere.";
    type Params = Position;
    type State = ();
    type Input = ();

    fn admit(_: Value, _: &engine::secret::Sealer) -> Result<Position, String> {
        Err("not from outside".into())
    }
}

#[tokio::test(start_paused = true)]
async fn typed_params_are_saved_as_they_are_and_admitted_only_when_they_come_as_json() {
    let builder = TestEngine::plan(Arc::new(MemoryStore::new()), Arc::new(VirtualClock::seeded(9)));
    let test_engine = TestEngine::open(builder.workflow(Plan::<Typed>::new(OnFailure::Leave)), None).await;
    let json = Command { workflow: "test.typed".into(), ..command(json!({"size": 7})) };
    let refused = test_engine.engine.submit_json(json).await.unwrap_err();
    assert_eq!(refused, SubmitError::Invalid("not from outside".into()));
    let submit = async |size| {
        let subject = Some((Expect::Absent, Some(Position { size }.record_update().unwrap())));
        let order = Submission::<Typed> {
            tenant: "t",
            resource: Some("r"),
            name: Some(" web\nevents "),
            params: &Position { size },
            by: "me",
            idempotency_key: Some("k"),
            queue: false,
            along: RecordWrites { subject, ..RecordWrites::default() },
        };
        test_engine.engine.submit(order).await
    };
    let first = submit(7).await.unwrap();
    assert!(!first.repeated);
    let shown = test_engine.finished(first.id).await.shown;
    assert_eq!(shown.params, r#"{"size":7}"#);
    assert_eq!(shown.summary.name.as_deref(), Some("web events"), "in one line");
    assert_eq!(test_engine.engine.resource("r").await.unwrap().unwrap().record, r#"{"size":7}"#);
    assert_eq!(submit(7).await.unwrap().id, first.id, "the same key for the same params");
    assert_eq!(submit(8).await.unwrap_err(), SubmitError::KeyReused);
}
