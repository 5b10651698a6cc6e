//! `check`: finds operations that this release could not finish, before an upgrade.

use anyhow::{Context, Result};
use clap::Args;
use engine::Unfinishable;
use serde::Serialize;

use crate::cli::Global;
use crate::cmd;
use crate::compose::DatabaseReader;
use crate::exit::{Exit, UsageError};
use crate::output::{self, Cell, Render, Table, note};

const EXAMPLES: &str = "\
Examples:
  provision-engine check --against-db
  provision-engine check --against-db -o json

Run it with the new release before an upgrade, also while servers of the old one run: it only reads.
Exit code 7 means that something cannot be finished.";

/// Find unfinished operations that this release could not finish
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CheckArgs {
    /// Read every unfinished operation in the database, and change nothing
    #[arg(long)]
    against_db: bool,
}

#[derive(Debug, Serialize)]
struct CheckReport {
    /// How many operations are not finished.
    unfinished: usize,
    items: Vec<Unfinishable>,
}

impl Render for CheckReport {
    fn table(&self, _is_wide: bool) -> Table {
        let mut table = Table::new(["OPERATION", "WORKFLOW", "REASON"]);
        for found in &self.items {
            let operation = Cell::new(found.operation.to_string());
            table.row([operation, Cell::new(&found.workflow), Cell::new(&found.reason)]);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().map(|found| found.operation.to_string()).collect()
    }
}

pub async fn run(global: &Global, args: &CheckArgs) -> Result<Exit> {
    if !args.against_db {
        return Err(UsageError("say what to check against: --against-db".into()).into());
    }
    let (config, warnings) = global.load(&[])?;
    cmd::warn(&warnings);
    let database = DatabaseReader::open(&config.store).await?;
    let checked = global.app.without_database().check_unfinished(database.saved()).await;
    let (unfinished, items) = checked.context("cannot read the database")?;
    let count = items.len();
    output::print(global.output, &CheckReport { unfinished, items })?;
    if count > 0 {
        note(format!("{count} of {unfinished} unfinished operations could not be finished by this release"));
        return Ok(Exit::FOUND);
    }
    note(format!("this release can finish all {unfinished} unfinished operations"));
    Ok(Exit::GOOD)
}
