//! `sandbox`: the simulated external systems as a separate process, which survives a crash of the engine.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use clap::Args;

use crate::cli::Global;
use crate::exit::Exit;
use crate::output::{self, note};
use crate::signals::Signals;
use crate::{cmd, logs};

const EXAMPLES: &str = "\
Examples:
  provision-engine sandbox --listen 127.0.0.1:4711
  provision-engine serve --sandbox-url http://127.0.0.1:4711
  curl http://127.0.0.1:4711/ledger
  curl http://127.0.0.1:4711/faults --json '{\"system\": \"greeter\", \"kind\": \"error\", \"times\": 2}'";

/// Run the external systems that the demonstration talks to, with a ledger of every effect they had
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SandboxArgs {
    /// Where to listen; only loopback is possible, and port 0 takes any free port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
}

pub async fn run(global: &Global, args: &SandboxArgs) -> Result<Exit> {
    let (config, warnings) = global.load(&[])?;
    cmd::warn(&warnings);
    let _logs = logs::init(&config.log)?;
    let mut signals = Signals::catch()?;
    let sandbox = sandbox::Sandbox::start(args.listen)
        .await
        .with_context(|| format!("cannot start the sandbox at {}", args.listen))?;
    let url = sandbox.url();
    note(format!("the sandbox listens; what it did: {url}/ledger; how to break it: POST {url}/faults"));
    output::data(&url)?;
    sandbox.run_until(signals.next()).await;
    Ok(Exit::GOOD)
}
