//! `launches retry` and `launches cleanup`: once more, forward or backward.

use anyhow::Result;
use clap::Args;

use super::conclude::conclude;
use super::follow::{Ended, WaitArgs};
use crate::cli::Global;
use crate::exit::Exit;
use crate::launching::Door;

#[derive(Debug, Args)]
pub(super) struct RetryArgs {
    /// The launch, by its id or number
    #[arg(value_name = "ID")]
    name: String,
    #[command(flatten)]
    waiting: WaitArgs,
}

/// `verb` is the word of the door.
pub(super) async fn run(global: &Global, args: &RetryArgs, verb: &str, mut door: Door) -> Result<Exit> {
    let name = args.name.as_str();
    let before = door.launch(name).await?.finished_at;
    let asked = door.ask(name, verb).await?;
    match args.waiting.see_through(global, &mut door, &asked, before).await? {
        Ended::Left(exit) => Ok(exit),
        Ended::With(over) => {
            let exit = conclude(global, &over)?;
            // A clean-up is good when nothing is left, although the launch has failed for good.
            Ok(if verb == "cleanup" && over.state != "failed_dirty" { Exit::GOOD } else { exit })
        }
    }
}
