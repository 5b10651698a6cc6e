//! `migrate`: brings the schema of the database up to date.

use anyhow::Result;
use clap::Args;

use crate::cli::Global;
use crate::exit::Exit;
use crate::output::note;
use crate::{cmd, compose};

const EXAMPLES: &str = "\
Examples:
  provision-engine migrate
  PROVISION_ENGINE_STORE__DATABASE_URL=postgres://user@host/database provision-engine migrate

Every start of a server does this by itself; as a command of its own it is for careful upgrades.";

/// Bring the database up to date with this release
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct MigrateArgs {}

pub async fn run(global: &Global, _: &MigrateArgs) -> Result<Exit> {
    let (config, warnings) = global.load(&[])?;
    cmd::warn(&warnings);
    note(compose::migrate(&config.store).await?);
    Ok(Exit::GOOD)
}
