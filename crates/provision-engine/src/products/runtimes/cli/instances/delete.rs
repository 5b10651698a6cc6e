//! `instances delete`: takes back what `create` made.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use anyhow::{Context, Result, bail};
use clap::Args;

use super::PlanArgs;
use super::locate::{Located, known, locate};
use super::outcome::{Asked, Verb};
use super::wait::WaitArgs;
use crate::products::runtimes::client::{Broker, Subject};
use app::cli::Global;
use app::exit::Exit;
use app::output::{note, printable};

const EXAMPLES: &str = "\
Examples:
  provision-engine instances delete ID --wait
  provision-engine instances delete ID --yes --plan trial

To delete what is gone already is no error.";

/// Delete an instance and everything in it
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct DeleteArgs {
    /// The instance
    id: String,
    /// Do not ask whether it is meant
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    plan: PlanArgs,
    #[command(flatten)]
    waiting: WaitArgs,
}

pub(super) async fn run(global: &Global, args: &DeleteArgs, broker: &Broker) -> Result<Exit> {
    let catalog = broker.catalog().await?;
    let plan = match locate(broker, &catalog, &args.id, &args.plan).await? {
        Located::Gone => return Ok(gone(&args.id)),
        located => known(located, &args.id)?,
    };
    let name = plan.offer.map_or(plan.ids.plan.as_str(), |offer| &offer.plan.name);
    if !args.yes && !is_meant(&args.id, name)? {
        note("nothing was deleted");
        return Ok(Exit::ERROR);
    }
    let subject = Subject::instance(&args.id);
    let reply = match broker.delete(&subject, &plan.ids).await {
        Err(error) if error.status() == Some(410) => return Ok(gone(&args.id)),
        reply => reply?,
    };
    let limit = args.waiting.limit(plan.polling_seconds());
    let asked = Asked { verb: Verb::Delete, subject, ids: Some(plan.ids.clone()), plan: name, limit };
    asked.see_through(global, broker, &reply, &args.waiting).await
}

fn gone(id: &str) -> Exit {
    note(format!("instance {id} is gone already"));
    Exit::GOOD
}

/// Asks whoever sits at the terminal. Where nobody does, only `--yes` will do.
fn is_meant(id: &str, plan: &str) -> Result<bool> {
    if !io::stdin().is_terminal() {
        bail!("nobody is here to ask whether instance {id} shall be deleted: give --yes");
    }
    let mut stderr = io::stderr().lock();
    write!(stderr, "Delete instance {} of plan {}? [y/N] ", printable(id), printable(plan))
        .and_then(|()| stderr.flush())
        .context("cannot ask")?;
    let mut answer = String::new();
    io::stdin().lock().take(64).read_line(&mut answer).context("cannot read the answer")?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
