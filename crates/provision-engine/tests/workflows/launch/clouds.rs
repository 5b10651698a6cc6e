//! Launches at Azure and Google: the same trials as at AWS, judged by the ledger of the sandbox.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ::launch::model::cloud::{Provider, ProviderKind};
use ::launch::model::params::{LaunchRequest, RequestedImage};
use ::launch::model::profile::Partial;
use ::launch::model::status::LaunchPhase;
use ::launch::model::{LaunchSettings, Launches};
use ::launch::workflows::termination::{self, TerminationProgress};
use azure::Azure;
use engine::{Phase, PhaseVerb};
use google::Google;
use serde_json::json;
use testing::workflow_test;

use super::site::{LaunchSite, launch_only, patiently, quick};
use super::workflow_tests::LaunchTest;

pub(super) const SUBSCRIPTION: &str = "4b9d213f-712f-4d17-a483-8a10bbe9df3a";
const PROJECT: &str = "sandbox-project-7";
const ORG: &str = "000013";
const POLL: Duration = Duration::from_millis(10);

fn at_azure(amount: u32) -> LaunchRequest {
    let image =
        format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/images/providers/Microsoft.Compute/images/web");
    elsewhere(ProviderKind::Azure, &image, "westeurope", "Standard_B2s", amount)
}

fn at_google(amount: u32) -> LaunchRequest {
    let image = format!("projects/{PROJECT}/global/images/web");
    elsewhere(ProviderKind::Gcp, &image, "us-central1-a", "e2-medium", amount)
}

fn elsewhere(provider: ProviderKind, image: &str, region: &str, kind: &str, amount: u32) -> LaunchRequest {
    let mut asked = launch_only(amount);
    asked.provider = provider;
    asked.image = RequestedImage::Cloud { id: image.to_owned() };
    let parameters = asked.parameters.as_mut().unwrap();
    parameters.plain.source_id = format!("sandbox-{provider}");
    parameters.plain.region = region.into();
    parameters.plain.instance_type = Some(kind.to_owned());
    asked
}

/// The accounts belong to the organisation of the tests, and everything is quick.
pub(super) async fn prepare(site: &mut LaunchSite) {
    let image =
        format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/images/providers/Microsoft.Compute/images/web");
    site.put("/azure/delegations", &json!({"subscription": SUBSCRIPTION, "orgs": [ORG]})).await;
    site.post("/azure/images", &json!({"id": image, "location": "westeurope", "generation": "V2"})).await;
    let delays = json!({"running_ms": 5, "network_ms": 2, "terminate_ms": 5, "reserve_ms": 20,
        "list_lag_ms": 0, "resources_lag_ms": 0, "register_ms": 5});
    site.put("/azure/delay_times", &delays).await;
    for family in [None, Some("standardBSFamily")] {
        site.put("/azure/quota", &json!({"family": family, "vcpus": 1_000_000})).await;
    }
    let metrics = ["CPUS", "CPUS_ALL_REGIONS", "INSTANCES", "IN_USE_ADDRESSES", "SSD_TOTAL_GB"];
    let quotas: BTreeMap<&str, u64> = metrics.into_iter().map(|metric| (metric, 1_000_000)).collect();
    let project = json!({"labels": {"provision-engine-org": ORG}, "quotas": quotas});
    site.put(&format!("/gcp/projects/{PROJECT}"), &project).await;
    site.post("/gcp/images", &json!({"project": PROJECT, "name": "web"})).await;
    let pace = json!({"create_ms": 5, "running_ms": 5, "rollback_ms": 5, "terminate_ms": 5});
    site.put("/gcp/pace", &pace).await;
    let url = site.url();
    let azure = Azure::new(&azure::Options { poll: POLL, ..azure::Options::beside(&url) }).unwrap();
    let google = Google::new(&google::Options { poll: POLL, ..google::Options::beside(&url) }).unwrap();
    let clouds: [Arc<dyn Provider>; 2] = [Arc::new(azure), Arc::new(google)];
    let launches: Launches = (*site.launches).clone();
    site.launches = Arc::new(clouds.into_iter().fold(launches, Launches::with_provider));
}

async fn workflow_test_of(ask: fn() -> LaunchRequest) -> LaunchTest {
    let mut workflow_test = LaunchTest::of(ask).await;
    prepare(&mut workflow_test.site).await;
    workflow_test
}

async fn site(settings: LaunchSettings) -> LaunchSite {
    let mut site = LaunchSite::with(settings).await;
    prepare(&mut site).await;
    site
}

/// What stands in the ledger, by kind.
pub(super) async fn standing(site: &LaunchSite) -> BTreeMap<String, usize> {
    let ledger = site.get("/ledger").await;
    let mut kinds = BTreeMap::new();
    for effect in ledger["effects"].as_array().unwrap() {
        *kinds.entry(effect["kind"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    kinds
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_launch_at_azure_passes_all_workflow_tests() {
    workflow_test::check_all(&workflow_test_of(|| at_azure(2)).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_launch_at_azure_in_a_named_group_passes_all_workflow_tests() {
    let workflow_test = workflow_test_of(|| {
        let mut asked = at_azure(2);
        asked.parameters.as_mut().unwrap().plain.resource_group = Some("images".to_owned());
        asked
    });
    workflow_test::check_all(&workflow_test.await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_launch_at_google_passes_all_workflow_tests() {
    workflow_test::check_all(&workflow_test_of(|| at_google(2)).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn capacity_that_is_missing_late_ends_a_launch_and_leaves_nothing() {
    let patience = Duration::from_millis(300);
    let site = site(LaunchSettings { capacity_patience: patience, ..quick() }).await;
    site.put("/azure/capacity", &json!({"instances": 1, "at": "operation"})).await;
    site.put("/gcp/capacity", &json!({"instances": 1})).await;
    let test_engine = site.test_engine().await;
    for asked in [at_azure(2), at_google(2)] {
        let begun = site.begin(&test_engine, &asked).await;
        let (inspection, view) = site.rests(&test_engine, begun).await;
        let error = view.record.state.error.unwrap();
        assert_eq!(inspection.shown.summary.phase, Phase::Undone, "{error:?}");
        assert_eq!((view.stage, error.category.as_str()), (LaunchPhase::Failed, "capacity"), "{error:?}");
        assert_eq!(standing(&site).await, BTreeMap::new(), "{}", asked.provider);
    }
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fewer_instances_are_kept_where_that_is_allowed_with_their_parts_alone() {
    let site = site(quick()).await;
    site.put("/azure/capacity", &json!({"instances": 1, "at": "operation"})).await;
    site.put("/gcp/capacity", &json!({"instances": 1})).await;
    let test_engine = site.test_engine().await;
    for mut asked in [at_azure(2), at_google(2)] {
        asked.profile.partial = Partial::Keep;
        let begun = site.begin(&test_engine, &asked).await;
        let (_, view) = site.rests(&test_engine, begun).await;
        assert_eq!(view.stage, LaunchPhase::SucceededWithWarnings, "{:?}", view.record.state.error);
        assert_eq!(view.record.state.instances.len(), 1);
    }
    let standing = standing(&site).await;
    assert!(standing.values().all(|count| *count <= 2), "one of each at each cloud: {standing:?}");
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_launch_leaves_nothing_at_any_cloud() {
    let site = site(quick()).await;
    let test_engine = site.test_engine().await;
    for asked in [at_azure(3), at_google(3)] {
        let begun = site.begin(&test_engine, &asked).await;
        patiently(async || (!standing(&site).await.is_empty()).then_some(())).await;
        test_engine.engine.ask(begun.id, PhaseVerb::Cancel, "anna", "").await.unwrap();
        let (_, view) = site.rests(&test_engine, begun).await;
        let ended = (view.stage, standing(&site).await);
        assert_eq!(ended, (LaunchPhase::Cancelled, BTreeMap::new()), "{}", asked.provider);
    }
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_once_all_instances_of_a_launch_are_terminated() {
    let site = site(quick()).await;
    let test_engine = site.test_engine().await;
    for asked in [at_azure(2), at_google(2)] {
        let begun = site.begin(&test_engine, &asked).await;
        let (_, view) = site.rests(&test_engine, begun).await;
        assert_eq!(view.stage, LaunchPhase::Succeeded, "{:?}", view.record.state);
        for tracked in &view.record.state.instances {
            let found = termination::find(&test_engine.engine, &asked.owner, &tracked.instance.id).await;
            let id = termination::ask(&test_engine.engine, &asked.owner, &found.unwrap()).await.unwrap();
            assert!(standing(&site).await.contains_key("vm") || asked.provider == ProviderKind::Gcp);
            if let TerminationProgress::Terminating(id) = id {
                test_engine.finished(id).await;
            }
        }
        assert_eq!(standing(&site).await, BTreeMap::new(), "{}", asked.provider);
    }
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_account_of_another_organisation_is_refused_and_nothing_is_made_in_it() {
    let site = site(quick()).await;
    let test_engine = site.test_engine().await;
    for mut asked in [at_azure(1), at_google(1)] {
        asked.owner.org = "000666".to_owned();
        let begun = site.begin(&test_engine, &asked).await;
        let (_, view) = site.rests(&test_engine, begun).await;
        let error = view.record.state.error.unwrap();
        assert_eq!((view.stage, error.category.as_str()), (LaunchPhase::Failed, "permission"), "{error:?}");
        assert!(error.message.contains("000666"), "{error:?}");
    }
    let ledger = site.get("/ledger?all=true").await;
    let made: Vec<&str> =
        ledger["effects"].as_array().unwrap().iter().filter_map(|effect| effect["kind"].as_str()).collect();
    assert_eq!(made, Vec::<&str>::new());
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_image_elsewhere_or_of_another_generation_is_refused_before_anything_is_made() {
    let site = site(quick()).await;
    let test_engine = site.test_engine().await;
    let (mut elsewhere, mut old) = (at_azure(1), at_azure(1));
    elsewhere.parameters.as_mut().unwrap().plain.region = "eastus".to_owned();
    let id =
        format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/images/providers/Microsoft.Compute/images/old");
    site.post("/azure/images", &json!({"id": id, "location": "westeurope", "generation": "V1"})).await;
    old.image = RequestedImage::Cloud { id };
    old.parameters.as_mut().unwrap().plain.instance_type = Some("Standard_B2pls_v2".to_owned());
    for (asked, said) in [(elsewhere, "the image is in westeurope"), (old, "Standard_B2pls_v2")] {
        let begun = site.begin(&test_engine, &asked).await;
        let (_, view) = site.rests(&test_engine, begun).await;
        let error = view.record.state.error.unwrap();
        assert_eq!((view.stage, error.category.as_str()), (LaunchPhase::Failed, "validation"), "{error:?}");
        assert!(error.message.contains(said), "{error:?}");
    }
    assert_eq!(standing(&site).await, BTreeMap::new());
    test_engine.close().await;
}
