//! `instances delete`: deletes a service instance.

use anyhow::Result;
use clap::Args;

use super::PlanArgs;
use super::locate::{Located, known, locate};
use super::outcome::{AcceptedChange, ChangeVerb};
use super::wait::WaitArgs;
use crate::client::{BrokerClient, OperationSubject};
use app::cli::Global;
use app::exit::Exit;
use app::output::{note, printable};
use app::prompt::is_meant_or;

const EXAMPLES: &str = "\
Examples:
  provision-engine instances delete ID --wait
  provision-engine instances delete ID --yes --plan trial

Deleting what no longer exists succeeds.";

/// Delete an instance and everything in it
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct DeleteArgs {
    /// The instance
    #[arg(value_name = "INSTANCE")]
    id: String,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    plan: PlanArgs,
    #[command(flatten)]
    waiting: WaitArgs,
}

pub(super) async fn run(global: &Global, args: &DeleteArgs, broker: &BrokerClient) -> Result<Exit> {
    let catalog = broker.catalog().await?;
    let plan = match locate(broker, &catalog, &args.id, &args.plan).await? {
        Located::Gone => return Ok(gone(&args.id)),
        located => known(located, &args.id)?,
    };
    let name = plan.offer.map_or(plan.ids.plan.as_str(), |offer| &offer.plan.name);
    let question = format!("Delete instance {} of plan {}?", printable(&args.id), printable(name));
    let otherwise =
        format!("stdin is no terminal, so it cannot be asked whether instance {} shall be deleted", args.id);
    if !args.yes && !is_meant_or(&question, &otherwise)? {
        note("nothing was deleted");
        return Ok(Exit::ERROR);
    }
    let subject = OperationSubject::instance(&args.id);
    let reply = match broker.delete(&subject, &plan.ids).await {
        Err(error) if error.status() == Some(410) => return Ok(gone(&args.id)),
        reply => reply?,
    };
    let limit = args.waiting.limit(plan.polling_seconds());
    let asked =
        AcceptedChange { verb: ChangeVerb::Delete, subject, ids: Some(plan.ids.clone()), plan: name, limit };
    asked.see_through(global, broker, &reply, &args.waiting).await
}

fn gone(id: &str) -> Exit {
    note(format!("instance {id} is gone already"));
    Exit::GOOD
}
