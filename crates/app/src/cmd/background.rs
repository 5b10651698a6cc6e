//! `start`, `stop`, `restart` and `status`: the engine in the background.

use std::ffi::OsString;
use std::time::Duration;

use anyhow::Result;
use api::types::WireTime;
use clap::Args;
use serde::Serialize;

use super::serve::ServeArgs;
use crate::background::{Control, StartResult, Status, Stopped};
use crate::cli::Global;
use crate::cmd;
use crate::config::{Config, Period};
use crate::exit::Exit;
use crate::output::{self, Format, note};
use crate::paths::DataDir;

/// What an engine may need besides its grace for running steps: closing connections and the database.
const STOP_MARGIN: Duration = Duration::from_secs(10);

const START_EXAMPLES: &str = "\
Examples:
  provision-engine start
  provision-engine start --sandbox --data-dir /srv/engine

It takes the same flags as `serve`. What it prints goes to `provision-engine.out` in the data directory.";

/// Start the server in the background and wait until it is healthy
#[derive(Debug, Args)]
#[command(after_help = START_EXAMPLES)]
pub struct StartArgs {
    #[command(flatten)]
    serve: ServeArgs,
    /// How long it may take until it is healthy
    #[arg(long, value_name = "TIME", default_value = "60s")]
    timeout: Period,
}

/// Stop the server in the background and wait until it is gone
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  provision-engine stop\n  provision-engine stop --timeout 5s --force")]
pub struct StopArgs {
    #[command(flatten)]
    ending: Ending,
}

/// Stop the server in the background, if it runs, and start it
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  provision-engine restart\n  provision-engine restart --sandbox")]
pub struct RestartArgs {
    #[command(flatten)]
    serve: ServeArgs,
    #[command(flatten)]
    ending: Ending,
}

/// Say whether the server runs in the background; exit code 3 when it does not
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  provision-engine status\n  provision-engine status -o json")]
pub struct StatusArgs {}

#[derive(Debug, Args)]
struct Ending {
    /// How long it may take to stop [default: `engine.stop_grace` and ten seconds]
    #[arg(long, value_name = "TIME")]
    timeout: Option<Period>,
    /// Kill it if it has not stopped by then; nothing is lost: the next start continues
    #[arg(long)]
    force: bool,
}

impl Ending {
    fn limit(&self, config: &Config) -> Duration {
        self.timeout.map_or(config.engine.stop_grace.get() + STOP_MARGIN, Period::get)
    }
}

pub fn start(global: &Global, args: &StartArgs) -> Result<Exit> {
    note(begin(global, args)?.to_string());
    Ok(Exit::GOOD)
}

pub fn stop(global: &Global, args: &StopArgs) -> Result<Exit> {
    note(end(global, args)?.to_string());
    Ok(Exit::GOOD)
}

pub fn restart(global: &Global, args: &RestartArgs) -> Result<Exit> {
    note(begin_again(global, args)?.to_string());
    Ok(Exit::GOOD)
}

pub(super) fn begin(global: &Global, args: &StartArgs) -> Result<StartResult> {
    let (config, warnings) = global.load(&args.serve.settings())?;
    cmd::warn(&warnings);
    control(&config)?.start(&arguments(global, &args.serve), args.timeout.get())
}

pub(super) fn end(global: &Global, args: &StopArgs) -> Result<Stopped> {
    let (config, _) = global.load(&[])?;
    control(&config)?.stop(args.ending.limit(&config), args.ending.force)
}

pub(super) fn begin_again(global: &Global, args: &RestartArgs) -> Result<StartResult> {
    const START_LIMIT: Duration = Duration::from_secs(60);
    let (config, warnings) = global.load(&args.serve.settings())?;
    cmd::warn(&warnings);
    let arguments = arguments(global, &args.serve);
    let Ending { force, .. } = args.ending;
    control(&config)?.restart(&arguments, START_LIMIT, args.ending.limit(&config), force)
}

/// The status for programs.
#[derive(Debug, Serialize)]
struct StatusOutput {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<WireTime>,
}

impl From<&Status> for StatusOutput {
    fn from(status: &Status) -> StatusOutput {
        match status {
            Status::Running(running) => StatusOutput {
                status: "running",
                pid: Some(running.pid),
                url: Some(running.url()),
                since: Some(WireTime(running.since)),
            },
            Status::Stale => StatusOutput { status: "stale", pid: None, url: None, since: None },
            Status::NotRunning => StatusOutput { status: "not_running", pid: None, url: None, since: None },
        }
    }
}

pub fn status(global: &Global, _: &StatusArgs) -> Result<Exit> {
    let status = control(&global.load(&[])?.0)?.status()?;
    match global.output {
        Format::Table | Format::Wide => output::data(&status.to_string())?,
        Format::Name => output::data(StatusOutput::from(&status).status)?,
        Format::Json | Format::Yaml => output::print_value(global.output, &StatusOutput::from(&status))?,
    }
    Ok(Exit(status.exit_code()))
}

fn control(config: &Config) -> Result<Control> {
    Control::new(DataDir::new(&config.data_dir))
}

fn arguments(global: &Global, serve: &ServeArgs) -> Vec<OsString> {
    let mut arguments = vec![OsString::from("serve")];
    arguments.extend(global.pass_on());
    arguments.extend(serve.pass_on());
    arguments
}
