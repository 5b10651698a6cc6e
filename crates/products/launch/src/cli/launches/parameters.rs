//! `launches parameters`: submits the parameters of a deferred launch.

use crate::api::types::NewParameters;
use anyhow::{Result, bail};
use clap::Args;

use super::super::launch::{ParameterArgs, typed};
use super::conclude::conclude;
use super::find::named;
use super::follow::WaitArgs;
use crate::client::LaunchClient;
use app::cli::Global;
use app::cmd::wait::WaitResult;
use app::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  provision-engine launches parameters ID --source 7 --type t3.small --key mine
  provision-engine launches parameters ID -f parameters.yaml --count 3 --wait

The first parameters that fit count. The same again are welcome, others are refused.";

/// Say where and how to launch an image that is built by `launch --deferred`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ParametersArgs {
    /// The launch: its id, the beginning or end of it, or its number
    #[arg(value_name = "LAUNCH")]
    launch: String,
    #[command(flatten)]
    parameters: ParameterArgs,
    /// All parameters in YAML or JSON, - for stdin; flags count more
    #[arg(long, short, value_name = "FILE")]
    file: Option<String>,
    #[command(flatten)]
    waiting: WaitArgs,
}

pub(super) async fn run(global: &Global, args: &ParametersArgs, client: &LaunchClient) -> Result<Exit> {
    if args.parameters.is_empty() && args.file.is_none() {
        bail!("which parameters? Give --source, --type and --key, or --file");
    }
    let in_file =
        args.file.as_deref().map(|path| typed("--file", app::given::object("--file", path)?)).transpose()?;
    let mut parameters: NewParameters = in_file.unwrap_or_default();
    args.parameters.lay_over(client, &mut parameters).await?;
    let launch = named(client, &args.launch).await?;
    let taken = client.submit_parameters(&launch, &parameters).await?;
    match args.waiting.see_through(global, client, &taken, None).await? {
        WaitResult::Left(exit) => Ok(exit),
        WaitResult::With(over) => conclude(global, &over),
    }
}
