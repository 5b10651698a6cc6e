//! `upgrades list`: which orchestrations there are.

use anyhow::Result;
use clap::Args;
use reqwest::Method;
use serde::Serialize;

use crate::api::orchestrations::wire::{OrchestrationPage, OrchestrationStatus};
use crate::model::orchestration::UpgradeKind;
use app::cli::Global;
use app::client::PlatformClient;
use app::exit::Exit;
use app::hint;
use app::output::{self, Cell, Render, Table, age, note};
use engine::{Clock, Timestamp, WallClock};

const PAGE_SIZE: u16 = 1000;

const EXAMPLES: &str = "\
Examples:
  provision-engine upgrades list
  provision-engine upgrades list --state failed -o wide";

/// List upgrades, the newest first
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ListArgs {
    /// Only those in this state, such as failed
    #[arg(long, value_name = "STATE")]
    state: Vec<String>,
    /// How many to list at most
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
}

#[derive(Debug, Serialize)]
struct OrchestrationTable {
    items: Vec<OrchestrationStatus>,
}

impl Render for OrchestrationTable {
    fn table(&self, is_wide: bool) -> Table {
        let now = WallClock.now();
        let mut columns = vec!["ID", "UPGRADE", "STATE", "CREATED"];
        columns.extend(if is_wide { vec!["BY", "DESCRIPTION"] } else { vec![] });
        let mut table = Table::new(columns);
        for one in &self.items {
            let kind = if one.kind == UpgradeKind::Kyma { "kyma" } else { "cluster" };
            let at = one.created_at.to_string();
            let read = serde_json::from_value::<Timestamp>(at.clone().into()).ok().filter(|_| !is_wide);
            let age = read.map(|at| age(now, at));
            let mut cells = vec![
                Cell::new(one.orchestration_id.to_string()),
                Cell::new(kind),
                Cell::new(one.state.as_str()),
                Cell::new(age.unwrap_or(at)),
            ];
            cells.extend(if is_wide {
                vec![Cell::new(&one.created_by), Cell::new(&one.description)]
            } else {
                vec![]
            });
            table.row(cells);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().map(|one| one.orchestration_id.to_string()).collect()
    }

    fn if_empty(&self) -> Option<String> {
        Some(format!("no upgrades; preview one: {}", hint::command("upgrades start --include all --dry-run")))
    }
}

pub(super) async fn run(global: &Global, args: &ListArgs, client: &PlatformClient) -> Result<Exit> {
    let (mut items, mut cursor): (Vec<OrchestrationStatus>, Option<String>) = (Vec::new(), None);
    let page_size = usize::from(PAGE_SIZE).min(args.limit + 1);
    loop {
        let mut query: Vec<(&str, String)> =
            args.state.iter().map(|state| ("state", state.clone())).collect();
        query.push(("page_size", page_size.to_string()));
        query.extend(cursor.clone().map(|cursor| ("cursor", cursor)));
        let page: OrchestrationPage =
            client.http.request(Method::GET, &["orchestrations"])?.query(&query).read().await?;
        items.extend(page.data);
        let is_end = page.next.is_none() || page.next == cursor || items.len() > args.limit;
        cursor = page.next;
        if is_end {
            break;
        }
    }
    let has_more = items.len() > args.limit;
    items.truncate(args.limit);
    output::print(global.output, &OrchestrationTable { items })?;
    if has_more {
        note("there are more: use --limit");
    }
    Ok(Exit::GOOD)
}
