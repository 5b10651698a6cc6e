//! `instances update`: another plan, other parameters, another context.

use crate::api::osb::wire::UpdateBody;
use anyhow::{Result, bail};
use clap::Args;
use serde_json::Map;

use super::PlanArgs;
use super::locate::{Located, known, locate};
use super::outcome::{AcceptedChange, ChangeVerb};
use super::params::{ContextArgs, ParamArgs};
use super::wait::WaitArgs;
use crate::client::{BrokerClient, OperationSubject, SchemaAction};
use app::cli::Global;
use app::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  provision-engine instances update ID --param autoScalerMax=20 --wait
  provision-engine instances update ID --plan large";

/// Update an instance; parameters that are not given stay
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct UpdateArgs {
    /// The instance
    #[arg(value_name = "INSTANCE")]
    id: String,
    /// The new plan, by its name or id
    #[arg(long, value_name = "PLAN")]
    plan: Option<String>,
    /// The service of the instance, by its name or id; needed only when the broker does not say it
    #[arg(long, value_name = "SERVICE")]
    service: Option<String>,
    #[command(flatten)]
    params: ParamArgs,
    #[command(flatten)]
    context: ContextArgs,
    #[command(flatten)]
    waiting: WaitArgs,
}

pub(super) async fn run(global: &Global, args: &UpdateArgs, broker: &BrokerClient) -> Result<Exit> {
    if args.plan.is_none() && args.params.is_empty() && args.context.is_empty() {
        bail!("nothing to change: give --plan, --param, --params or --context");
    }
    let catalog = broker.catalog().await?;
    let located = locate(broker, &catalog, &args.id, &PlanArgs { plan: None, service: None }).await?;
    let current = match (located, &args.plan, &args.service) {
        (Located::Known(plan), ..) => Some(plan),
        // Only the service has to be known.
        (Located::Unknown, Some(_), _) | (Located::Unknown, None, Some(_)) => None,
        (located, ..) => Some(known(located, &args.id)?),
    };
    let service_id = match (&current, &args.service) {
        (Some(current), _) => current.ids.service.clone(),
        (None, Some(name)) => catalog.service(name)?.id.clone(),
        (None, None) => catalog.find(None, args.plan.as_deref().unwrap_or_default())?.service.id.clone(),
    };
    let wanted = args.plan.as_deref().map(|plan| catalog.find(Some(&service_id), plan)).transpose()?;
    let offer = wanted.or_else(|| current.as_ref().and_then(|current| current.offer));
    let parameters = args.params.read(offer.map(|offer| offer.plan), SchemaAction::Update)?;
    let context = args.context.read()?;
    let previous = |plan: &str| Map::from_iter([("plan_id".to_owned(), plan.into())]);
    let body = UpdateBody {
        service_id,
        plan_id: wanted.map(|offer| offer.plan.id.clone()),
        parameters: (!args.params.is_empty()).then_some(parameters),
        context: (!args.context.is_empty()).then_some(context),
        previous_values: current.as_ref().map(|current| previous(&current.ids.plan)),
        ..UpdateBody::default()
    };
    let reply = broker.update(&args.id, &body).await?;
    let asked = AcceptedChange {
        verb: ChangeVerb::Update,
        subject: OperationSubject::instance(&args.id),
        ids: current.map(|current| current.ids),
        plan: offer.map_or("", |offer| &offer.plan.name),
        limit: args.waiting.limit(offer.and_then(|offer| offer.plan.maximum_polling_duration)),
    };
    asked.see_through(global, broker, &reply, &args.waiting).await
}
