//! `backup`: a copy of the SQLite database, also while a server uses it.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::cli::Global;
use crate::cmd;
use crate::config::Database;
use crate::exit::Exit;
use crate::output::{self, note};

const EXAMPLES: &str = "\
Examples:
  provision-engine backup /backup/engine-$(date +%F).db

The copy is one file of mode 0600, made while the server runs. It does not contain the key ring:
sealed values in it open only with `keys.json`. Keep a copy of that file in another place, because
both together are clear text. docs/guide/backup.md has the restore.";

/// Copy the SQLite database to a new file, also while the server runs
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct BackupArgs {
    /// The new file; one that exists is not overwritten
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub async fn run(global: &Global, args: &BackupArgs) -> Result<Exit> {
    let (config, warnings) = global.load(&[])?;
    cmd::warn(&warnings);
    let Database::Sqlite(database) = &config.store.database else {
        bail!("the database is PostgreSQL: back it up with its own tools, such as pg_dump");
    };
    let (from, to) = (database.clone(), args.file.clone());
    let copied = tokio::task::spawn_blocking(move || store::copy_sqlite(&from, &to)).await?;
    copied.with_context(|| format!("cannot copy {} to {}", database.display(), args.file.display()))?;
    output::data(&args.file.display().to_string())?;
    let ring = config.secrets.key_ring.display().to_string();
    note(format!("the key ring is not in the copy: keep {ring} too, in another place"));
    Ok(Exit::GOOD)
}
