//! All checks, one file per topic. Each topic sends its own requests and leaves its outcomes in the exam.

mod absent;
mod auth;
mod bindings;
mod bodies;
mod catalog;
mod crowd;
mod deprovisioning;
mod fields;
mod identities;
mod life;
mod maintenance;
mod names;
mod order;
mod parameters;
mod prefixes;
mod progress;
mod provisioning;
mod ready;
mod routes;
mod schemas;
mod traffic;
mod updates;
mod updating;
mod versions;

use futures_util::FutureExt;

use crate::checker::Checker;
use crate::report::PlanReport;

pub(crate) async fn run(checker: Checker) -> PlanReport {
    // Each branch has instances of its own, so they cannot disturb each other.
    tokio::join!(
        requests(&checker).boxed(),
        life::run(&checker).boxed(),
        provisioning::run(&checker).boxed(),
        updating::run(&checker).boxed(),
        crowd::run(&checker).boxed(),
        names::run(&checker).boxed(),
    );
    let left = checker.tidy().await;
    checker.check("tidy.all", "1.6", "all that was made can be taken back", left);
    traffic::run(&checker);
    checker.report()
}

/// What can be said without an instance.
async fn requests(checker: &Checker) {
    catalog::run(checker).await;
    schemas::run(checker);
    auth::run(checker).await;
    versions::run(checker).await;
    bodies::run(checker).await;
    fields::run(checker).await;
    parameters::run(checker).await;
    routes::run(checker).await;
    identities::run(checker).await;
    absent::run(checker).await;
    prefixes::run(checker).await;
}
