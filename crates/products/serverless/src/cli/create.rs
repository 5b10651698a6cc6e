//! `serverless create`: a new runtime of some flavours.

use crate::api::wire::RuntimeOperation;
use anyhow::{Context, Result};
use api::client::CallError;
use clap::Args;

use super::ask::{AmountArgs, PlacementArgs, RuntimeArgs};
use super::show::{print_for_scripts, settled};
use super::wait::{WaitArgs, way_back};
use crate::client::{RuntimeBody, ServerlessClient, State, succeeded};
use crate::model::FunctionRole;
use app::cli::Global;
use app::cmd::wait::WaitResult;
use app::exit::Exit;
use app::output::{self, Format, note};

const EXAMPLES: &str = "\
Examples:
  provision-engine serverless create --faas Function --wait
  provision-engine serverless create --faas Function --daas Data --cpu 2 --memory 1024
  provision-engine serverless create --faas nature --requirements 'HYPERVISOR=kvm' -o name

Flavours are the names of service templates in OpenNebula, joined by a dash. What has no
number gets that of the VM template.";

/// Create a runtime and print its id
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CreateArgs {
    /// The flavour of the function
    #[arg(long, value_name = "FLAVOUR")]
    faas: String,
    /// The flavour of a data service beside it
    #[arg(long, value_name = "FLAVOUR")]
    daas: Option<String>,
    /// What to call it [default: the flavours and a number]
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    amounts: AmountArgs,
    #[command(flatten)]
    place: PlacementArgs,
    /// The same key with the same flags is the same runtime [default: a new UUID]
    #[arg(long, alias = "key", value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    waiting: WaitArgs,
}

pub(super) async fn run(global: &Global, args: &CreateArgs, client: &ServerlessClient) -> Result<Exit> {
    let wanted = RuntimeArgs { name: args.name.as_deref(), amounts: &args.amounts, place: &args.place };
    let body = wanted.body(&args.faas, args.daas.as_deref())?;
    let new_key = || uuid::Builder::from_random_bytes(rand::random()).into_uuid().to_string();
    let key = args.idempotency_key.clone().unwrap_or_else(new_key);
    let operation = match client.create(&body, &key).await {
        Ok(operation) => operation,
        Err(error) => {
            // It may be under way although no good answer came.
            if error.may_heal() && !matches!(error, CallError::Unreachable { .. }) {
                note(format!("the runtime may be on its way: ask for the same with --idempotency-key {key}"));
            }
            return Err(error.into());
        }
    };
    // Its id is not known before its VMs are there.
    let mut patience = args.waiting.patience.start();
    let made = match patience.operation(client, &operation).await? {
        WaitResult::Left(exit) => return Ok(exit),
        WaitResult::With(made) => made,
    };
    let id = id_of(made)?;
    if !matches!(global.output, Format::Json | Format::Yaml) {
        // Before the wait, so that a wait that is broken off has said what it waited for.
        output::data(&id.to_string())?;
    }
    if !args.waiting.wait {
        print_for_scripts(global, &client.runtime(id).await?)?;
        if global.output != Format::Name {
            note(format!("runtime {id} is created and starts; follow it: {}", way_back(id)));
        }
        return Ok(Exit::GOOD);
    }
    match patience.runtime(client, id).await? {
        WaitResult::Left(exit) => Ok(exit),
        WaitResult::With(runtime) => {
            drop(patience);
            print_for_scripts(global, &runtime)?;
            tell(&runtime);
            Ok(settled(&runtime))
        }
    }
}

fn id_of(made: RuntimeOperation) -> Result<i32> {
    let made = succeeded(made)?;
    let id = made.location.as_deref().and_then(|path| path.rsplit('/').next()?.parse().ok());
    id.context("the server made a runtime and did not say which: `provision-engine serverless list` shows it")
}

fn tell(runtime: &RuntimeBody) {
    if runtime.state() != State::Running {
        return;
    }
    note(format!("runtime {} is running", runtime.id));
    for role in runtime.roles() {
        if let Some(endpoint) = runtime.of(role, "ENDPOINT") {
            note(format!("{}: {}", role.as_str(), output::printable(&endpoint)));
        }
    }
    if let Some(endpoint) = runtime.of(FunctionRole::Faas, "ENDPOINT") {
        let endpoint = output::printable(&endpoint);
        note(format!("call it: POST http://{endpoint}:8000/v1/faas/execute-sync"));
    }
}
