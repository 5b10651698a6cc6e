//! `upgrades show`: how far an orchestration is, and its runtimes.

use anyhow::Result;
use clap::Args;
use reqwest::Method;
use serde::Serialize;
use uuid::Uuid;

use super::wait::{WaitArgs, in_words};
use crate::api::orchestrations::wire::{OrchestrationStatus, UpgradeOperation, UpgradeOperationPage};
use app::cli::Global;
use app::client::PlatformClient;
use app::exit::Exit;
use app::output::{self, Cell, Format, Render, Table, note};
use std::time::Duration;

const PAGE_SIZE: u16 = 1000;
const DESCRIPTION_CHARS: usize = 28;

const EXAMPLES: &str = "\
Examples:
  provision-engine upgrades show ID
  provision-engine upgrades show ID --wait
  provision-engine upgrades show ID --runtimes --state failed";

/// Show how far an upgrade is
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ShowArgs {
    /// The orchestration
    #[arg(value_name = "ID")]
    id: Uuid,
    /// List its runtimes
    #[arg(long, conflicts_with = "wait")]
    runtimes: bool,
    /// Only runtimes in this state, such as failed
    #[arg(long, value_name = "STATE", requires = "runtimes")]
    state: Vec<String>,
    #[command(flatten)]
    waiting: WaitArgs,
}

#[derive(Serialize)]
#[serde(transparent)]
struct StatusTable<'a>(&'a OrchestrationStatus);

impl Render for StatusTable<'_> {
    fn table(&self, _: bool) -> Table {
        let status = self.0;
        let mut table = Table::new(["STATE", "PENDING", "RUNNING", "DONE", "FAILED", "CANCELED", "SKIPPED"]);
        let of = |state: &str| status.operation_stats.get(state).copied().unwrap_or_default();
        table.row([
            Cell::new(status.state.as_str()),
            Cell::number(of("pending")),
            Cell::number(of("in progress")),
            Cell::number(of("succeeded")),
            Cell::number(of("failed")),
            Cell::number(of("canceled")),
            Cell::number(of("skipped")),
        ]);
        table
    }

    fn names(&self) -> Vec<String> {
        vec![self.0.orchestration_id.to_string()]
    }
}

#[derive(Serialize)]
struct RuntimeTable {
    items: Vec<UpgradeOperation>,
}

impl Render for RuntimeTable {
    fn table(&self, is_wide: bool) -> Table {
        let mut columns = vec!["INSTANCE", "STATE", "DESCRIPTION"];
        columns.extend(if is_wide { vec!["RUNTIME", "PLAN", "REGION", "OPERATION"] } else { vec![] });
        let mut table = Table::new(columns);
        for one in &self.items {
            let description = Cell::maybe(Some(one.description.as_str()).filter(|text| !text.is_empty()));
            let mut cells = vec![
                Cell::new(&one.instance_id).cut(if is_wide { 64 } else { 36 }),
                Cell::new(one.state.as_str()),
                if is_wide { description } else { description.cut(DESCRIPTION_CHARS) },
            ];
            if is_wide {
                cells.push(Cell::new(&one.runtime_id));
                cells.push(Cell::new(&one.service_plan_name));
                cells.push(Cell::new(&one.region));
                cells.push(Cell::maybe(one.operation.map(|id| id.to_string())));
            }
            table.row(cells);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().map(|one| output::printable(&one.instance_id)).collect()
    }
}

pub(super) async fn run(global: &Global, args: &ShowArgs, client: &PlatformClient) -> Result<Exit> {
    if !args.runtimes {
        return args.waiting.show(global, args.id, client).await;
    }
    let id = args.id.to_string();
    let (mut items, mut cursor): (Vec<UpgradeOperation>, Option<String>) = (Vec::new(), None);
    loop {
        let mut query: Vec<(&str, String)> =
            args.state.iter().map(|state| ("state", state.clone())).collect();
        query.push(("page_size", PAGE_SIZE.to_string()));
        query.extend(cursor.clone().map(|cursor| ("cursor", cursor)));
        let request = client.http.request(Method::GET, &["orchestrations", &id, "operations"])?;
        let page: UpgradeOperationPage = request.query(&query).read().await?;
        items.extend(page.data);
        let is_end = page.next.is_none() || page.next == cursor;
        cursor = page.next;
        if is_end {
            break;
        }
    }
    output::print(global.output, &RuntimeTable { items })?;
    Ok(Exit::GOOD)
}

/// The counts, and what to know besides them.
pub(super) fn print(global: &Global, status: &OrchestrationStatus) -> Result<Exit> {
    output::print(global.output, &StatusTable(status))?;
    if matches!(global.output, Format::Table | Format::Wide) {
        note(format!("{} {}", status.orchestration_id, in_words(status)));
        if !status.description.is_empty() {
            note(output::printable(&status.description));
        }
        if let Some(left) = status.remaining_seconds {
            note(format!("about {} left", output::lasted(Duration::from_secs(left))));
        }
    }
    Ok(Exit::GOOD)
}
