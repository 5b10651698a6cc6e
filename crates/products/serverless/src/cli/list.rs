//! `serverless list`: which runtimes there are.

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::show::state;
use crate::client::{RuntimeBody, ServerlessClient};
use app::cli::Global;
use app::exit::Exit;
use app::hint;
use app::output::{self, Cell, Render, Table, note};

/// The most that is asked for in one call.
const PAGE_MAX: usize = 200;

/// More columns, and where their values are.
const WIDE: [(&str, &str); 4] = [
    ("SERVICE", "/SERVICE_ID"),
    ("FAAS VM", "/FAAS/VM_ID"),
    ("DAAS VM", "/DAAS/VM_ID"),
    ("DAAS ENDPOINT", "/DAAS/ENDPOINT"),
];

const EXAMPLES: &str = "\
Examples:
  provision-engine serverless list
  provision-engine serverless list --state ERROR -o wide
  provision-engine serverless list --flavour Function-Data --all -o name";

/// List runtimes, the newest first
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ListArgs {
    /// Only those of these flavours, such as Function-Data
    #[arg(long, value_name = "FLAVOURS")]
    flavour: Option<String>,
    /// Only those whose function is in this state
    #[arg(long, value_enum, value_name = "STATE", ignore_case = true)]
    state: Option<StateFilter>,
    /// Only those with exactly this name
    #[arg(long)]
    name: Option<String>,
    /// Also those of others that the user may see
    #[arg(long)]
    everybody: bool,
    /// How many to list at most
    #[arg(long, value_name = "N", default_value_t = 50, conflicts_with = "all")]
    limit: usize,
    /// List all of them, however many there are
    #[arg(long)]
    all: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "UPPERCASE")]
enum StateFilter {
    Pending,
    Running,
    Updating,
    Error,
}

impl StateFilter {
    fn as_str(self) -> &'static str {
        match self {
            StateFilter::Pending => "PENDING",
            StateFilter::Running => "RUNNING",
            StateFilter::Updating => "UPDATING",
            StateFilter::Error => "ERROR",
        }
    }
}

impl ListArgs {
    fn query(&self, offset: usize, limit: usize) -> Vec<(&'static str, String)> {
        let mut query = vec![("offset", offset.to_string()), ("limit", limit.to_string())];
        query.extend(self.flavour.clone().map(|flavour| ("flavour", flavour)));
        query.extend(self.state.map(|state| ("state", state.as_str().to_owned())));
        query.extend(self.name.clone().map(|name| ("name", name)));
        query.extend(self.everybody.then(|| ("all", "true".to_owned())));
        query
    }
}

#[derive(Debug, Serialize)]
struct ServerlessTable {
    items: Vec<RuntimeBody>,
}

impl Render for ServerlessTable {
    fn table(&self, is_wide: bool) -> Table {
        let mut columns = vec!["ID", "NAME", "FLAVOURS", "STATE", "ENDPOINT"];
        columns.extend(if is_wide { WIDE.map(|(title, _)| title).to_vec() } else { vec![] });
        let mut table = Table::new(columns);
        for runtime in &self.items {
            let name = Cell::maybe(runtime.word("/NAME"));
            let mut cells = vec![
                Cell::number(runtime.id),
                if is_wide { name } else { name.cut(40) },
                Cell::new(runtime.flavours()),
                state(runtime),
                Cell::maybe(runtime.word("/FAAS/ENDPOINT")),
            ];
            if is_wide {
                cells.extend(WIDE.map(|(_, path)| Cell::maybe(runtime.word(path))));
            }
            table.row(cells);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().map(|runtime| runtime.id.to_string()).collect()
    }

    fn if_empty(&self) -> Option<String> {
        Some(format!(
            "no serverless runtimes; create one: {}",
            hint::command("serverless create --faas FLAVOUR --wait")
        ))
    }
}

pub(super) async fn run(global: &Global, args: &ListArgs, client: &ServerlessClient) -> Result<Exit> {
    let limit = if args.all { usize::MAX } else { args.limit };
    let (mut items, mut offset, mut has_more) = (Vec::new(), 0, false);
    while items.len() < limit {
        let wanted = (limit - items.len()).min(PAGE_MAX - 1);
        // One more than is shown tells whether there are more.
        let mut page = client.runtimes(&args.query(offset, wanted + 1)).await?;
        if page.is_empty() {
            break;
        }
        // A page may have gaps, for runtimes that are being removed, so a short one need not be the last.
        has_more = page.len() > wanted;
        offset += if has_more { wanted } else { wanted + 1 };
        page.truncate(wanted);
        items.append(&mut page);
    }
    output::print(global.output, &ServerlessTable { items })?;
    if has_more {
        note("there are more: use --limit or --all");
    }
    Ok(Exit::GOOD)
}
