//! `serverless update`: another capacity, a larger disk, another place or another name.

use anyhow::{Result, bail};
use clap::Args;

use super::ask::{AmountArgs, PlacementArgs, RuntimeArgs};
use super::show::{print_for_scripts, settled};
use super::wait::WaitArgs;
use crate::client::{ServerlessClient, succeeded};
use crate::model::FunctionRole;
use app::cli::Global;
use app::cmd::wait::WaitResult;
use app::exit::Exit;
use app::output::{self, Format, note};

const EXAMPLES: &str = "\
Examples:
  provision-engine serverless update 45 --cpu 4 --memory 2048
  provision-engine serverless update 45 --policy 'FREE_CPU' --wait

Only what runs can be changed. What fails half way is changed back.";

/// Update a runtime; what is not given stays
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct UpdateArgs {
    /// The runtime
    id: i32,
    /// What to call it from now on
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    amounts: AmountArgs,
    #[command(flatten)]
    place: PlacementArgs,
    #[command(flatten)]
    waiting: WaitArgs,
}

pub(super) async fn run(global: &Global, args: &UpdateArgs, client: &ServerlessClient) -> Result<Exit> {
    let id = args.id;
    let wanted = RuntimeArgs { name: args.name.as_deref(), amounts: &args.amounts, place: &args.place };
    if wanted.is_empty() {
        bail!("nothing to change: give --cpu, --memory, --disk, --policy, --requirements or --name");
    }
    // A function is named by its flavour, also where that does not change.
    let before = client.runtime(id).await?;
    let faas = before.of(FunctionRole::Faas, "FLAVOUR").unwrap_or_default();
    let daas = before.of(FunctionRole::Daas, "FLAVOUR");
    let operation = client.update(id, &wanted.body(&faas, daas.as_deref())?).await?;
    let mut patience = args.waiting.patience.start();
    let over = match patience.operation(client, &operation).await? {
        WaitResult::Left(exit) => return Ok(exit),
        WaitResult::With(over) => over,
    };
    succeeded(over)?;
    let runtime = if args.waiting.wait {
        match patience.runtime(client, id).await? {
            WaitResult::Left(exit) => return Ok(exit),
            WaitResult::With(runtime) => runtime,
        }
    } else {
        client.runtime(id).await?
    };
    drop(patience);
    print_for_scripts(global, &runtime)?;
    if global.output == Format::Name {
        output::data(&id.to_string())?;
    }
    note(format!("runtime {id} is updated"));
    Ok(if args.waiting.wait { settled(&runtime) } else { Exit::GOOD })
}
