//! `launches`: list, show and control launches.

mod cancel;
mod conclude;
mod find;
mod follow;
mod list;
mod parameters;
mod printer;
mod retry;
mod show;
mod watch;

pub(super) use conclude::{conclude, print_for_scripts};
pub(crate) use find::complete;
pub(super) use follow::{Follow, way_back};
pub(super) use printer::LaunchPrinter;
pub(super) use show::mood_of;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::client::{LaunchClient, OrgArgs};
use app::cli::Global;
use app::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  provision-engine launches list --state active
  provision-engine launches show ID
  provision-engine launches watch ID
  provision-engine launches parameters ID --source 7 --type t3.small --key mine
  provision-engine launches cancel ID --terminate --yes --wait

A launch is named by its id, the beginning or end of it, or its number. `provision-engine launch` makes one.";

/// Look at launches, cancel them, retry them and clean up after them
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LaunchesArgs {
    #[command(flatten)]
    org: OrgArgs,
    #[command(subcommand)]
    command: LaunchesCommand,
}

#[derive(Debug, Subcommand)]
enum LaunchesCommand {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Watch(watch::WatchArgs),
    Parameters(Box<parameters::ParametersArgs>),
    Cancel(cancel::CancelArgs),
    /// Retry a launch that failed or was cancelled, or let a waiting one try at once
    #[command(after_help = "Examples:\n  provision-engine launches retry ID --wait")]
    Retry(retry::RetryArgs),
    /// Try again to take back what a failed launch left behind
    #[command(after_help = "Examples:\n  provision-engine launches cleanup ID --wait")]
    Cleanup(retry::RetryArgs),
}

pub(crate) async fn run(global: &Global, args: &LaunchesArgs) -> Result<Exit> {
    let client = &LaunchClient::find(global, &args.org)?;
    match &args.command {
        LaunchesCommand::List(args) => list::run(global, args, client).await,
        LaunchesCommand::Show(args) => show::run(global, args, client).await,
        LaunchesCommand::Watch(args) => watch::run(global, args, client).await,
        LaunchesCommand::Parameters(args) => parameters::run(global, args, client).await,
        LaunchesCommand::Cancel(args) => cancel::run(global, args, client).await,
        LaunchesCommand::Retry(args) => retry::run(global, args, "retry", client).await,
        LaunchesCommand::Cleanup(args) => retry::run(global, args, "cleanup", client).await,
    }
}
