//! `inventory`: every instance that was launched, with its state as the cloud has it now, and how to end one.

mod terminate;

use anyhow::Result;
use clap::{Args, Subcommand};
use engine::{Clock, WallClock};
use serde::Serialize;

use super::launch::providers;
use super::launches::mood_of;
use crate::client::{Item, LaunchClient, OrgArgs};
use crate::csv;
use app::cli::Global;
use app::exit::Exit;
use app::hint;
use app::output::{self, Cell, Render, Table, age};

/// The columns of the table for other programs.
const COLUMNS: [&str; 15] = [
    "launch",
    "reservation",
    "launch_state",
    "instance",
    "state",
    "provider",
    "source",
    "region",
    "type",
    "name",
    "image",
    "public_ipv4",
    "public_dns",
    "private_ipv4",
    "launched_at",
];

const EXAMPLES: &str = "\
Examples:
  provision-engine inventory
  provision-engine inventory --state running --region us-east-1
  provision-engine inventory --csv > inventory.csv
  provision-engine inventory terminate i-0123456789abcdef0";

/// List every instance that was launched, newest first, with its state as the cloud has it now
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct InventoryArgs {
    #[command(subcommand)]
    command: Option<InventoryCommand>,
    /// Only those at this provider
    #[arg(long, value_name = "PROVIDER", value_parser = providers())]
    provider: Option<String>,
    /// Only those in this region
    #[arg(long)]
    region: Option<String>,
    /// Only those in this state, such as running
    #[arg(long)]
    state: Option<String>,
    /// Only those in this account
    #[arg(long, value_name = "ID")]
    source: Option<String>,
    /// Only those with this name
    #[arg(long)]
    name: Option<String>,
    /// Only those of this launch, by its id or number
    #[arg(long, value_name = "ID")]
    launch: Option<String>,
    /// Print them as CSV
    #[arg(long)]
    csv: bool,
    #[command(flatten)]
    org: OrgArgs,
}

#[derive(Debug, Subcommand)]
enum InventoryCommand {
    Terminate(terminate::TerminateArgs),
}

impl InventoryArgs {
    fn wants(&self, item: &Item) -> bool {
        let fits = |wanted: &Option<String>, value: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| value == Some(wanted))
        };
        let launch = self.launch.as_deref();
        let is_launch = launch
            .is_none_or(|name| name == item.launch_id.to_string() || name == item.reservation_id.to_string());
        is_launch
            && fits(&self.provider, Some(&item.provider))
            && fits(&self.region, item.region.as_deref())
            && fits(&self.state, item.state.as_deref())
            && fits(&self.source, item.source_id.as_deref())
            && fits(&self.name, item.name.as_deref())
    }
}

#[derive(Debug, Serialize)]
struct Inventory {
    items: Vec<Item>,
}

impl Render for Inventory {
    fn table(&self, is_wide: bool) -> Table {
        let now = WallClock.now();
        let mut columns =
            vec!["NAME", "INSTANCE", "STATE", "PROVIDER", "REGION", "TYPE", "PUBLIC IP", "LAUNCHED"];
        columns.extend(if is_wide {
            vec!["LAUNCH", "SOURCE", "IMAGE", "PUBLIC DNS", "PRIVATE IP"]
        } else {
            vec![]
        });
        let mut table = Table::new(columns);
        for item in &self.items {
            let name = Cell::maybe(item.name.as_deref());
            let at = item.launched_at;
            let mut cells = vec![
                if is_wide { name } else { name.cut(24) },
                Cell::maybe(item.instance_id.as_deref()),
                state(item),
                Cell::new(&item.provider),
                Cell::maybe(item.region.as_deref()),
                Cell::maybe(item.instance_type.as_deref()),
                Cell::maybe(item.detail.public_ipv4.as_deref()),
                Cell::new(if is_wide { at.to_string() } else { age(now, at) }),
            ];
            if is_wide {
                cells.extend([
                    Cell::new(item.launch_id.to_string()),
                    Cell::maybe(item.source_id.as_deref()),
                    Cell::maybe(item.image_id.as_deref()),
                    Cell::maybe(item.detail.public_dns.as_deref()),
                    Cell::maybe(item.detail.private_ipv4.as_deref()),
                ]);
            }
            table.row(cells);
        }
        table
    }

    /// A launch without instances has no name here.
    fn names(&self) -> Vec<String> {
        self.items.iter().filter_map(|item| item.instance_id.clone()).collect()
    }

    fn if_empty(&self) -> Option<String> {
        Some(format!("no instances; launch some: {}", hint::command("launch")))
    }
}

/// A state that the cloud did not confirm has a question mark; a launch without instances shows its own.
fn state(item: &Item) -> Cell {
    match &item.state {
        Some(state) if item.live => Cell::new(state).mood(mood_of(state)),
        Some(state) => Cell::new(format!("{state}?")),
        None => Cell::new(format!("({})", item.launch_state)),
    }
}

fn as_csv(items: &[Item]) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let rows = items.iter().map(|item| {
        vec![
            item.launch_id.to_string(),
            item.reservation_id.to_string(),
            item.launch_state.clone(),
            text(&item.instance_id),
            text(&item.state),
            item.provider.clone(),
            text(&item.source_id),
            text(&item.region),
            text(&item.instance_type),
            text(&item.name),
            text(&item.image_id),
            text(&item.detail.public_ipv4),
            text(&item.detail.public_dns),
            text(&item.detail.private_ipv4),
            item.launched_at.to_string(),
        ]
    });
    csv::write(&COLUMNS, rows)
}

pub(crate) async fn run(global: &Global, args: &InventoryArgs) -> Result<Exit> {
    let client = LaunchClient::find(global, &args.org)?;
    if let Some(InventoryCommand::Terminate(args)) = &args.command {
        return terminate::run(global, args, &client).await;
    }
    let (mut items, mut after) = (Vec::new(), None);
    loop {
        let (page, next) = client.inventory(after).await?;
        items.extend(page.into_iter().filter(|item| args.wants(item)));
        if next.is_none() {
            break;
        }
        after = next;
    }
    if args.csv {
        output::data(&as_csv(&items))?;
    } else {
        output::print(global.output, &Inventory { items })?;
    }
    Ok(Exit::GOOD)
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::json;

    use super::*;

    #[derive(Parser)]
    struct InventoryLine {
        #[command(flatten)]
        args: InventoryArgs,
    }

    fn item() -> Item {
        serde_json::from_value(json!({
            "launch_id": "00000000-0000-4000-8000-000000000001", "reservation_id": 7, "launch_state": "succeeded",
            "provider": "aws", "name": "=web", "region": "us-east-1", "launched_at": "2026-01-01T00:00:00Z",
            "instance_id": "i-1", "state": "running", "detail": {"public_ipv4": "10.0.0.1"}, "live": true,
        }))
        .unwrap()
    }

    #[test]
    fn every_filter_can_keep_and_refuse() {
        for (flag, good, bad) in [
            ("--provider", "aws", "gcp"),
            ("--region", "us-east-1", "eu-west-1"),
            ("--state", "running", "stopped"),
            ("--name", "=web", "db"),
            ("--launch", "7", "8"),
            ("--launch", "00000000-0000-4000-8000-000000000001", "x"),
        ] {
            let wants = |value: &str| InventoryLine::parse_from(["x", flag, value]).args.wants(&item());
            assert!(wants(good) && !wants(bad), "{flag}");
        }
        assert!(!InventoryLine::parse_from(["x", "--source", "7"]).args.wants(&item()), "it has no source");
    }

    #[test]
    fn a_table_for_programs_has_one_line_for_each_instance() {
        let text = as_csv(&[item()]);
        let lines: Vec<&str> = text.split("\r\n").collect();
        assert_eq!(lines[0].split(',').count(), COLUMNS.len());
        assert_eq!(lines[1].split(',').count(), COLUMNS.len());
        assert!(lines[1].contains(",i-1,running,aws,,us-east-1,,'=web,,10.0.0.1,"), "{text}");
    }
}
