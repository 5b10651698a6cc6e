//! `serverless delete`: deletes a runtime.

use crate::api::wire::RuntimeOperation;
use anyhow::Result;
use clap::Args;

use super::wait::WaitArgs;
use crate::client::{ServerlessClient, succeeded};
use app::cli::Global;
use app::cmd::wait::WaitResult;
use app::exit::Exit;
use app::output::{self, Format, note};
use app::prompt::is_meant_or;

const EXAMPLES: &str = "\
Examples:
  provision-engine serverless delete 45 --wait
  provision-engine serverless delete 45 --yes

Deleting what no longer exists succeeds.";

/// Delete a runtime with its VMs
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct DeleteArgs {
    /// The runtime
    id: i32,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    waiting: WaitArgs,
}

pub(super) async fn run(global: &Global, args: &DeleteArgs, client: &ServerlessClient) -> Result<Exit> {
    let id = args.id;
    let otherwise =
        format!("stdin is no terminal, so it cannot be asked whether runtime {id} shall be deleted");
    if !args.yes && !is_meant_or(&format!("Delete runtime {id}?"), &otherwise)? {
        note("nothing was deleted");
        return Ok(Exit::ERROR);
    }
    let begun = match client.delete(id).await {
        Err(error) if error.status() == Some(404) => {
            note(format!("runtime {id} is gone already, or never was"));
            return Ok(Exit::GOOD);
        }
        begun => begun?,
    };
    if !args.waiting.wait {
        print(global, id, &begun)?;
        let follow = app::hint::command(&format!("operations watch {}", begun.id));
        note(format!("runtime {id} is being deleted; follow it: {follow}"));
        return Ok(Exit::GOOD);
    }
    let over = match args.waiting.patience.start().operation(client, &begun).await? {
        WaitResult::Left(exit) => return Ok(exit),
        WaitResult::With(over) => over,
    };
    print(global, id, &succeeded(over)?)?;
    note(format!("runtime {id} is deleted"));
    Ok(Exit::GOOD)
}

fn print(global: &Global, id: i32, operation: &RuntimeOperation) -> Result<()> {
    match global.output {
        Format::Json | Format::Yaml => output::print_value(global.output, operation),
        Format::Name => output::data(&id.to_string()),
        Format::Table | Format::Wide => Ok(()),
    }
}
