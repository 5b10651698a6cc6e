//! `upgrades`: upgrades of many runtimes under control.

mod ask;
mod list;
mod show;
mod start;
mod wait;

use anyhow::Result;
use clap::{Args, Subcommand};

use app::cli::Global;
use app::client::PlatformClient;
use app::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  provision-engine upgrades start --include plan=azure --parallel 5 --dry-run
  provision-engine upgrades start --include plan=azure --parallel 5 --wait
  provision-engine upgrades start --kyma 2.0.0 --include all --exclude plan=trial
  provision-engine upgrades list
  provision-engine upgrades show ID
  provision-engine upgrades pause ID
  provision-engine upgrades resume ID";

/// Upgrade many runtimes, watch it, pause, cancel and retry
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct UpgradesArgs {
    #[command(subcommand)]
    command: UpgradesCommand,
}

#[derive(Debug, Subcommand)]
enum UpgradesCommand {
    Start(start::StartArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    /// Start no further runtime until it is resumed; running upgrades continue
    Pause(ask::AskArgs),
    /// Go on after a pause or after the canary
    Resume(ask::AskArgs),
    /// Begin no further runtime; what runs is waited for
    Cancel(ask::AskArgs),
    Retry(ask::RetryArgs),
}

pub(crate) async fn run(global: &Global, args: &UpgradesArgs) -> Result<Exit> {
    let client = &PlatformClient::find(global)?;
    match &args.command {
        UpgradesCommand::Start(args) => start::run(global, args, client).await,
        UpgradesCommand::List(args) => list::run(global, args, client).await,
        UpgradesCommand::Show(args) => show::run(global, args, client).await,
        UpgradesCommand::Pause(args) => ask::run(global, args, "pause", client).await,
        UpgradesCommand::Resume(args) => ask::run(global, args, "resume", client).await,
        UpgradesCommand::Cancel(args) => ask::run(global, args, "cancel", client).await,
        UpgradesCommand::Retry(args) => ask::retry(global, args, client).await,
    }
}
