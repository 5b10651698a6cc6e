//! `serverless`: serverless runtimes, as a device uses them.

mod ask;
mod create;
mod delete;
mod holders;
mod list;
mod orphans;
mod show;
mod update;
mod wait;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::client::OpenNebulaArgs;
use crate::client::ServerlessClient;
use app::cli::Global;
use app::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  provision-engine serverless create --faas Function --daas Data --wait
  provision-engine serverless show 45
  provision-engine serverless update 45 --memory 1024
  provision-engine serverless delete 45 --wait --yes
  provision-engine serverless list --user cognit --password-file secret

They go to this machine's server, or to the one that --server names. Without --user the
file that ONE_AUTH names says who asks, else ~/.one/one_auth.";

/// Create, look at, change and delete serverless runtimes in OpenNebula
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ServerlessArgs {
    #[command(flatten)]
    user: OpenNebulaArgs,
    #[command(subcommand)]
    command: ServerlessCommand,
}

#[derive(Debug, Subcommand)]
enum ServerlessCommand {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Create(create::CreateArgs),
    Update(update::UpdateArgs),
    Delete(delete::DeleteArgs),
    Orphans(orphans::OrphansArgs),
}

pub(crate) async fn run(global: &Global, args: &ServerlessArgs) -> Result<Exit> {
    let client = || ServerlessClient::find(global, &args.user);
    match &args.command {
        ServerlessCommand::List(args) => list::run(global, args, &client()?).await,
        ServerlessCommand::Show(args) => show::run(global, args, &client()?).await,
        ServerlessCommand::Create(args) => create::run(global, args, &client()?).await,
        ServerlessCommand::Update(args) => update::run(global, args, &client()?).await,
        ServerlessCommand::Delete(args) => delete::run(global, args, &client()?).await,
        ServerlessCommand::Orphans(orphans) => orphans::run(global, orphans, &args.user).await,
    }
}
