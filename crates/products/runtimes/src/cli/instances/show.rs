//! `instances show`: what a broker says about an instance or a binding, without its credentials.

use anyhow::{Result, bail};
use api::client::CallError;
use clap::Args;
use serde::Serialize;
use serde_json::Value;

use super::wait::{WaitArgs, WaitTarget, in_words};
use crate::client::{
    BrokerClient, Catalog, Ids, LastOperation, OperationSubject, ServiceInstance, State, plain,
};
use app::cli::Global;
use app::cmd::wait::WaitResult;
use app::exit::Exit;
use app::output::{self, Cell, Mood, Render, Table, note, printable};

const EXAMPLES: &str = "\
Examples:
  provision-engine instances show ID
  provision-engine instances show ID --wait
  provision-engine instances show ID --binding BINDING_ID";

/// Show an instance and its last operation
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ShowArgs {
    /// The instance
    #[arg(value_name = "INSTANCE")]
    id: String,
    /// Show the last operation of this binding instead
    #[arg(long, value_name = "BINDING_ID")]
    binding: Option<String>,
    #[command(flatten)]
    waiting: WaitArgs,
}

#[derive(Debug, Serialize)]
struct InstanceDetail {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    binding_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<String>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    instance: Option<ServiceInstance>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_operation: Option<LastOperation>,
}

impl Render for InstanceDetail {
    fn table(&self, _is_wide: bool) -> Table {
        let mut table = Table::facts();
        let mut fact = |name: &str, cell: Cell| table.row([Cell::new(name), cell]);
        fact("id", Cell::new(&self.id));
        if let Some(binding) = &self.binding_id {
            fact("binding", Cell::new(binding));
        }
        for (name, value) in [("service", &self.service), ("plan", &self.plan)] {
            if let Some(value) = value {
                fact(name, Cell::new(value));
            }
        }
        if let Some(last) = &self.last_operation {
            let mood = match last.state {
                State::InProgress => Mood::Busy,
                State::Succeeded => Mood::Good,
                State::Failed => Mood::Bad,
            };
            fact("last operation", Cell::new(in_words(last)).mood(mood));
        }
        let Some(instance) = &self.instance else { return table };
        if let Some(url) = &instance.dashboard_url {
            fact("dashboard", Cell::new(url));
        }
        let labels = instance.metadata.as_ref().and_then(|it| it.get("labels"));
        for (title, object) in [("parameter", instance.parameters.as_ref()), ("label", labels)] {
            for (name, value) in object.and_then(Value::as_object).into_iter().flatten() {
                fact(&format!("{title} {name}"), Cell::new(plain(value)));
            }
        }
        table
    }

    fn names(&self) -> Vec<String> {
        vec![printable(self.binding_id.as_ref().unwrap_or(&self.id))]
    }
}

pub(super) async fn run(global: &Global, args: &ShowArgs, broker: &BrokerClient) -> Result<Exit> {
    let subject = OperationSubject { instance: args.id.clone(), binding: args.binding.clone() };
    let catalog = broker.catalog().await?;
    let mut last = match broker.last_operation(&subject, None, None).await {
        Ok(reply) => Some(reply.body),
        // Also a broker that does everything at once may have no operations to tell about.
        Err(error) if error.is_absent() || error.status() == Some(400) => None,
        Err(error) => return Err(error.into()),
    };
    let is_going =
        |last: &Option<LastOperation>| last.as_ref().is_some_and(|it| it.state == State::InProgress);
    if args.waiting.wait && is_going(&last) {
        let limit = args.waiting.limit(None);
        let watch = WaitTarget { subject: &subject, ids: None, operation: None, is_removal: false, limit };
        match watch.wait(broker).await {
            Ok(WaitResult::Left(exit)) => return Ok(exit),
            Ok(WaitResult::With(settled)) => last = Some(settled),
            Err(error) if is_gone(&error) => {
                note(format!("{} is gone", args.binding.as_ref().unwrap_or(&args.id)));
                return Ok(Exit::GOOD);
            }
            Err(error) => return Err(error),
        }
    }
    let instance = match &args.binding {
        Some(_) => None,
        None => fetched(broker, &catalog, &args.id).await?,
    };
    if instance.is_none() && last.is_none() {
        let what = args.binding.as_ref().map_or("instance", |_| "binding");
        let id = args.binding.as_ref().unwrap_or(&args.id);
        bail!("the broker has no {what} {id}: check the id and the URL of the broker");
    }
    let has_failed = last.as_ref().is_some_and(|last| last.state == State::Failed);
    output::print(global.output, &shown(args, &catalog, instance, last))?;
    Ok(if args.waiting.wait && has_failed { Exit::OPERATION_FAILED } else { Exit::GOOD })
}

/// What was waited for was its end.
fn is_gone(error: &anyhow::Error) -> bool {
    error.downcast_ref::<CallError>().and_then(CallError::status) == Some(410)
}

/// Nothing while it is being made or changed, and nothing from brokers that do not tell.
async fn fetched(broker: &BrokerClient, catalog: &Catalog, id: &str) -> Result<Option<ServiceInstance>> {
    if !catalog.services.iter().any(|service| service.instances_retrievable) {
        return Ok(None);
    }
    match broker.instance(id).await {
        Ok(instance) => Ok(Some(instance)),
        Err(error) if error.is_absent() || error.status() == Some(422) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn shown(
    args: &ShowArgs,
    catalog: &Catalog,
    instance: Option<ServiceInstance>,
    last: Option<LastOperation>,
) -> InstanceDetail {
    let ids = instance
        .as_ref()
        .and_then(|it| Some(Ids { service: it.service_id.clone()?, plan: it.plan_id.clone()? }));
    let offer = ids.and_then(|ids| catalog.offer_of(&ids));
    InstanceDetail {
        id: args.id.clone(),
        binding_id: args.binding.clone(),
        service: offer.map(|offer| offer.service.name.clone()),
        plan: offer.map(|offer| offer.plan.name.clone()),
        instance,
        last_operation: last,
    }
}
