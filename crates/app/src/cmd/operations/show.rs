//! `operations show`: everything about one operation except its journal.

use anyhow::Result;
use api::types::{OperationDetail, Phase, StepState};
use clap::Args;
use engine::{Clock, Timestamp, WallClock};
use serde_json::Value;

use super::rows::{ago, phase_cell, timestamp};
use crate::cli::Global;
use crate::client::{PlatformClient, word};
use crate::exit::Exit;
use crate::output::{self, Cell, Format, Mood, Table, lasted};

const EXAMPLES: &str = "\
Examples:
  provision-engine operations show ID
  provision-engine operations show ID -o yaml";

/// Show one operation: its params, steps, facts and state
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ShowArgs {
    /// The operation: its id, or the beginning or end of it
    #[arg(value_name = "OPERATION")]
    id: String,
}

pub(super) async fn run(global: &Global, args: &ShowArgs, client: &PlatformClient) -> Result<Exit> {
    let detail = client.show(client.find_operation(&args.id).await?).await?;
    match global.output {
        Format::Json | Format::Yaml => output::print_value(global.output, &detail)?,
        Format::Name => output::data(&detail.operation.id.to_string())?,
        Format::Table | Format::Wide => {
            let is_wide = global.output == Format::Wide;
            let mut parts =
                vec![facts(&detail, is_wide, WallClock.now()).to_text(), steps(&detail).to_text()];
            parts.extend(is_wide.then(|| format!("facts\n{}", pretty(&detail.facts))));
            output::data(&parts.join("\n\n"))?;
        }
    }
    Ok(Exit::GOOD)
}

fn facts(detail: &OperationDetail, is_wide: bool, now: Timestamp) -> Table {
    let operation = &detail.operation;
    let when = |at| if is_wide { format!("{at}") } else { ago(now, at) };
    let mut table = Table::facts();
    let mut fact = |name: &str, cell: Cell| table.row([Cell::new(name), cell]);
    fact("id", operation.id.to_string().into());
    if let Some(name) = &operation.name {
        fact("name", Cell::new(name));
    }
    fact("workflow", Cell::new(&operation.workflow));
    fact("tenant", Cell::new(&operation.tenant));
    if let Some(resource) = &operation.resource {
        fact("resource", Cell::new(resource));
    }
    fact("phase", phase_cell(operation.phase));
    if let Some(reason) = detail.cause.as_ref().or(operation.reason.as_ref()) {
        fact("reason", Cell::new(reason));
    }
    if let Some(error) = &detail.last_error {
        fact("last error", Cell::new(format!("{} ({}, {})", error.cause, error.step, when(error.at))));
    }
    if let Some(asked) = &operation.asked {
        fact("asked", Cell::new(format!("to {} by {}, {}", word(asked.verb), asked.by, when(asked.at))));
    }
    fact("created", when(operation.created_at).into());
    match operation.finished_at {
        Some(at) => {
            let took = timestamp(at).since(timestamp(operation.created_at));
            fact("finished", Cell::new(format!("{}, after {}", when(at), lasted(took))));
        }
        // Neither a paused nor a stuck operation ends at its deadline.
        None if matches!(operation.phase, Phase::Paused | Phase::Stuck) => {}
        None => fact("deadline", when(operation.deadline_at).into()),
    }
    if let Some(at) = detail.next_attempt {
        fact("next attempt", when(at).into());
    }
    if !detail.left_over.is_empty() {
        fact("left over", Cell::new(detail.left_over.join(", ")).mood(Mood::Bad));
    }
    for (name, value) in [("params", &detail.params), ("state", &detail.state)] {
        if !is_empty(value) {
            fact(name, Cell::new(value.to_string()));
        }
    }
    table
}

fn steps(detail: &OperationDetail) -> Table {
    let mut table = Table::new(["WEIGHT", "STEP", "STATE", "ATTEMPT", "TITLE", "CAUSE"]);
    for step in &detail.steps {
        let mood = match step.state {
            StepState::Done => Mood::Good,
            StepState::Running | StepState::Waiting | StepState::Retrying | StepState::Undone => Mood::Busy,
            StepState::Failed | StepState::UndoFailed => Mood::Bad,
            StepState::Skipped | StepState::NotRun | StepState::Pending => Mood::Plain,
        };
        table.row([
            Cell::number(step.weight),
            Cell::new(&step.name),
            Cell::new(step.state.word()).mood(mood),
            Cell::number(step.attempt),
            Cell::new(&step.title),
            Cell::maybe(step.cause.as_deref()),
        ]);
    }
    table
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty)
}

fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
