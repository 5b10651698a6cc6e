//! `instances unbind`: revokes the credentials of a binding.

use anyhow::Result;
use clap::Args;

use super::PlanArgs;
use super::locate::{Located, known, locate};
use super::outcome::{AcceptedChange, ChangeVerb};
use super::wait::WaitArgs;
use crate::client::{BrokerClient, OperationSubject};
use app::cli::Global;
use app::exit::Exit;
use app::output::note;

const EXAMPLES: &str = "\
Examples:
  provision-engine instances unbind ID BINDING_ID";

/// Delete a binding: its credentials open nothing any more
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct UnbindArgs {
    /// The instance
    #[arg(value_name = "INSTANCE")]
    id: String,
    /// The binding
    binding_id: String,
    #[command(flatten)]
    plan: PlanArgs,
    #[command(flatten)]
    waiting: WaitArgs,
}

pub(super) async fn run(global: &Global, args: &UnbindArgs, broker: &BrokerClient) -> Result<Exit> {
    let catalog = broker.catalog().await?;
    let plan = match locate(broker, &catalog, &args.id, &args.plan).await? {
        Located::Gone => return Ok(gone(args)),
        located => known(located, &args.id)?,
    };
    let subject = OperationSubject::binding(&args.id, &args.binding_id);
    let reply = match broker.delete(&subject, &plan.ids).await {
        Err(error) if error.status() == Some(410) => return Ok(gone(args)),
        reply => reply?,
    };
    let limit = args.waiting.limit(plan.polling_seconds());
    let name = plan.offer.map_or("", |offer| &offer.plan.name);
    let asked =
        AcceptedChange { verb: ChangeVerb::Unbind, subject, ids: Some(plan.ids.clone()), plan: name, limit };
    asked.see_through(global, broker, &reply, &args.waiting).await
}

fn gone(args: &UnbindArgs) -> Exit {
    note(format!("binding {} is gone already", args.binding_id));
    Exit::GOOD
}
