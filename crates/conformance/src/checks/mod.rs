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

use crate::exam::Exam;
use crate::report::PlanReport;

pub(crate) async fn run(exam: Exam) -> PlanReport {
    // Each branch has instances of its own, so they cannot disturb each other.
    tokio::join!(
        requests(&exam).boxed(),
        life::run(&exam).boxed(),
        provisioning::run(&exam).boxed(),
        updating::run(&exam).boxed(),
        crowd::run(&exam).boxed(),
        names::run(&exam).boxed(),
    );
    let left = exam.tidy().await;
    exam.check("tidy.all", "1.6", "all that was made can be taken back", left);
    traffic::run(&exam);
    exam.report()
}

/// What can be said without an instance.
async fn requests(exam: &Exam) {
    catalog::run(exam).await;
    schemas::run(exam);
    auth::run(exam).await;
    versions::run(exam).await;
    bodies::run(exam).await;
    fields::run(exam).await;
    parameters::run(exam).await;
    routes::run(exam).await;
    identities::run(exam).await;
    absent::run(exam).await;
    prefixes::run(exam).await;
}
