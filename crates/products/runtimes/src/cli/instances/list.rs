//! `instances list`: which instances our own broker has. The API of brokers has no list.

use anyhow::Result;
use api::client::CallError;
use clap::Args;
use engine::{Clock, Timestamp, WallClock};
use serde::Serialize;
use serde_json::Value;

use crate::client::{BrokerClient, plain};
use app::cli::Global;
use app::exit::Exit;
use app::hint;
use app::output::{self, Cell, Render, Table, age, note, printable};

/// The most that is asked for in one call.
const PAGE_MAX: usize = 100;

/// More columns, and where their values are.
const WIDE: [(&str, &str); 4] = [
    ("REGION", "/region"),
    ("RUNTIME", "/runtimeID"),
    ("ACCOUNT", "/globalAccountID"),
    ("SUBACCOUNT", "/subAccountID"),
];

const EXAMPLES: &str = "\
Examples:
  provision-engine instances list
  provision-engine instances list --all -o name";

/// List the instances of our own broker, newest first; other brokers have no list
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ListArgs {
    /// How many to list at most
    #[arg(long, value_name = "N", default_value_t = 50, conflicts_with = "all")]
    limit: usize,
    /// List all of them, however many there are
    #[arg(long)]
    all: bool,
}

#[derive(Debug, Serialize)]
struct InstanceTable {
    items: Vec<Value>,
}

impl Render for InstanceTable {
    fn table(&self, is_wide: bool) -> Table {
        let now = WallClock.now();
        let mut columns = vec!["NAME", "ID", "PLAN", "STATE", "CREATED"];
        columns.extend(if is_wide { WIDE.map(|(title, _)| title).to_vec() } else { vec![] });
        let mut table = Table::new(columns);
        for item in &self.items {
            let created = word(item, "/status/createdAt");
            let at = serde_json::from_value::<Timestamp>(created.clone().into()).ok().filter(|_| !is_wide);
            let mut cells = vec![word(item, "/shootName"), id(item), word(item, "/servicePlanName")];
            cells.push(word(item, "/status/state"));
            cells.push(at.map(|at| age(now, at)).or(created));
            cells.extend(if is_wide { WIDE.map(|(_, path)| word(item, path)).to_vec() } else { vec![] });
            table.row(cells.into_iter().map(Cell::maybe));
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().filter_map(id).map(|id| printable(&id)).collect()
    }

    fn if_empty(&self) -> Option<String> {
        Some(format!(
            "no service instances; create one: {}",
            hint::command("instances create --plan PLAN --param name=NAME --wait")
        ))
    }
}

fn id(item: &Value) -> Option<String> {
    word(item, "/instanceID")
}

fn word(item: &Value, path: &str) -> Option<String> {
    item.pointer(path).map(plain).filter(|text| !text.is_empty())
}

pub(super) async fn run(global: &Global, args: &ListArgs, broker: &BrokerClient) -> Result<Exit> {
    let limit = if args.all { usize::MAX } else { args.limit };
    let (mut items, mut next): (Vec<Value>, Option<String>) = (Vec::new(), None);
    loop {
        let page = broker.runtimes(PAGE_MAX, next.as_deref()).await.map_err(explained)?;
        // A server that hands out the same place again would be asked for ever.
        let is_end = page.data.is_empty() || page.next == next;
        items.extend(page.data);
        let is_end = is_end || items.len() > limit;
        next = page.next.filter(|_| !is_end);
        if next.is_none() {
            break;
        }
    }
    let has_more = items.len() > limit;
    items.truncate(limit);
    output::print(global.output, &InstanceTable { items })?;
    if has_more {
        note("there are more: use --limit or --all");
    }
    Ok(Exit::GOOD)
}

/// A broker that knows nothing of lists is not ours.
fn explained(error: CallError) -> anyhow::Error {
    let is_foreign =
        matches!(error, CallError::Unexpected { .. }) || matches!(error.status(), Some(404..=406));
    if is_foreign {
        return anyhow::anyhow!(
            "this broker has no list of instances: only a provision-engine does, and a platform has to remember \
             its ids; look at one with: provision-engine instances show ID"
        );
    }
    error.into()
}
