//! How long launches wait, with the settings that everybody has: hours go by in a moment.

use std::sync::Arc;
use std::time::Duration;

use ::launch::model::cloud::Category;
use ::launch::model::params::LaunchRequest;
use ::launch::model::profile::AfterPivot;
use ::launch::model::sources::{DefaultSource, SourceDirectory};
use ::launch::model::status::{LaunchPhase, View};
use ::launch::model::{LaunchSettings, Launches};
use ::launch::workflows::notice::{self, Notices};
use ::launch::workflows::termination::{self, TerminationProgress};
use engine::store::{MemoryStore, Store};
use engine::{Clock, Phase, PhaseVerb, Settings, Timestamp};
use testing::{TestEngine, VirtualClock};

use super::cloud::ScriptedCloud;
use super::site::{BegunLaunch, begin, launch_only, owner, view};

struct PatienceFixture {
    cloud: Arc<ScriptedCloud>,
    clock: Arc<VirtualClock>,
    test_engine: TestEngine,
}

impl PatienceFixture {
    async fn open() -> PatienceFixture {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let accounts =
            SourceDirectory::built_in(Arc::clone(&store)).with_defaults(DefaultSource::all_of_sandbox());
        let cloud = Arc::new(ScriptedCloud::default());
        let launches = Launches::new(accounts, Arc::clone(&store), LaunchSettings::default());
        let launches = Arc::new(launches.with_provider(Arc::clone(&cloud) as _));
        let clock = Arc::new(VirtualClock::seeded(7));
        // Nothing is urgent here: looking for work every few milliseconds would make hours long.
        let (poll, lease) = (Duration::from_secs(60), Duration::from_secs(600));
        let settings = Settings { poll, lease, ..Settings::default() };
        let builder = TestEngine::plan(store, Arc::clone(&clock) as _)
            .settings(settings)
            .workflow(::launch::workflows::launch::plan(&launches))
            .workflow(termination::plan(&launches))
            .workflow(notice::plan(&Notices::none()));
        PatienceFixture { cloud, clock, test_engine: TestEngine::open(builder, None).await }
    }

    async fn begin(&self, asked: &LaunchRequest) -> (BegunLaunch, Timestamp) {
        (begin(&self.test_engine, asked).await, self.clock.now())
    }

    async fn rests(&self, begun: BegunLaunch) -> View {
        self.look_every(Duration::from_secs(5), begun, |view| view.stage.is_over()).await
    }

    async fn until(&self, begun: BegunLaunch, wanted: impl Fn(&View) -> bool) -> View {
        self.look_every(Duration::from_millis(100), begun, wanted).await
    }

    async fn look_every(&self, pause: Duration, begun: BegunLaunch, wanted: impl Fn(&View) -> bool) -> View {
        loop {
            let view = view(&self.test_engine, begun).await;
            if wanted(&view) {
                return view;
            }
            self.clock.sleep(pause).await;
        }
    }
}

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test(start_paused = true)]
async fn capacity_is_waited_for_half_an_hour() {
    let scene = PatienceFixture::open().await;
    scene.cloud.fail_create(Some(Category::Capacity));
    let (begun, began) = scene.begin(&launch_only(1)).await;
    let view = scene.rests(begun).await;
    assert_eq!((view.stage, scene.cloud.standing()), (LaunchPhase::Failed, (0, 0)));
    let took = scene.clock.now().since(began);
    assert!(took > HOUR / 3 && took < HOUR * 2 / 3, "{took:?}");
    assert!((20..120).contains(&scene.cloud.creates()), "{} calls", scene.cloud.creates());
    scene.test_engine.close().await;
}

#[tokio::test(start_paused = true)]
async fn addresses_are_waited_for_five_minutes() {
    for (after_pivot, stage, standing) in [
        (AfterPivot::Forward, LaunchPhase::SucceededWithWarnings, (2, 1)),
        (AfterPivot::Rollback, LaunchPhase::Failed, (0, 0)),
    ] {
        let scene = PatienceFixture::open().await;
        scene.cloud.give_no_addresses();
        let mut asked = launch_only(2);
        asked.profile.after_pivot = after_pivot;
        let (begun, began) = scene.begin(&asked).await;
        let view = scene.rests(begun).await;
        assert_eq!((view.stage, scene.cloud.standing()), (stage, standing));
        let took = scene.clock.now().since(began).as_secs();
        assert!((300..340).contains(&took), "{took}");
        scene.test_engine.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn failure_on_the_way_back_may_last_for_hours_and_then_needs_a_person() {
    for (lasts, stage) in [(HOUR * 5, LaunchPhase::Cancelled), (HOUR * 7, LaunchPhase::FailedDirty)] {
        let scene = PatienceFixture::open().await;
        scene.cloud.give_no_addresses();
        scene.cloud.fail_delete(Some(Category::Network));
        let (begun, _) = scene.begin(&launch_only(1)).await;
        scene.test_engine.until(begun.id, |phase| phase == Phase::Waiting).await;
        scene.test_engine.engine.ask(begun.id, PhaseVerb::Cancel, "anna", "").await.unwrap();
        scene.clock.sleep(lasts).await;
        scene.cloud.fail_delete(None);
        let view = scene.rests(begun).await;
        assert_eq!(view.stage, stage);
        assert_eq!(view.record.state.leftovers.len(), usize::from(stage == LaunchPhase::FailedDirty));
        if stage == LaunchPhase::FailedDirty {
            scene.test_engine.engine.ask(begun.id, PhaseVerb::Retry, "operator", "").await.unwrap();
            scene.test_engine.finished(begun.id).await;
        }
        assert_eq!(scene.cloud.standing(), (0, 0));
        scene.test_engine.close().await;
    }
}

/// What a call made whose answer was lost, and that shows only while it is being taken back.
async fn takes_back_what_comes_late(is_key: bool) {
    let scene = PatienceFixture::open().await;
    if is_key {
        scene.cloud.fall_silent();
    } else {
        scene.cloud.fail_create(Some(Category::Capacity));
    }
    let (begun, _) = scene.begin(&launch_only(1)).await;
    scene.until(begun, |view| view.record.state.error.is_some()).await;
    if !is_key {
        scene.cloud.fail_create(None);
        scene.cloud.fall_silent();
        let is_lost =
            |view: &View| view.record.state.error.as_ref().is_some_and(|error| error.category == "timeout");
        scene.until(begun, is_lost).await;
        // A later call that fails for sure does not say what became of the one before.
        scene.cloud.fail_create(Some(Category::Throttle));
        scene.until(begun, |view| !is_lost(view)).await;
    }
    scene.test_engine.engine.ask(begun.id, PhaseVerb::Cancel, "anna", "").await.unwrap();
    scene.clock.sleep(Duration::from_secs(5)).await;
    scene.cloud.arrive();
    let view = scene.rests(begun).await;
    assert_eq!((view.stage, scene.cloud.standing()), (LaunchPhase::Cancelled, (0, 0)));
    scene.test_engine.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_key_pair_that_shows_up_late_is_taken_back() {
    takes_back_what_comes_late(true).await;
}

#[tokio::test(start_paused = true)]
async fn instances_that_show_up_late_are_taken_back() {
    takes_back_what_comes_late(false).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_without_an_answer_is_made_again_only_after_it_has_settled() {
    let scene = PatienceFixture::open().await;
    scene.cloud.fail_create(Some(Category::Capacity));
    let (begun, _) = scene.begin(&launch_only(1)).await;
    scene.until(begun, |view| view.record.state.error.is_some()).await;
    scene.cloud.fail_create(None);
    scene.cloud.fall_silent();
    let before = scene.cloud.creates();
    scene.until(begun, |_| scene.cloud.creates() > before).await;
    scene.clock.sleep(Duration::from_secs(14)).await;
    assert_eq!(scene.cloud.creates(), before + 1, "it was made again too early");
    scene.clock.sleep(Duration::from_secs(5)).await;
    assert_eq!(scene.cloud.creates(), before + 2);
    scene.cloud.arrive();
    let view = scene.rests(begun).await;
    assert_eq!((view.stage, scene.cloud.standing()), (LaunchPhase::Succeeded, (1, 1)));
    assert_eq!(scene.cloud.creates(), before + 2, "what was there was not taken over");
    scene.test_engine.close().await;
}

/// A cloud whose lists lag says so; until then an instance that is not listed may still be there, and be paid for.
#[tokio::test(start_paused = true)]
async fn an_instance_that_is_not_listed_counts_as_gone_after_the_time_of_its_cloud() {
    for (settle, least, most) in [(None, 15, 45), (Some(Duration::from_secs(60)), 60, 100)] {
        let scene = PatienceFixture::open().await;
        if let Some(settle) = settle {
            scene.cloud.shows_after(settle);
        }
        let (begun, _) = scene.begin(&launch_only(1)).await;
        let view = scene.rests(begun).await;
        let id = view.record.state.instances[0].instance.id.clone();
        scene.cloud.forget_instances();
        let engine = &scene.test_engine.engine;
        let instance = termination::find(engine, &owner(), &id).await.unwrap();
        let began = scene.clock.now();
        let asked = termination::ask(engine, &owner(), &instance).await.unwrap();
        let TerminationProgress::Terminating(operation) = asked else { panic!("{asked:?}") };
        scene.test_engine.finished(operation).await;
        let took = scene.clock.now().since(began).as_secs();
        assert!((least..most).contains(&took), "{settle:?}: {took} s");
        scene.test_engine.close().await;
    }
}
