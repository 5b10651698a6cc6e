//! `operations signal`: sends a signal to the operations that wait for its key.

use anyhow::{Context, Result};
use clap::Args;
use serde_json::Value;

use crate::cli::Global;
use crate::client::PlatformClient;
use crate::exit::Exit;
use crate::given;
use crate::output::{self, Format, note};

const EXAMPLES: &str = "\
Examples:
  provision-engine operations signal ID approved --payload '{\"by\": \"ann\"}'
  provision-engine operations signal image-ready/42 --payload '{\"image\": \"ami-1\"}'";

/// Send a signal to the operations that wait for its key, now or later
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct SignalArgs {
    /// The operation that waits, or a key that any operation may wait for
    #[arg(value_name = "ID or KEY")]
    target: String,
    /// The key that a step of this operation waits for
    key: Option<String>,
    /// What the signal carries: a file with JSON, - for stdin, or JSON itself
    #[arg(long, value_name = "FILE|-|JSON")]
    payload: Option<String>,
}

pub(super) async fn run(global: &Global, args: &SignalArgs, client: &PlatformClient) -> Result<Exit> {
    let payload = args.payload.as_deref().map_or(Ok(Value::Null), |text| given::value("--payload", text))?;
    let signalled = match &args.key {
        Some(key) => {
            let id =
                args.target.parse().with_context(|| format!("{:?} is no id of an operation", args.target))?;
            client.signal_operation(id, key, &payload).await?
        }
        None => client.signal(&args.target, &payload).await?,
    };
    if matches!(global.output, Format::Json | Format::Yaml) {
        output::print_value(global.output, &signalled)?;
    }
    note(match signalled.woke {
        0 => "no step waits for this key yet; the signal is kept".to_owned(),
        1 => "woke one operation".to_owned(),
        count => format!("woke {count} operations"),
    });
    Ok(Exit::GOOD)
}
