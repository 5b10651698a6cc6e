//! The conformance suite against the real program, on both databases and both back ends.

use std::sync::Arc;

use ::runtimes::backend::BackendKind;
use async_trait::async_trait;
use conformance::{BrokerTarget, CheckOutcome, HoldSwitch, SuiteOptions, examine};
use reqwest::Method;
use serde_json::json;
use testing::private_postgres::{PrivatePostgres, PrivatePostgresOptions};

use super::{FOREVER_MS, Platform, RuntimesCli, hold, quick};
use crate::stage::{DataDirectory, call};

/// Plans and where their instances can be.
const PLANS: [(&str, &str); 3] = [("azure", "westeurope"), ("gcp", "europe-west4"), ("aws", "eu-central-1")];
/// A suite with fewer checks has lost some.
const CHECKS_MIN: usize = 140;

/// The brake of the sandbox: the back end takes forever, and clusters are out of order.
struct Brake {
    sandbox: String,
    backend: BackendKind,
}

#[async_trait]
impl HoldSwitch for Brake {
    async fn hold(&self) {
        self.set(true).await;
    }

    async fn release(&self) {
        self.set(false).await;
    }
}

impl Brake {
    async fn set(&self, is_held: bool) {
        let (url, backend) = (self.sandbox.clone(), self.backend);
        let work = move || {
            match backend {
                BackendKind::Provisioner => hold(&url, is_held),
                BackendKind::InfrastructureManager => hold_manager(&url, is_held),
            }
            let fault = is_held.then(|| json!({"system": "cluster", "kind": "error", "times": 0}));
            let method = if is_held { Method::POST } else { Method::DELETE };
            call(method, &format!("{url}/faults"), fault.as_ref());
        };
        tokio::task::spawn_blocking(work).await.unwrap();
    }
}

/// Infrastructure Manager takes up nothing, until that time has passed at once.
fn hold_manager(sandbox: &str, is_held: bool) {
    let delays = json!({"take_up_ms": if is_held { FOREVER_MS } else { 0 }});
    call(Method::PUT, &format!("{sandbox}/infrastructure-manager/delays"), Some(&delays));
    if !is_held {
        call(Method::POST, &format!("{sandbox}/clock"), Some(&json!({"advance_ms": FOREVER_MS})));
    }
}

/// What there is no occasion to check: the catalog has one offering, and the built-in plans no maintenance.
const ONE_OFFERING: &str = "field.plan_id.foreign.provision";
const NO_MAINTENANCE: &str = "maintenance.right";
/// Instances of each of the three plans can get the one for build runtimes.
const PLANS_CHANGE: &str = "update.plan";

/// Examines the broker below a prefix and insists that nothing failed, and that no more was left out than this.
#[track_caller]
fn examined(
    scene: &RuntimesCli,
    backend: BackendKind,
    prefix: &str,
    plan: &str,
    options: &SuiteOptions,
    left_out: &[&str],
) {
    let Platform { url, user, password, .. } = scene.platform.clone();
    let broker = BrokerTarget { url: format!("{url}{prefix}"), user, password: password.into() };
    let impossible = json!({"autoScalerMin": 5, "autoScalerMax": 4});
    let parameters = PLANS.map(|(plan, place)| {
        // One machine can be added and taken away again, so that there is something to change.
        let parameters = json!({"name": "c", "region": place, "autoScalerMin": 3, "autoScalerMax": 4});
        (plan.to_owned(), parameters)
    });
    // The first choice of the schema may be one that changes nothing at the back end.
    let updates = PLANS.map(|(plan, _)| (plan.to_owned(), json!({"autoScalerMax": 5})));
    let options = SuiteOptions {
        parameters: parameters.into(),
        updates: updates.into(),
        late_dashboard: true,
        hold: Some(Arc::new(Brake { sandbox: scene.sandbox.url.clone(), backend })),
        prefixes: vec![String::new(), "/oauth".into(), "/oauth/cf-eu10".into()],
        invalid_parameters: [(plan.to_owned(), [("sizes".to_owned(), impossible)].into())].into(),
        ..options.clone()
    };
    let report = scene.runtime.block_on(examine(&broker, Some(plan), options));
    let count = report.count();
    let skipped = report.checks().filter(|check| matches!(check.outcome, CheckOutcome::Skipped(_)));
    let mut skipped: Vec<&str> = skipped.map(|check| check.id.as_str()).collect();
    skipped.sort_unstable();
    let mut left_out = left_out.to_vec();
    left_out.sort_unstable();
    assert!(report.is_good(), "{report}");
    assert_eq!(skipped, left_out, "{report}");
    assert!(count.passed >= CHECKS_MIN, "{count:?}");
    assert_eq!(scene.standing(), [] as [serde_json::Value; 0], "the suite takes back what it made");
    testing::count("conformance", count.passed as u64);
}

fn all_plans(backend: BackendKind, place: DataDirectory) {
    let scene = RuntimesCli::open(place);
    for (plan, _) in PLANS {
        let left_out = [NO_MAINTENANCE, PLANS_CHANGE, ONE_OFFERING];
        examined(&scene, backend, "", plan, &SuiteOptions::default(), &left_out);
    }
    assert_eq!(scene.server.stop().code, Some(0));
}

#[test]
fn the_broker_on_sqlite_conforms_for_every_kind_of_plan() {
    all_plans(BackendKind::Provisioner, quick());
}

#[test]
fn the_broker_on_infrastructure_manager_conforms_for_every_kind_of_plan() {
    let place = quick()
        .env("PROVISION_ENGINE_RUNTIME__BACKEND", "infrastructure-manager")
        .env("PROVISION_ENGINE_DRIVERS__INFRASTRUCTURE_MANAGER__POLL", "50ms");
    all_plans(BackendKind::InfrastructureManager, place);
}

#[test]
fn the_broker_on_postgres_conforms_for_every_kind_of_plan() {
    let postgres = PrivatePostgres::start(&PrivatePostgresOptions::default()).unwrap();
    postgres.create_database("engine").unwrap();
    let place = quick().env("PROVISION_ENGINE_STORE__DATABASE_URL", postgres.url("engine"));
    all_plans(BackendKind::Provisioner, place);
}

/// Two plans, of which one has a maintenance version.
const CATALOG: &str = "
service: {id: s, name: s, description: A service}
plans:
  - {id: p1, name: azure, description: A plan, provider: azure, regions: [westeurope], machines: [Standard_D4_v3],
     defaults: {machine: Standard_D4_v3, disk: Standard_LRS, volume_gb: 50, min: 1, max: 2},
     maintenance: {version: 1.2.3}}
  - {id: p2, name: other, description: Another, provider: azure, regions: [westeurope], machines: [Standard_D4_v3],
     defaults: {machine: Standard_D4_v3, disk: Standard_LRS, volume_gb: 50, min: 1, max: 2}}
";

#[test]
fn a_broker_that_says_410_after_a_deletion_conforms_below_every_prefix() {
    let place = quick().env("PROVISION_ENGINE_OSB__GONE", "true");
    place.write("catalog.yaml", CATALOG);
    let catalog = place.path("catalog.yaml").to_str().unwrap().to_owned();
    let scene = RuntimesCli::open(place.env("PROVISION_ENGINE_RUNTIME__CATALOG", catalog));
    for prefix in ["/oauth", "/oauth/cf-eu10"] {
        examined(
            &scene,
            BackendKind::Provisioner,
            prefix,
            "azure",
            &SuiteOptions { gone: true, ..SuiteOptions::default() },
            &[ONE_OFFERING],
        );
    }
}
