//! `instances create`: a new instance of a plan.

use crate::api::osb::wire::ProvisionBody;
use anyhow::Result;
use api::client::CallError;
use clap::Args;
use serde_json::{Map, Value};

use super::given_or_new;
use super::outcome::{AcceptedChange, ChangeVerb};
use super::params::{ContextArgs, ParamArgs};
use super::wait::WaitArgs;
use crate::client::{BrokerClient, OperationSubject, SchemaAction};
use app::cli::Global;
use app::exit::Exit;
use app::output::note;

/// Brokers insist on an organization and a space, which only one platform has.
const NOWHERE: &str = "provision-engine";

const EXAMPLES: &str = "\
Examples:
  provision-engine instances create --plan trial --param name=first --wait
  provision-engine instances create my-id --plan aws --params params.json
  provision-engine instances create --plan aws --param name=a --context globalaccount_id=42
  provision-engine instances create --plan small --service database -o name

The same id with the same parameters means the same instance, so a create whose answer
was lost can be repeated with the id that it printed.";

/// Create an instance of a plan and print its id
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CreateArgs {
    /// The id of the new instance [default: a new UUID]
    id: Option<String>,
    /// The plan, by its name or id; `provision-engine catalog` lists all
    #[arg(long, value_name = "PLAN")]
    plan: String,
    /// The service that has the plan, by its name or id
    #[arg(long, value_name = "SERVICE")]
    service: Option<String>,
    #[command(flatten)]
    params: ParamArgs,
    #[command(flatten)]
    context: ContextArgs,
    #[command(flatten)]
    waiting: WaitArgs,
}

pub(super) async fn run(global: &Global, args: &CreateArgs, broker: &BrokerClient) -> Result<Exit> {
    let catalog = broker.catalog().await?;
    let offer = catalog.find(args.service.as_deref(), &args.plan)?;
    let parameters = args.params.read(Some(offer.plan), SchemaAction::Create)?;
    let context = args.context.read()?;
    let id = given_or_new(args.id.as_deref());
    let body = ProvisionBody {
        service_id: offer.service.id.clone(),
        plan_id: offer.plan.id.clone(),
        organization_guid: text(&context, "organization_guid"),
        space_guid: text(&context, "space_guid"),
        context: Some(context),
        parameters: Some(parameters).filter(|parameters| !parameters.is_empty()),
        ..ProvisionBody::default()
    };
    let reply = match broker.provision(&id, &body).await {
        Ok(reply) => reply,
        Err(error) => {
            // The user would not learn the id otherwise, and something may be there under it.
            if matches!(error, CallError::Unexpected { .. }) || error.may_heal() {
                note(format!("the instance may exist: its id is {id}"));
            }
            return Err(error.into());
        }
    };
    let asked = AcceptedChange {
        verb: ChangeVerb::Create,
        subject: OperationSubject::instance(&id),
        ids: Some(offer.ids()),
        plan: &offer.plan.name,
        limit: args.waiting.limit(offer.plan.maximum_polling_duration),
    };
    asked.see_through(global, broker, &reply, &args.waiting).await
}

fn text(context: &Map<String, Value>, key: &str) -> String {
    context.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).unwrap_or(NOWHERE).to_owned()
}
