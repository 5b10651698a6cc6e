//! `launches watch`: follows a launch to its end.

use anyhow::Result;
use clap::Args;

use super::conclude::conclude;
use super::find::named;
use super::follow::{Follow, way_back};
use super::printer::LaunchPrinter;
use crate::client::LaunchClient;
use app::cli::Global;
use app::cmd::wait::{WaitResult, or_come_back};
use app::config::Period;
use app::exit::Exit;
use app::output::{self, Format};

const EXAMPLES: &str = "\
Examples:
  provision-engine launches watch ID
  provision-engine launches watch ID -o json | jq .state";

/// Follow a launch to its end; exit code 3 when it did not succeed
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct WatchArgs {
    /// The launch: its id, the beginning or end of it, or its number
    #[arg(value_name = "LAUNCH")]
    name: String,
    /// How long to watch at most; exit code 4 when the time is over
    #[arg(long, value_name = "TIME")]
    timeout: Option<Period>,
}

pub(super) async fn run(global: &Global, args: &WatchArgs, client: &LaunchClient) -> Result<Exit> {
    let name = named(client, &args.name).await?;
    let name = name.as_str();
    let is_stream = matches!(global.output, Format::Json | Format::Yaml);
    let mut printer = if is_stream { LaunchPrinter::streaming(global.output) } else { LaunchPrinter::new() };
    let follow = Follow { name, before: None, limit: args.timeout };
    let ended = or_come_back(&way_back(name), follow.to_the_end(client, &mut printer)).await?;
    drop(printer);
    match ended {
        WaitResult::Left(exit) => Ok(exit),
        // The last item of a stream is its end already.
        WaitResult::With(over) if is_stream => {
            Ok(if over.has_succeeded() { Exit::GOOD } else { Exit::OPERATION_FAILED })
        }
        WaitResult::With(over) => {
            if global.output == Format::Name {
                output::data(&over.state)?;
            }
            conclude(global, &over)
        }
    }
}
