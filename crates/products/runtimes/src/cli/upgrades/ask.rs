//! `upgrades pause`, `resume`, `cancel` and `retry`.

use anyhow::Result;
use clap::Args;
use reqwest::Method;
use serde::Serialize;
use uuid::Uuid;

use super::wait::WaitArgs;
use crate::api::orchestrations::wire::{RetryAnswer, RetryBody, StartedOrchestration};
use app::cli::Global;
use app::client::PlatformClient;
use app::exit::Exit;
use app::output::{self, Cell, Format, Render, Table, note};

const EXAMPLES: &str = "\
Examples:
  provision-engine upgrades pause ID
  provision-engine upgrades resume ID --wait
  provision-engine upgrades cancel ID --wait";

const RETRY_EXAMPLES: &str = "\
Examples:
  provision-engine upgrades retry ID --wait
  provision-engine upgrades retry ID --operation OPERATION --immediate";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct AskArgs {
    /// The orchestration
    #[arg(value_name = "ID")]
    id: Uuid,
    #[command(flatten)]
    waiting: WaitArgs,
}

/// Retry failed runtimes, and start those that --max-failures held back
#[derive(Debug, Args)]
#[command(after_help = RETRY_EXAMPLES)]
pub(super) struct RetryArgs {
    /// The orchestration
    #[arg(value_name = "ID")]
    id: Uuid,
    /// Only this one of its operations; can be given more than once
    #[arg(long, value_name = "OPERATION")]
    operation: Vec<String>,
    /// Do not wait for maintenance windows
    #[arg(long)]
    immediate: bool,
    #[command(flatten)]
    waiting: WaitArgs,
}

pub(super) async fn run(
    global: &Global,
    args: &AskArgs,
    verb: &str,
    client: &PlatformClient,
) -> Result<Exit> {
    let path = ["orchestrations", &args.id.to_string(), verb];
    let _: StartedOrchestration = client.http.request(Method::PUT, &path)?.read().await?;
    args.waiting.show(global, args.id, client).await
}

#[derive(Serialize)]
#[serde(transparent)]
struct RetryTable(RetryAnswer);

impl Render for RetryTable {
    fn table(&self, _: bool) -> Table {
        let mut table = Table::new(["CLUSTER"]);
        for shoot in &self.0.retry_shoots {
            table.row([Cell::new(shoot)]);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.0.retry_shoots.clone()
    }
}

pub(super) async fn retry(global: &Global, args: &RetryArgs, client: &PlatformClient) -> Result<Exit> {
    let path = ["orchestrations", &args.id.to_string(), "retry"];
    let body = RetryBody { operations: args.operation.clone(), immediate: args.immediate };
    let answer: RetryAnswer = client.http.post(&path, &body).await?;
    for id in &answer.invalid_operations {
        note(format!("{id} has not failed, and is not tried again"));
    }
    if args.waiting.wait || !matches!(global.output, Format::Table | Format::Wide) {
        return args.waiting.show(global, args.id, client).await;
    }
    output::print(global.output, &RetryTable(answer))?;
    Ok(Exit::GOOD)
}
