//! `operations cancel`, `pause`, `resume` and `retry`.

use anyhow::{Error, Result};
use api::types::{Control, Operation, OperationPage, Verb};
use clap::Args;
use uuid::Uuid;

use super::wait::{Goal, WaitArgs, wait_or_fail};
use crate::cli::Global;
use crate::client::PlatformClient;
use crate::cmd::wait::Ended;
use crate::exit::Exit;
use crate::output::Format;
use crate::{cmd, output};

#[derive(Debug, Args)]
pub(super) struct AskArgs {
    /// The operations
    #[arg(required = true, value_name = "ID")]
    ids: Vec<Uuid>,
    /// Why; it goes into the journal
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    waiting: WaitArgs,
}

/// Asks every operation, also when one refuses, and ends with what the first refusal says.
pub(super) async fn run(
    global: &Global,
    args: &AskArgs,
    verb: Verb,
    client: &PlatformClient,
) -> Result<Exit> {
    let control = Control { reason: args.reason.clone() };
    let mut exit = Exit::GOOD;
    let mut items = Vec::new();
    let mut asked = Vec::new();
    for id in &args.ids {
        match client.ask(*id, verb, &control).await {
            Ok(operation) => asked.push(operation),
            Err(error) => exit = first(exit, refuse(*id, &error.into())),
        }
    }
    for operation in asked {
        if !args.waiting.wait {
            items.push(operation);
            continue;
        }
        let goal = Goal::from(verb);
        match wait_or_fail(client, operation.id, goal, args.waiting.timeout).await {
            Ok(Ended::With(operation)) => {
                exit = first(exit, judged(&operation, goal));
                items.push(operation);
            }
            Ok(Ended::Left(exit)) => return Ok(exit),
            Err(error) => exit = first(exit, refuse(operation.id, &error)),
        }
    }
    if !items.is_empty() || matches!(global.output, Format::Json | Format::Yaml) {
        output::print(global.output, &OperationPage { items, ..OperationPage::default() })?;
    }
    Ok(exit)
}

fn first(before: Exit, now: Exit) -> Exit {
    if before == Exit::GOOD { now } else { before }
}

fn refuse(id: Uuid, error: &Error) -> Exit {
    output::note(format!("{id}:"));
    cmd::report(error)
}

/// Says so when the operation ended otherwise than it was asked to.
fn judged(operation: &Operation, goal: Goal) -> Exit {
    let exit = goal.exit(operation.phase);
    if exit != Exit::GOOD {
        let Operation { id, phase, reason, .. } = operation;
        let reason = reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        output::note(format!("operation {id} is {phase}{reason}"));
    }
    exit
}
