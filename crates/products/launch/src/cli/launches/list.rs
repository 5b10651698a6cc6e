//! `launches list`: which launches there are, newest first.

use anyhow::Result;
use clap::{Args, ValueEnum};
use engine::{Clock, WallClock};
use serde::Serialize;

use super::super::launch::providers;
use super::show::state_cell;
use crate::client::{LaunchClient, LaunchDetails};
use app::cli::Global;
use app::exit::Exit;
use app::hint;
use app::output::{self, Cell, Render, Table, age, note};

/// The most that is asked for in one call.
const PAGE_MAX: usize = 200;

const EXAMPLES: &str = "\
Examples:
  provision-engine launches list
  provision-engine launches list --state dirty
  provision-engine launches list --provider aws --all -o name";

/// List launches, newest first
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ListArgs {
    /// Only launches in this state; dirty ones left resources behind
    #[arg(long, value_enum, value_name = "STATE")]
    state: Option<PhaseFilter>,
    /// Only those at this provider
    #[arg(long, value_name = "PROVIDER", value_parser = providers())]
    provider: Option<String>,
    /// How many to list at most
    #[arg(long, value_name = "N", default_value_t = 50, conflicts_with = "all")]
    limit: usize,
    /// List all of them, however many there are
    #[arg(long)]
    all: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PhaseFilter {
    Active,
    Succeeded,
    Failed,
    Dirty,
}

impl PhaseFilter {
    fn as_str(self) -> &'static str {
        match self {
            PhaseFilter::Active => "active",
            PhaseFilter::Succeeded => "succeeded",
            PhaseFilter::Failed => "failed",
            PhaseFilter::Dirty => "dirty",
        }
    }
}

impl ListArgs {
    fn query(&self, offset: usize, limit: usize) -> Vec<(&'static str, String)> {
        let mut query = vec![("offset", offset.to_string()), ("limit", limit.to_string())];
        query.extend(self.state.map(|state| ("state", state.as_str().to_owned())));
        query.extend(self.provider.clone().map(|provider| ("provider", provider)));
        query
    }
}

#[derive(Debug, Serialize)]
struct Launches {
    items: Vec<LaunchDetails>,
}

impl Render for Launches {
    fn table(&self, is_wide: bool) -> Table {
        let now = WallClock.now();
        let mut columns = vec!["NAME", "ID", "STATE", "PROVIDER", "REGION", "TYPE", "INSTANCES", "CREATED"];
        columns.extend(if is_wide { vec!["NUMBER", "SOURCE", "IMAGE", "FINISHED", "ERROR"] } else { vec![] });
        let mut table = Table::new(columns);
        for launch in &self.items {
            let name = Cell::maybe(launch.parameter("name"));
            let wanted = launch.parameter("amount").unwrap_or_else(|| "-".to_owned());
            let created = launch.created_at;
            let mut cells = vec![
                if is_wide { name } else { name.cut(24) },
                Cell::id(launch.id),
                state_cell(launch),
                Cell::new(&launch.provider),
                Cell::maybe(launch.parameter("region")),
                Cell::maybe(launch.parameter("instance_type")),
                Cell::new(format!("{}/{wanted}", launch.instances.len())),
                Cell::new(if is_wide { created.to_string() } else { age(now, created) }),
            ];
            if is_wide {
                cells.extend([
                    Cell::number(launch.reservation_id),
                    Cell::maybe(launch.parameter("source_id")),
                    Cell::maybe(launch.image()),
                    Cell::maybe(launch.finished_at.map(|at| at.to_string())),
                    Cell::maybe(launch.error.as_ref().map(|error| error.message.as_str())),
                ]);
            }
            table.row(cells);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().map(|launch| launch.id.to_string()).collect()
    }

    fn if_empty(&self) -> Option<String> {
        Some(format!("no launches; start one: {}", hint::command("launch")))
    }
}

pub(super) async fn run(global: &Global, args: &ListArgs, client: &LaunchClient) -> Result<Exit> {
    let limit = if args.all { usize::MAX } else { args.limit };
    let (mut items, mut has_more) = (Vec::new(), true);
    while has_more && items.len() < limit {
        let page = client.launches(&args.query(items.len(), (limit - items.len()).min(PAGE_MAX))).await?;
        has_more = page.has_more(items.len());
        items.extend(page.data);
    }
    output::print(global.output, &Launches { items })?;
    if has_more && limit > 0 {
        note("there are more: use --limit or --all");
    }
    Ok(Exit::GOOD)
}
