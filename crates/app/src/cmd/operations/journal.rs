//! `operations journal`: everything that happened to an operation.

use anyhow::Result;
use api::types::{JournalPage, JournalQuery};
use clap::Args;

use crate::cli::Global;
use crate::client::PlatformClient;
use crate::exit::Exit;
use crate::output::{self, Cell, Render, Table, local};

/// The most that a server puts on one page.
const PAGE_MAX: u16 = 500;

const EXAMPLES: &str = "\
Examples:
  provision-engine operations journal ID
  provision-engine operations journal ID -o json";

/// Print everything that happened to an operation, oldest first
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct JournalArgs {
    /// The operation: its id, or the beginning or end of it
    #[arg(value_name = "OPERATION")]
    id: String,
}

impl Render for JournalPage {
    fn table(&self, is_wide: bool) -> Table {
        let columns: &[&str] =
            if is_wide { &["SEQ", "AT", "KIND", "STEP", "TEXT", "DATA"] } else { &["SEQ", "AT", "TEXT"] };
        let mut table = Table::new(columns);
        for entry in &self.items {
            let seq = Cell::number(entry.seq);
            if is_wide {
                let step = Cell::maybe(entry.step.as_deref());
                let data = Cell::new(entry.data.to_string());
                let at = Cell::new(local(entry.at.0));
                table.row([seq, at, Cell::new(&entry.kind), step, Cell::new(&entry.text), data]);
            } else {
                table.row([seq, Cell::new(local(entry.at.0)), Cell::new(&entry.text)]);
            }
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().map(|entry| entry.seq.to_string()).collect()
    }
}

pub(super) async fn run(global: &Global, args: &JournalArgs, client: &PlatformClient) -> Result<Exit> {
    let id = client.find_operation(&args.id).await?;
    let mut query = JournalQuery { after: None, limit: Some(PAGE_MAX) };
    let mut items = Vec::new();
    loop {
        let page = client.journal(id, &query).await?;
        items.extend(page.items);
        query.after = page.next;
        if query.after.is_none() {
            break;
        }
    }
    output::print(global.output, &JournalPage { items, next: None })?;
    Ok(Exit::GOOD)
}
