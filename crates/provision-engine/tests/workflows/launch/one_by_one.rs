//! Launches in a cloud that makes things one by one, says late that it has no room, and leaves parts behind.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ::launch::model::admit;
use ::launch::model::cloud::ProviderKind;
use ::launch::model::params::{LaunchRequest, RequestedImage};
use ::launch::model::profile::{Partial, Surface};
use ::launch::model::record::LaunchRecord;
use ::launch::model::sources::{DefaultSource, SourceDirectory};
use ::launch::model::status::{LaunchPhase, View};
use ::launch::model::{LaunchSettings, Launches};
use ::launch::workflows::launch::Launch;
use ::launch::workflows::notice::{self, Notices};
use async_trait::async_trait;
use engine::store::{Expect, MemoryStore, Store};
use engine::{Engine, Phase, PhaseVerb, Plan, Resource, WallClock};
use serde_json::{Value, json};
use testing::TestEngine;
use testing::workflow_test::{self, WorkflowTest};
use uuid::Uuid;

use super::site::{BegunLaunch, begin, launch_only, patiently, quick, view};
use super::slow_cloud::SlowCloud;

const IMAGE: &str = "/subscriptions/7/resourceGroups/images/providers/Microsoft.Compute/images/web";

fn three() -> LaunchRequest {
    let mut asked = launch_only(3);
    asked.provider = ProviderKind::Azure;
    asked.image = RequestedImage::Cloud { id: IMAGE.into() };
    let parameters = asked.parameters.as_mut().unwrap();
    parameters.plain.region = "eastus".into();
    parameters.plain.instance_type = Some("Standard_B1ms".into());
    asked.profile.surface = vec![Surface::Inventory];
    asked
}

fn launches(cloud: &Arc<SlowCloud>, store: &Arc<dyn Store>, settings: LaunchSettings) -> Arc<Launches> {
    let accounts =
        SourceDirectory::built_in(Arc::clone(store)).with_defaults(DefaultSource::all_of_sandbox());
    Arc::new(Launches::new(accounts, Arc::clone(store), settings).with_provider(Arc::clone(cloud) as _))
}

struct OneByOne {
    cloud: Arc<SlowCloud>,
    launches: Arc<Launches>,
    asked: Mutex<LaunchRequest>,
}

impl OneByOne {
    fn of(cloud: SlowCloud) -> OneByOne {
        let (cloud, store) = (Arc::new(cloud), Arc::new(MemoryStore::new()) as Arc<dyn Store>);
        let launches = launches(&cloud, &store, quick());
        OneByOne { cloud, launches, asked: Mutex::new(three()) }
    }

    fn asked(&self) -> LaunchRequest {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl WorkflowTest for OneByOne {
    type Workflow = Launch;

    fn plan(&self) -> Plan<Launch> {
        ::launch::workflows::launch::plan(&self.launches)
    }

    fn params(&self) -> Value {
        json!(self.asked())
    }

    fn resource(&self) -> Option<String> {
        Some(LaunchRecord::resource(self.asked().launch))
    }

    async fn prepare(&self, engine: &Engine) {
        let asked = LaunchRequest { launch: Uuid::now_v7(), ..three() };
        *self.asked.lock().unwrap() = asked.clone();
        let resource = LaunchRecord::resource(asked.launch);
        let params = admit::params(asked, &engine.sealer("test", &resource)).unwrap();
        let record_update = LaunchRecord::accepted(&params).record_update().unwrap();
        assert!(engine.write_resource(&resource, "test", Expect::Absent, Some(record_update)).await.unwrap());
    }

    fn attempts(&self) -> Vec<&'static str> {
        vec!["prepare_network.called", "launch_instances.called"]
    }

    async fn standing(&self) -> Vec<String> {
        self.cloud.standing()
    }

    async fn clear(&self) {
        self.cloud.clear();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_launch_that_is_made_one_by_one_passes_all_workflow_tests() {
    workflow_test::check_all(&OneByOne::of(SlowCloud::default())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_launch_that_goes_on_by_itself_passes_all_workflow_tests() {
    workflow_test::check_all(&OneByOne::of(SlowCloud::in_bulk(Duration::from_millis(5)))).await;
}

struct Scene {
    cloud: Arc<SlowCloud>,
    test_engine: TestEngine,
}

impl Scene {
    async fn open(settings: LaunchSettings) -> Scene {
        Scene::with(SlowCloud::default(), settings).await
    }

    async fn with(cloud: SlowCloud, settings: LaunchSettings) -> Scene {
        let (cloud, store) = (Arc::new(cloud), Arc::new(MemoryStore::new()) as Arc<dyn Store>);
        let launches = launches(&cloud, &store, settings);
        let builder = TestEngine::plan(store, Arc::new(WallClock))
            .workflow(::launch::workflows::launch::plan(&launches))
            .workflow(notice::plan(&Notices::none()));
        Scene { cloud, test_engine: TestEngine::open(builder, None).await }
    }

    async fn rests(&self, begun: BegunLaunch) -> View {
        self.test_engine.until(begun.id, |phase| phase.is_final() || phase == Phase::Stuck).await;
        view(&self.test_engine, begun).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_cancelled_launch_still_makes_is_waited_for_and_deleted() {
    let scene = Scene::with(SlowCloud::in_bulk(Duration::from_millis(400)), quick()).await;
    let begun = begin(&scene.test_engine, &three()).await;
    patiently(async || (!scene.cloud.tokens().is_empty()).then_some(())).await;
    scene.test_engine.engine.ask(begun.id, PhaseVerb::Cancel, "anna", "").await.unwrap();
    let view = scene.rests(begun).await;
    assert_eq!(view.stage, LaunchPhase::Cancelled);
    assert_eq!(scene.cloud.standing(), Vec::<String>::new());
    assert!(!scene.cloud.is_at_it(), "the cloud would make more");
    scene.test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn room_that_is_missing_late_is_asked_for_with_a_new_key() {
    let scene = Scene::open(quick()).await;
    scene.cloud.has_no_room(2);
    let begun = begin(&scene.test_engine, &three()).await;
    let view = scene.rests(begun).await;
    assert_eq!(view.stage, LaunchPhase::Succeeded, "{:?}", view.record.state.error);
    let tokens = scene.cloud.tokens();
    assert_eq!((tokens.len(), tokens.iter().collect::<BTreeSet<_>>().len()), (3, 3));
    assert_eq!(scene.cloud.standing().len(), 3 * 3 + 2);
    scene.test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn room_that_never_comes_ends_the_launch_in_time_and_leaves_nothing() {
    let patience = Duration::from_millis(200);
    let scene = Scene::open(LaunchSettings { capacity_patience: patience, ..quick() }).await;
    scene.cloud.has_no_room(u32::MAX);
    let begun = begin(&scene.test_engine, &three()).await;
    let view = scene.rests(begun).await;
    let error = view.record.state.error.unwrap();
    assert_eq!((view.stage, error.category.as_str()), (LaunchPhase::Failed, "capacity"));
    assert_eq!(error.provider_code.as_deref(), Some("NoRoom"));
    assert_eq!(scene.cloud.standing(), Vec::<String>::new());
    scene.test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fewer_are_kept_where_that_is_allowed_and_their_parts_go() {
    let scene = Scene::open(quick()).await;
    scene.cloud.fits(2);
    let mut asked = three();
    asked.profile.partial = Partial::Keep;
    let begun = begin(&scene.test_engine, &asked).await;
    let view = scene.rests(begun).await;
    assert_eq!(view.stage, LaunchPhase::SucceededWithWarnings);
    assert_eq!(view.record.state.warnings, ["only 2 of 3 instances could be launched"]);
    assert_eq!(scene.cloud.standing().len(), 2 * 3 + 2, "{:?}", scene.cloud.standing());
    scene.test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_deleted_is_named_and_goes_later() {
    let scene = Scene::open(LaunchSettings { capacity_patience: Duration::ZERO, ..quick() }).await;
    scene.cloud.has_no_room(u32::MAX);
    scene.cloud.lock(true);
    let begun = begin(&scene.test_engine, &three()).await;
    let view = scene.rests(begun).await;
    assert_eq!(view.stage, LaunchPhase::FailedDirty);
    let left = &view.record.state.leftovers;
    assert_eq!(left.iter().map(|left| left.kind.as_str()).collect::<Vec<_>>(), ["part"], "{left:?}");
    assert!(left[0].note.contains("the group is locked"), "{left:?}");

    scene.cloud.lock(false);
    scene.test_engine.engine.ask(begun.id, PhaseVerb::Retry, "operator", "").await.unwrap();
    scene.test_engine.finished(begun.id).await;
    let ended = super::site::view(&scene.test_engine, begun).await;
    assert_eq!((ended.stage, ended.record.state.leftovers.len()), (LaunchPhase::Failed, 0));
    assert_eq!(scene.cloud.standing(), Vec::<String>::new());
    scene.test_engine.close().await;
}
