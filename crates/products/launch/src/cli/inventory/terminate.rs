//! `inventory terminate`: ends instances of launches that are over.

use std::time::Duration;

use crate::api::inventory::wire::Termination;
use anyhow::Result;
use api::client::{PollInterval, PollResult};
use clap::Args;
use serde::Serialize;

use crate::client::LaunchClient;
use app::cli::Global;
use app::cmd::wait::{WaitResult, Waiting};
use app::config::Period;
use app::exit::Exit;
use app::output::{self, Cell, Mood, ProgressPrinter, Render, Table, note};
use app::prompt::is_meant;

/// A cloud takes a minute or two.
const LIMIT: Period = Period::minutes(10);
const LOOK_EVERY: Duration = Duration::from_secs(1);
const UNDER_WAY: &str = "terminating";

const EXAMPLES: &str = "\
Examples:
  provision-engine inventory terminate i-0123456789abcdef0
  provision-engine inventory terminate i-0123456789abcdef0 i-0123456789abcdef1 --yes --wait";

/// Terminate instances of launches that are over
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct TerminateArgs {
    /// The instances, by their ids in the cloud
    #[arg(value_name = "INSTANCE", required = true)]
    instances: Vec<String>,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
    /// Wait until they are gone; exit code 3 when one is not
    #[arg(long)]
    wait: bool,
    /// How long to wait at most; exit code 4 when the time is over
    #[arg(long, value_name = "TIME", default_value_t = LIMIT)]
    timeout: Period,
}

#[derive(Debug, Serialize)]
struct Terminations {
    items: Vec<Termination>,
}

impl Render for Terminations {
    fn table(&self, is_wide: bool) -> Table {
        let mut columns = vec!["INSTANCE", "STATE", "ERROR"];
        columns.extend(is_wide.then_some("LAUNCH"));
        let mut table = Table::new(columns);
        for item in &self.items {
            let mut cells = vec![
                Cell::new(&item.instance_id),
                Cell::new(&item.state).mood(mood(&item.state)),
                Cell::maybe(item.error.as_deref()),
            ];
            cells.extend(is_wide.then(|| Cell::new(item.launch_id.to_string())));
            table.row(cells);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().map(|item| item.instance_id.clone()).collect()
    }
}

fn mood(state: &str) -> Mood {
    match state {
        "terminated" => Mood::Good,
        "failed" => Mood::Bad,
        _ => Mood::Busy,
    }
}

pub(super) async fn run(global: &Global, args: &TerminateArgs, client: &LaunchClient) -> Result<Exit> {
    let question = format!("Terminate {}? What is on them is lost.", args.instances.join(", "));
    if !args.yes && !is_meant(&question)? {
        note("nothing was terminated");
        return Ok(Exit::ERROR);
    }
    let (mut items, mut error_response) = (Vec::new(), None);
    for instance in &args.instances {
        match client.terminate(instance).await {
            Ok(asked) => items.push(asked),
            // The others can go all the same.
            Err(error) => {
                note(format!("{instance}: {error}"));
                error_response.get_or_insert(error);
            }
        }
    }
    let left = if args.wait { args.see_through(client, &mut items).await? } else { None };
    let has_failed = items.iter().any(|item| item.state == "failed");
    let is_asked = items.iter().any(|item| item.state == UNDER_WAY);
    if !items.is_empty() {
        output::print(global.output, &Terminations { items })?;
    }
    if let Some(error) = error_response {
        return Err(error.into());
    }
    if is_asked {
        note(format!("see when it is done: {}", app::hint::command("inventory")));
    }
    Ok(left.unwrap_or(if has_failed { Exit::OPERATION_FAILED } else { Exit::GOOD }))
}

impl TerminateArgs {
    /// Looks until none is under way any longer, or a signal comes.
    async fn see_through(&self, client: &LaunchClient, items: &mut [Termination]) -> Result<Option<Exit>> {
        let limit = self.timeout.get();
        let look = async || {
            for item in items.iter_mut().filter(|item| item.state == UNDER_WAY) {
                let seen = client.instance(&item.instance_id).await?;
                *item = seen.termination.unwrap_or_else(|| item.clone());
            }
            let is_over = items.iter().all(|item| item.state != UNDER_WAY);
            Ok(if is_over { PollResult::over(()) } else { PollResult::going((), "under way") })
        };
        let waiting = Waiting {
            what: "the termination".to_owned(),
            way_back: app::hint::command("inventory"),
            interval: PollInterval::new(LOOK_EVERY, LOOK_EVERY, Some(limit)),
            limit,
        };
        Ok(match waiting.until(&client.http, &mut ProgressPrinter::to_stderr(), look).await? {
            WaitResult::With(()) => None,
            WaitResult::Left(exit) => Some(exit),
        })
    }
}
