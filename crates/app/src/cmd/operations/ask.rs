//! `operations cancel`, `pause`, `resume` and `retry`.

use anyhow::{Error, Result};
use api::types::{Control, ListQuery, Operation, OperationPage, Verb};
use clap::Args;
use engine::{Clock, Phase, WallClock};
use server::ToWire;
use uuid::Uuid;

use super::list::pages;
use super::wait::{Goal, WaitArgs, wait_or_fail};
use crate::cli::Global;
use crate::client::{PlatformClient, word};
use crate::cmd::wait::WaitResult;
use crate::config::Period;
use crate::exit::Exit;
use crate::output::Format;
use crate::prompt::is_meant;
use crate::{cmd, output};

/// Operations asked for at the same time without --all.
const SELECTED_MAX: usize = 1_000;

#[derive(Debug, Args)]
pub(super) struct AskArgs {
    /// The operations: their ids, or the beginnings or ends of them
    #[arg(required_unless_present = "phase", value_name = "OPERATION")]
    ids: Vec<String>,
    /// Instead of ids: all operations in these phases, with commas between them; asks before it begins
    #[arg(long, value_name = "PHASE", value_delimiter = ',', conflicts_with = "ids")]
    phase: Vec<Phase>,
    /// With --phase: only those of this workflow
    #[arg(long, value_name = "WORKFLOW", requires = "phase", conflicts_with = "ids")]
    workflow: Option<String>,
    /// With --phase: only those of this tenant
    #[arg(long, value_name = "TENANT", requires = "phase", conflicts_with = "ids")]
    tenant: Option<String>,
    /// With --phase: only those created within this time, such as 1h
    #[arg(long, value_name = "TIME", requires = "phase", conflicts_with = "ids")]
    since: Option<Period>,
    /// With --phase: do not ask
    #[arg(long, short, requires = "phase", conflicts_with = "ids")]
    yes: bool,
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
    let Some(ids) = chosen(args, verb, client).await? else {
        output::note("nothing was changed");
        return Ok(Exit::ERROR);
    };
    let control = Control { reason: args.reason.clone() };
    let mut exit = Exit::GOOD;
    let mut items = Vec::new();
    let mut asked = Vec::new();
    for id in &ids {
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
            Ok(WaitResult::With(operation)) => {
                exit = first(exit, judged(&operation, goal));
                items.push(operation);
            }
            Ok(WaitResult::Left(exit)) => return Ok(exit),
            Err(error) => exit = first(exit, refuse(operation.id, &error)),
        }
    }
    if !items.is_empty() || matches!(global.output, Format::Json | Format::Yaml) {
        output::print(global.output, &OperationPage { items, ..OperationPage::default() })?;
    }
    Ok(exit)
}

/// The operations that are named, or those that fit after a question; `None` when the answer is no.
async fn chosen(args: &AskArgs, verb: Verb, client: &PlatformClient) -> Result<Option<Vec<Uuid>>> {
    if args.phase.is_empty() {
        return client.find_operations(&args.ids).await.map(Some);
    }
    let since = args.since.map(|since| WallClock.now().minus(since.get()).to_wire().to_string());
    let phases: Vec<&str> = args.phase.iter().map(|phase| phase.as_str()).collect();
    let query = ListQuery {
        workflow: args.workflow.clone(),
        phase: Some(phases.join(",")),
        tenant: args.tenant.clone(),
        created_after: since,
        ..ListQuery::default()
    };
    let (found, has_more) = pages(client, query, SELECTED_MAX).await?;
    let count = found.len();
    if count == 0 {
        output::note(format!("no operation is {}", phases.join(" or ")));
        return Ok(Some(Vec::new()));
    }
    let more = if has_more { ", the newest of more" } else { "" };
    let end = if count == 1 { "" } else { "s" };
    let question = format!("{} {count} operation{end} ({}{more})?", capital(word(verb)), phases.join(", "));
    if !args.yes && !is_meant(&question)? {
        return Ok(None);
    }
    Ok(Some(found.into_iter().map(|operation| operation.id).collect()))
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
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
