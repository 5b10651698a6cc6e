//! `launches retry` and `launches cleanup`: retry a launch, or its clean-up.

use anyhow::Result;
use clap::Args;

use super::conclude::conclude;
use super::find::named;
use super::follow::WaitArgs;
use crate::client::LaunchClient;
use app::cli::Global;
use app::cmd::wait::WaitResult;
use app::exit::Exit;

#[derive(Debug, Args)]
pub(super) struct RetryArgs {
    /// The launch: its id, the beginning or end of it, or its number
    #[arg(value_name = "LAUNCH")]
    name: String,
    #[command(flatten)]
    waiting: WaitArgs,
}

/// `verb` is a word of the API.
pub(super) async fn run(
    global: &Global,
    args: &RetryArgs,
    verb: &str,
    client: &LaunchClient,
) -> Result<Exit> {
    let name = named(client, &args.name).await?;
    let name = name.as_str();
    let before = client.launch(name).await?.finished_at;
    let asked = client.ask(name, verb).await?;
    match args.waiting.see_through(global, client, &asked, before).await? {
        WaitResult::Left(exit) => Ok(exit),
        WaitResult::With(over) => {
            let exit = conclude(global, &over)?;
            // A clean-up is good when nothing is left, although the launch has failed for good.
            Ok(if verb == "cleanup" && over.state != "failed_dirty" { Exit::GOOD } else { exit })
        }
    }
}
