//! `explain`: why an operation is not finished, and what to do about it.

use anyhow::Result;
use api::types::{Explanation, Phase};
use clap::Args;
use engine::{Clock, Timestamp, WallClock};

use super::operations::{ago, phase_cell};
use crate::cli::Global;
use crate::client::PlatformClient;
use crate::exit::Exit;
use crate::hint;
use crate::output::{self, Cell, Format, Table, local, printable};

/// Say why an operation is not finished: the blocking step, the last error, the next attempt
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  provision-engine explain ID\n  provision-engine explain 099a8057\n  \
                  provision-engine explain LAUNCH_ID -o json")]
pub struct ExplainArgs {
    /// The operation: its id, or the beginning or end of it; or the id of a launch, an instance or a runtime
    #[arg(value_name = "OPERATION")]
    id: String,
}

pub async fn run(global: &Global, args: &ExplainArgs) -> Result<Exit> {
    let client = PlatformClient::find(global)?;
    let explanation = found(global, &client, &args.id).await?;
    match global.output {
        Format::Json | Format::Yaml => output::print_value(global.output, &explanation)?,
        Format::Name => output::data(explanation.blocking_step.as_deref().unwrap_or_default())?,
        Format::Table | Format::Wide => output::data(&told(&explanation, WallClock.now()))?,
    }
    Ok(Exit::GOOD)
}

/// What is named may also be what an operation works on: a launch is known by another id than its operation.
async fn found(global: &Global, client: &PlatformClient, given: &str) -> Result<Explanation> {
    if let Ok(id) = given.parse() {
        match client.explain(id).await {
            Err(error) if error.is_absent() => {}
            answer => return Ok(answer?),
        }
    }
    let id = client.find_operation_or(given, &global.app.commands().resources(given)).await?;
    Ok(client.explain(id).await?)
}

fn told(explanation: &Explanation, now: Timestamp) -> String {
    let mut table = Table::facts();
    let mut fact = |name: &str, cell: Cell| table.row([Cell::new(name), cell]);
    fact("operation", Cell::new(format!("{} ({})", explanation.id, explanation.workflow)));
    fact("phase", phase_cell(explanation.phase));
    fact("why", Cell::new(&explanation.reason));
    if let Some(step) = &explanation.blocking_step {
        let title = explanation.title.as_deref().map(|title| format!(" ({title})")).unwrap_or_default();
        fact("step", Cell::new(format!("{step}{title}")));
    }
    if let Some(error) = &explanation.last_error {
        let when = ago(now, error.at);
        fact("last error", Cell::new(format!("{} ({}, {when})", error.cause, error.step)));
    }
    if let Some(attempt) = explanation.attempt {
        fact("failed attempts", Cell::new(attempt.to_string()));
    }
    if let Some(at) = explanation.next_attempt {
        fact("next attempt", Cell::new(format!("{} ({})", ago(now, at), local(at.0))));
    }
    if let Some(key) = &explanation.waiting_for_key {
        fact("waits for", Cell::new(format!("a signal with the key {key}")));
    }
    if let Some(other) = explanation.queued_behind {
        fact("queued behind", Cell::new(other.to_string()));
    }
    if let Some(node) = explanation.node {
        fact("node", Cell::new(node.to_string()));
    }
    // Neither a paused nor a stuck operation ends at its deadline.
    if !explanation.phase.is_final() && !matches!(explanation.phase, Phase::Paused | Phase::Stuck) {
        let at = explanation.deadline_at;
        fact("deadline", Cell::new(format!("{} ({})", ago(now, at), local(at.0))));
    }
    if !explanation.left_over.is_empty() {
        fact("left over", Cell::new(explanation.left_over.join(", ")));
    }
    let mut text = table.to_text();
    if !explanation.what_you_can_do.is_empty() {
        text.push_str("\n\nWhat you can do:");
        for line in &explanation.what_you_can_do {
            text.push_str("\n  - ");
            text.push_str(&hint::in_text(&printable(line)));
        }
    }
    text
}
