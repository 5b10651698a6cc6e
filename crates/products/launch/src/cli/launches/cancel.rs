//! `launches cancel`: cancels a launch and undoes what it created.

use anyhow::Result;
use clap::Args;

use super::conclude::{conclude, print_for_scripts};
use super::find::named;
use super::follow::WaitArgs;
use crate::client::LaunchClient;
use app::cli::Global;
use app::cmd::wait::WaitResult;
use app::exit::Exit;
use app::output::note;
use app::prompt::is_meant;

const EXAMPLES: &str = "\
Examples:
  provision-engine launches cancel ID --wait
  provision-engine launches cancel ID --terminate --yes --wait";

/// Cancel a launch and undo what it created
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CancelArgs {
    /// The launch: its id, the beginning or end of it, or its number
    #[arg(value_name = "LAUNCH")]
    name: String,
    /// Terminate its instances, if it has any
    #[arg(long)]
    terminate: bool,
    /// Do not ask for confirmation
    #[arg(long, short, requires = "terminate")]
    yes: bool,
    #[command(flatten)]
    waiting: WaitArgs,
}

pub(super) async fn run(global: &Global, args: &CancelArgs, client: &LaunchClient) -> Result<Exit> {
    let name = named(client, &args.name).await?;
    let name = name.as_str();
    if args.terminate && !args.yes && !is_meant(&format!("Terminate the instances of launch {name}?"))? {
        note("nothing was cancelled");
        return Ok(Exit::ERROR);
    }
    let asked = client.cancel(name, args.terminate).await?;
    match args.waiting.see_through(global, client, &asked, None).await? {
        WaitResult::Left(exit) => Ok(exit),
        WaitResult::With(over) if over.state == "cancelled" => {
            print_for_scripts(global, &over)?;
            note(format!("launch {name} is cancelled"));
            Ok(Exit::GOOD)
        }
        // It was over before the control request came, or something is left.
        WaitResult::With(over) => {
            conclude(global, &over)?;
            Ok(Exit::OPERATION_FAILED)
        }
    }
}
