//! A call that may not be repeated blindly: what the next pass knows about it, and what that costs.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use engine::store::MemoryStore;
use engine::{Calls, LostCall, OnFailure, Operation, Outcome, Phase, Plan, Step, Timestamp, Workflow, done};
use serde_json::json;
use testing::workflow_test::Tally;
use testing::{TestEngine, VirtualClock};

struct Buy;

impl Workflow for Buy {
    const KIND: &'static str = "test.buy";
    const ABOUT: &'static str = "Buys something from a shop that recognises no order.";
    type Params = ();
    type State = Option<String>;
    type Input = ();
}

const CALL: &str = "order.called";
const SETTLE: Duration = Duration::from_secs(60);

/// What was ordered; the shop remembers nothing else.
type Shop = Arc<Tally>;

struct ShopOrder {
    shop: Shop,
    answer: Result<(), &'static str>,
}

#[async_trait]
impl Step<Buy> for ShopOrder {
    fn name(&self) -> &'static str {
        "order"
    }
    fn title(&self) -> &'static str {
        "Ordering"
    }
    async fn run(&self, op: &mut Operation<Buy>) -> Outcome {
        if op.state.is_some() {
            return done();
        }
        if op.attempt(CALL).unknown()?.is_some() {
            if self.shop.count() > 0 {
                op.attempt(CALL).adopt()?;
                op.state = Some("adopted".into());
                return done();
            }
            op.attempt(CALL).settle(SETTLE, |_| Duration::MAX)?;
        }
        let call = async {
            self.answer?;
            self.shop.note("order");
            Ok::<(), &str>(())
        };
        op.attempt("never.called").note("nothing".into())?;
        match op.attempt(CALL).call(call, |error| *error == "silence").await? {
            Ok(()) => op.state = Some("made".into()),
            Err(error) => op.attempt(CALL).note(format!("it said {error}"))?,
        }
        if let Err(error) = self.answer {
            return Err(engine::Halt::Fail { cause: error.into() });
        }
        assert!(op.calls("never.called")?.is_none());
        done()
    }
}

/// A step before the order that announces it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Announce {
    Now,
    /// As releases did that saved the time of a call alone, and died then.
    Earlier,
}

#[async_trait]
impl Step<Buy> for Announce {
    fn name(&self) -> &'static str {
        "announce"
    }
    fn title(&self) -> &'static str {
        "Announcing the order"
    }
    async fn run(&self, op: &mut Operation<Buy>) -> Outcome {
        match self {
            _ if op.calls(CALL)?.is_some() => {}
            Announce::Now => op.attempt(CALL).announce()?,
            Announce::Earlier => op.remember_as(CALL, &op.now())?,
        }
        done()
    }
}

/// Loses the first calls in these ways.
struct Loses(ShopOrder, Arc<Mutex<Vec<LostCall>>>);

#[async_trait]
impl Step<Buy> for Loses {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn title(&self) -> &str {
        self.0.title()
    }
    async fn run(&self, op: &mut Operation<Buy>) -> Outcome {
        let lost = Arc::clone(&self.1);
        op.lose_calls(Arc::new(move |_| lost.lock().unwrap().pop()));
        self.0.run(op).await
    }
}

struct EndedRun {
    phase: Phase,
    state: String,
    kinds: String,
    calls: Calls,
    ordered: u64,
    /// From the first call to the last.
    took: Duration,
}

async fn buy(lost: &[LostCall], announce: Option<Announce>, answer: Result<(), &'static str>) -> EndedRun {
    let shop = Shop::default();
    let order = ShopOrder { shop: Arc::clone(&shop), answer };
    let plan = Plan::new(OnFailure::Leave);
    let plan = if let Some(announce) = announce { plan.step(1, announce) } else { plan };
    let plan = plan.step(2, Loses(order, Arc::new(Mutex::new(lost.to_vec()))));
    let clock = Arc::new(VirtualClock::seeded(1));
    let builder = TestEngine::plan(Arc::new(MemoryStore::new()), clock).workflow(plan);
    let test_engine = TestEngine::open(builder, None).await;
    let id = test_engine.submit(Buy::KIND, None, json!(null)).await;
    let ended = test_engine.finished(id).await;
    let calls: Calls = serde_json::from_value(ended.memory.facts[CALL].clone()).unwrap();
    let took = calls.last.since(calls.first);
    let state = ended.memory.state.as_str().unwrap_or_default().to_owned();
    let (phase, kinds) = (ended.shown.summary.phase, test_engine.kinds(id).await);
    test_engine.close().await;
    EndedRun { phase, state, kinds, calls, ordered: shop.count(), took }
}

#[tokio::test(start_paused = true)]
async fn an_answered_call_costs_one_save_before_it() {
    let ended = buy(&[], None, Ok(())).await;
    assert_eq!((ended.phase, ended.state.as_str()), (Phase::Succeeded, "made"));
    assert_eq!(ended.kinds, "created stepped finished");
    assert_eq!((ended.calls.unknown_since, ended.calls.times), (None, 1));
}

#[tokio::test(start_paused = true)]
async fn an_announced_call_costs_no_save_of_its_own_and_is_not_taken_for_unknown() {
    let ended = buy(&[], Some(Announce::Now), Ok(())).await;
    assert_eq!((ended.state.as_str(), ended.calls.times), ("made", 1));
    // The one in the middle starts the step that makes the call.
    assert_eq!(ended.kinds, "created stepped finished");
}

#[tokio::test(start_paused = true)]
async fn an_announced_call_whose_answer_is_lost_is_unknown_in_the_next_pass() {
    let ended = buy(&[LostCall::Answer], Some(Announce::Now), Ok(())).await;
    assert_eq!((ended.state.as_str(), ended.ordered), ("adopted", 1));
    assert_eq!(ended.calls.unknown_since, None);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_carried_out_is_adopted_and_not_repeated() {
    let ended = buy(&[LostCall::Answer], None, Ok(())).await;
    assert_eq!((ended.state.as_str(), ended.ordered, ended.calls.times), ("adopted", 1, 1));
    assert!(!ended.calls.is_doubled);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_never_arrived_is_repeated_once_it_cannot_arrive_any_longer() {
    let ended = buy(&[LostCall::Request, LostCall::Request], None, Ok(())).await;
    assert_eq!((ended.state.as_str(), ended.ordered, ended.calls.times), ("made", 1, 3));
    assert!(ended.took >= SETTLE * 2, "{:?}", ended.took);
    assert!(ended.calls.is_doubled, "the external system may have carried out both");
}

#[tokio::test(start_paused = true)]
async fn an_error_leaves_the_end_unknown_only_if_the_call_may_have_happened() {
    let refused = buy(&[], None, Err("refused")).await;
    assert_eq!((refused.phase, refused.calls.unknown_since), (Phase::Failed, None));
    assert_eq!(refused.calls.note.as_deref(), Some("it said refused"));
    let silent = buy(&[], None, Err("silence")).await;
    assert!(silent.calls.unknown_since > Some(Timestamp(0)));
    let refused_later = buy(&[LostCall::Request], None, Err("refused")).await;
    assert!(
        refused_later.calls.unknown_since.is_some(),
        "the first call is not settled by a second that failed"
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_an_earlier_release_saved_is_unknown() {
    let ended = buy(&[], Some(Announce::Earlier), Ok(())).await;
    assert_eq!((ended.state.as_str(), ended.ordered, ended.calls.times), ("made", 1, 2));
    assert!(ended.took >= SETTLE && ended.calls.is_doubled, "{:?}", ended.took);
}

#[test]
fn the_shapes_of_earlier_releases_are_read() {
    let read = |saved| serde_json::from_value::<Calls>(saved).unwrap();
    let (first, last) = (Timestamp(5_000_000), Timestamp(7_000_000));
    let calls = read(json!({"first": first, "last": last, "open": last, "earlier": null}));
    assert_eq!((calls.first, calls.last, calls.unknown_since), (first, last, Some(last)));
    let calls = read(json!({"at": last, "times": 3, "trouble": "silence"}));
    assert_eq!((calls.unknown_since, calls.times, calls.note.as_deref()), (Some(last), 3, Some("silence")));
    for (saved, unknown_since) in [
        (json!({"at": null, "times": 1}), None),
        (json!(last), Some(last)),
        (json!(null), None),
        (json!(true), Some(Timestamp(0))),
    ] {
        assert_eq!(read(saved.clone()).unknown_since, unknown_since, "{saved}");
    }
}

#[test]
fn what_is_written_is_read_back() {
    let (first, last) = (Timestamp(5_000_000), Timestamp(7_000_000));
    let written =
        json!({"first": first, "last": last, "open": last, "earlier": first, "is_doubled": true, "times": 2});
    let mut noted: Calls = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(json!(noted), written);
    noted.note = Some("silence".into());
    assert_eq!(serde_json::from_value::<Calls>(json!(noted)).unwrap(), noted);
}
