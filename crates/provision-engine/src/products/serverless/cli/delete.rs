//! `serverless delete`: takes back what `create` made.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use anyhow::{Context, Result, bail};
use clap::Args;
use doors::serverless::wire::Operation;

use super::wait::WaitArgs;
use crate::products::serverless::client::{ServerlessClient, succeeded};
use app::cli::Global;
use app::cmd::wait::Ended;
use app::exit::Exit;
use app::output::{self, Format, note};

const EXAMPLES: &str = "\
Examples:
  provision-engine serverless delete 45 --wait
  provision-engine serverless delete 45 --yes

To delete what is gone already is no error.";

/// Delete a runtime with its machines
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct DeleteArgs {
    /// The runtime
    id: i32,
    /// Do not ask whether it is meant
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    waiting: WaitArgs,
}

pub(super) async fn run(global: &Global, args: &DeleteArgs, client: &ServerlessClient) -> Result<Exit> {
    let id = args.id;
    if !args.yes && !is_meant(id)? {
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
        note(format!(
            "runtime {id} is being deleted; follow it: provision-engine operations show {}",
            begun.id
        ));
        return Ok(Exit::GOOD);
    }
    let over = match args.waiting.patience.start().operation(client, &begun).await? {
        Ended::Left(exit) => return Ok(exit),
        Ended::With(over) => over,
    };
    print(global, id, &succeeded(over)?)?;
    note(format!("runtime {id} is deleted"));
    Ok(Exit::GOOD)
}

fn print(global: &Global, id: i32, operation: &Operation) -> Result<()> {
    match global.output {
        Format::Json | Format::Yaml => output::print_value(global.output, operation),
        Format::Name => output::data(&id.to_string()),
        Format::Table | Format::Wide => Ok(()),
    }
}

/// Asks whoever sits at the terminal. Where nobody does, only `--yes` will do.
fn is_meant(id: i32) -> Result<bool> {
    if !io::stdin().is_terminal() {
        bail!("nobody is here to ask whether runtime {id} shall be deleted: give --yes");
    }
    let mut stderr = io::stderr().lock();
    write!(stderr, "Delete runtime {id}? [y/N] ").and_then(|()| stderr.flush()).context("cannot ask")?;
    let mut answer = String::new();
    io::stdin().lock().take(64).read_line(&mut answer).context("cannot read the answer")?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
