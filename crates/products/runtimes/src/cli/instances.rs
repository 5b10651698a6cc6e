//! `instances`: service instances and bindings of a service broker.

mod bind;
mod create;
mod delete;
mod list;
mod locate;
mod outcome;
mod params;
mod show;
mod unbind;
mod update;
mod wait;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::client::{BrokerArgs, BrokerClient};
use app::cli::Global;
use app::cmd::complete::Candidate;
use app::exit::Exit;

/// A shell lists no more.
const COMPLETED_MAX: usize = 50;

const EXAMPLES: &str = "\
Examples:
  provision-engine instances create --plan trial --param name=first --wait
  provision-engine instances show ID
  provision-engine instances bind ID --kubeconfig kubeconfig.yaml
  provision-engine instances delete ID --wait --yes

Without --broker-url they go to the broker of this machine's server.";

/// Create, look at, change, bind and delete service instances at any service broker
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct InstancesArgs {
    #[command(flatten)]
    broker: BrokerArgs,
    #[command(subcommand)]
    command: InstancesCommand,
}

#[derive(Debug, Subcommand)]
enum InstancesCommand {
    Create(create::CreateArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Update(update::UpdateArgs),
    Delete(delete::DeleteArgs),
    Bind(bind::BindArgs),
    Unbind(unbind::UnbindArgs),
}

pub(crate) async fn run(global: &Global, args: &InstancesArgs) -> Result<Exit> {
    let broker = &BrokerClient::find(global, &args.broker)?;
    match &args.command {
        InstancesCommand::Create(args) => create::run(global, args, broker).await,
        InstancesCommand::List(args) => list::run(global, args, broker).await,
        InstancesCommand::Show(args) => show::run(global, args, broker).await,
        InstancesCommand::Update(args) => update::run(global, args, broker).await,
        InstancesCommand::Delete(args) => delete::run(global, args, broker).await,
        InstancesCommand::Bind(args) => bind::run(global, args, broker).await,
        InstancesCommand::Unbind(args) => unbind::run(global, args, broker).await,
    }
}

/// The instances of our own broker, for shells.
pub(crate) async fn complete(global: &Global) -> Result<Vec<Candidate>> {
    let page = BrokerClient::find(global, &BrokerArgs::default())?.runtimes(COMPLETED_MAX, None).await?;
    let candidate = |item: &serde_json::Value| {
        let plan = item["servicePlanName"].as_str().unwrap_or_default().to_owned();
        Some((item["instanceID"].as_str()?.to_owned(), plan))
    };
    Ok(page.data.iter().filter_map(candidate).collect())
}

/// The plan of an instance, for brokers that do not tell.
#[derive(Debug, Args)]
struct PlanArgs {
    /// The plan of the instance, by its name or id; needed only when the broker does not say it
    #[arg(long, value_name = "PLAN")]
    plan: Option<String>,
    /// The service that has the plan, by its name or id
    #[arg(long, value_name = "SERVICE")]
    service: Option<String>,
}

/// The id that was given, or a new one that tells nothing, not even the time.
fn given_or_new(id: Option<&str>) -> String {
    id.map_or_else(|| uuid::Builder::from_random_bytes(rand::random()).into_uuid().to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_new_id_is_random_and_a_given_one_stays() {
        assert_eq!(given_or_new(Some("mine")), "mine");
        let (one, other) = (given_or_new(None), given_or_new(None));
        assert_eq!(one.parse::<Uuid>().unwrap().get_version_num(), 4);
        assert_ne!(one, other);
    }
}
