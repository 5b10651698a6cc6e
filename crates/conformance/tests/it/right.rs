//! A right broker passes, whatever it chooses where it may choose.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use conformance::{CheckOutcome, Report, SuiteOptions, examine};

use serde_json::json;

use crate::broker::{Spoil, open};
use crate::instances::Habits;

pub(crate) fn honest() -> Spoil {
    Arc::new(|_, _| {})
}

pub(crate) fn options() -> SuiteOptions {
    let pause = Duration::from_millis(1);
    let given = BTreeMap::from([("ten nodes".to_owned(), json!({ "nodes": 10 }))]);
    SuiteOptions {
        poll_limit: Duration::from_secs(30),
        poll_interval: pause,
        retry_after_max: pause,
        invalid_parameters: BTreeMap::from([("small".to_owned(), given)]),
        prefixes: vec!["/oauth".to_owned(), "/oauth/eu".to_owned()],
        ..SuiteOptions::default()
    }
}

/// Examines the plan with everything, with the brake in the hand of the suite.
pub(crate) async fn examined(
    wanted: Option<&str>,
    habits: Habits,
    options: SuiteOptions,
    spoil: Spoil,
) -> Report {
    let (broker, brake, server) = open(habits, spoil).await;
    let report = examine(&broker, wanted, SuiteOptions { hold: Some(Arc::new(brake)), ..options }).await;
    server.abort();
    report
}

#[track_caller]
fn assert_good(report: &Report) {
    assert!(report.is_good(), "{report}");
}

fn skipped(report: &Report) -> Vec<&str> {
    report
        .checks()
        .filter(|check| matches!(check.outcome, CheckOutcome::Skipped(_)))
        .map(|check| check.id.as_str())
        .collect()
}

#[tokio::test]
async fn a_right_broker_passes_all_that_there_is_to_check() {
    let report = examined(Some("small"), Habits::default(), options(), honest()).await;
    assert_good(&report);
    assert_eq!(skipped(&report), ["catalog.etag", "binding"]);
    assert!(report.count().passed >= 300, "{:?}", report.count());
}

#[tokio::test]
async fn no_check_has_the_name_of_another() {
    let report = examined(Some("small"), Habits::default(), options(), honest()).await;
    let mut names: Vec<&str> = report.checks().map(|check| check.id.as_str()).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}

#[tokio::test]
async fn a_right_broker_with_slow_bindings_passes_too() {
    let habits = Habits { async_bindings: true, ..Habits::default() };
    let report = examined(Some("small"), habits, options(), honest()).await;
    assert_good(&report);
    assert_eq!(skipped(&report), ["catalog.etag"]);
}

#[tokio::test]
async fn a_broker_that_says_410_after_a_deletion_passes_if_it_says_so() {
    let habits = Habits { gone: true, ..Habits::default() };
    assert_good(
        &examined(Some("small"), habits.clone(), SuiteOptions { gone: true, ..options() }, honest()).await,
    );
    let report = examined(Some("small"), habits, options(), honest()).await;
    assert!(!report.is_good());
}

#[tokio::test]
async fn a_broker_that_says_400_to_a_missing_version_passes_if_it_says_so() {
    let spoil: Spoil = Arc::new(|asked, reply| {
        if reply.status == 412 && !asked.headers.contains_key("x-broker-api-version") {
            reply.status = 400;
        }
    });
    let options = SuiteOptions { missing_version: 400, ..options() };
    assert_good(&examined(Some("small"), Habits::default(), options, spoil).await);
}

#[tokio::test]
async fn without_a_hold_what_does_not_last_is_skipped_and_not_passed() {
    let (broker, _, server) = open(Habits::default(), honest()).await;
    let report = examine(&broker, Some("small"), options()).await;
    server.abort();
    assert_good(&report);
    assert!(skipped(&report).contains(&"deprovisioning.bind"), "{report}");
}

#[tokio::test]
async fn all_plans_are_examined_at_the_same_time() {
    let (broker, brake, server) = open(Habits::default(), honest()).await;
    let all = SuiteOptions { hold: Some(Arc::new(brake)), parallel: 3, ..options() };
    let report = examine(&broker, None, all).await;
    server.abort();
    let plans: Vec<&str> = report.plans.iter().map(|plan| plan.plan.as_str()).collect();
    assert_eq!(plans, ["small", "large", "only"]);
    assert_good(&report);
}

#[tokio::test]
async fn a_plan_that_is_not_there_is_a_failure() {
    let (broker, _, server) = open(Habits::default(), honest()).await;
    let report = examine(&broker, Some("huge"), options()).await;
    server.abort();
    assert!(!report.is_good());
    assert!(report.to_string().contains("does not have the plan huge"), "{report}");
}

#[tokio::test]
async fn a_broker_that_is_not_there_is_a_failure() {
    let (broker, _, server) = open(Habits::default(), honest()).await;
    server.abort();
    assert!(server.await.is_err_and(|error| error.is_cancelled()));
    assert!(!examine(&broker, None, options()).await.is_good());
}
