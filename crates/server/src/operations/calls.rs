//! `GET /workflows/{name}/calls`

use axum::extract::State;
use axum::{Extension, Json};
use engine::{StepInfo, StepResult};

use super::plan::find;
use crate::app_state::Shared;
use crate::http::Failure;
use crate::metrics::{Meter, Tally};
use crate::principal::Principal;
use crate::query::{Name, Query};
use crate::wire;

/// How the steps of a workflow were called by this process since it started, and what that says about them.
///
/// Other processes on the same database have numbers of their own.
#[utoipa::path(
    get, path = "/workflows/{name}/calls", tag = "workflows", operation_id = "get_workflow_calls",
    params(("name" = String, Path, description = "The name of the workflow.")),
    responses(
        (status = OK, body = wire::WorkflowCalls, description = "Every step of the plan, in its order."),
        (status = NOT_FOUND, description = "There is none: `workflow-not-found`."),
    )
)]
pub(crate) async fn get_workflow_calls(
    State(app): State<Shared>,
    Extension(principal): Extension<Principal>,
    Name(name): Name,
    query: Query,
) -> Result<Json<wire::WorkflowCalls>, Failure> {
    query.finish()?;
    let info = find(&app, &principal, &name)?;
    let steps = info.steps.iter().map(|step| calls(&app.meter, &info.workflow, step)).collect();
    Ok(Json(wire::WorkflowCalls { workflow: name, steps }))
}

fn calls(meter: &Meter, workflow: &str, step: &StepInfo) -> wire::StepCalls {
    let mut calls = wire::StepCalls { step: step.name.clone(), ..wire::StepCalls::default() };
    let (mut all, mut bad) = (0, 0);
    let tallies = meter.calls(workflow, &step.name);
    let percentiles = Tally::percentiles(tallies.iter().map(|(_, tally)| tally));
    (calls.p50_seconds, calls.p99_seconds) = percentiles.unzip();
    for (result, Tally { count, took, .. }) in tallies {
        all += count;
        if matches!(result, StepResult::Retried | StepResult::Failed) {
            bad += count;
        }
        calls.results.insert(result.as_str().to_owned(), count);
        calls.seconds += took.as_secs_f64();
    }
    calls.health = match bad {
        _ if all == 0 => wire::StepHealth::Unknown,
        0 => wire::StepHealth::Good,
        bad if bad == all => wire::StepHealth::Bad,
        _ => wire::StepHealth::Mixed,
    };
    calls
}
