//! `operations`: submit, list, show and control operations.

mod ask;
mod bulk;
mod journal;
mod list;
mod params;
mod rows;
mod show;
mod signal;
mod submit;
mod wait;
mod watch;

pub(crate) use rows::ago;
pub(super) use rows::phase_cell;
pub use watch::follow;

use anyhow::Result;
use api::types::Verb;
use clap::{Args, Subcommand};

use crate::cli::Global;
use crate::client::PlatformClient;
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  provision-engine operations submit demo.hello --param name=Ada --wait
  provision-engine operations submit demo.hello --count 1000 --wait
  provision-engine operations list --phase running,waiting
  provision-engine operations watch ID
  provision-engine operations cancel ID --reason 'not needed any more' --wait";

/// Submit operations, look at them and steer them
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct OperationsArgs {
    #[command(subcommand)]
    command: OperationsCommand,
}

#[derive(Debug, Subcommand)]
enum OperationsCommand {
    Submit(submit::SubmitArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Watch(watch::WatchArgs),
    Journal(journal::JournalArgs),
    /// Cancel operations and undo what they created
    #[command(
        after_help = "Examples:\n  provision-engine operations cancel ID --reason 'wrong plan' --wait\n  \
                      provision-engine operations cancel --phase pending --workflow demo.hello --yes"
    )]
    Cancel(ask::AskArgs),
    /// Hold operations after the step that runs
    #[command(
        after_help = "Examples:\n  provision-engine operations pause ID --reason 'maintenance' --wait\n  \
                      provision-engine operations pause --phase running,waiting --tenant acme"
    )]
    Pause(ask::AskArgs),
    /// Resume paused or stuck operations
    #[command(after_help = "Examples:\n  provision-engine operations resume ID --wait\n  \
                      provision-engine operations resume --phase paused --yes")]
    Resume(ask::AskArgs),
    /// Try again at once, or start a finished operation that did not succeed again
    #[command(after_help = "Examples:\n  provision-engine operations retry ID --wait --timeout 10m\n  \
                      provision-engine operations retry --phase failed,undone --since 1h")]
    Retry(ask::AskArgs),
    Signal(signal::SignalArgs),
}

pub async fn run(global: &Global, args: &OperationsArgs) -> Result<Exit> {
    let client = &PlatformClient::find(global)?;
    match &args.command {
        OperationsCommand::Submit(args) => submit::run(global, args, client).await,
        OperationsCommand::List(args) => list::run(global, args, client).await,
        OperationsCommand::Show(args) => show::run(global, args, client).await,
        OperationsCommand::Watch(args) => watch::run(global, args, client).await,
        OperationsCommand::Journal(args) => journal::run(global, args, client).await,
        OperationsCommand::Cancel(args) => ask::run(global, args, Verb::Cancel, client).await,
        OperationsCommand::Pause(args) => ask::run(global, args, Verb::Pause, client).await,
        OperationsCommand::Resume(args) => ask::run(global, args, Verb::Resume, client).await,
        OperationsCommand::Retry(args) => ask::run(global, args, Verb::Retry, client).await,
        OperationsCommand::Signal(args) => signal::run(global, args, client).await,
    }
}
