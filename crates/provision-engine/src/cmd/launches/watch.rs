//! `launches watch`: how a launch gets on, to its end.

use anyhow::Result;
use clap::Args;

use super::conclude::conclude;
use super::follow::{Ended, Follow};
use super::teller::Teller;
use crate::cli::Global;
use crate::config::Period;
use crate::exit::Exit;
use crate::launching::Door;
use crate::output::{self, Format, note};

const EXAMPLES: &str = "\
Examples:
  provision-engine launches watch ID
  provision-engine launches watch ID -o json | jq .state";

/// Follow a launch to its end; exit code 3 when it did not succeed
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct WatchArgs {
    /// The launch, by its id or number
    #[arg(value_name = "ID")]
    name: String,
    /// How long to watch at most; exit code 4 when the time is over
    #[arg(long, value_name = "TIME")]
    timeout: Option<Period>,
}

pub(super) async fn run(global: &Global, args: &WatchArgs, mut door: Door) -> Result<Exit> {
    let name = args.name.as_str();
    let is_stream = matches!(global.output, Format::Json | Format::Yaml);
    let mut teller = if is_stream { Teller::streaming(global.output) } else { Teller::new() };
    let ended = Follow { name, before: None, limit: args.timeout }.to_the_end(&mut door, &mut teller).await?;
    drop(teller);
    match ended {
        Ended::Left(exit) => {
            note(format!("it goes on; come back with: provision-engine launches watch {name}"));
            Ok(exit)
        }
        // The last item of a stream is its end already.
        Ended::With(over) if is_stream => {
            Ok(if over.has_succeeded() { Exit::GOOD } else { Exit::OPERATION_FAILED })
        }
        Ended::With(over) => {
            if global.output == Format::Name {
                output::data(&over.state)?;
            }
            conclude(global, &over)
        }
    }
}
