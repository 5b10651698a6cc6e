//! What each word on the command line does.

pub(crate) mod background;
pub(crate) mod catalog;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod demo;
pub mod device;
pub(crate) mod explain;
pub(crate) mod images;
pub(crate) mod instance_types;
pub(crate) mod instances;
pub(crate) mod inventory;
pub(crate) mod keys;
pub(crate) mod launch;
pub(crate) mod launches;
pub(crate) mod man;
pub(crate) mod migrate;
pub(crate) mod operations;
pub(crate) mod plan;
pub mod platform;
pub(crate) mod pubkeys;
pub(crate) mod sandbox;
pub(crate) mod serve;
pub(crate) mod server;
pub(crate) mod serverless;
pub(crate) mod sources;
pub(crate) mod tokens;
pub(crate) mod users;
mod wait;

use anyhow::{Context, Result};
use api::client::CallError;

use crate::cli::{Cli, Command};
use crate::client;
use crate::config::{ConfigError, Warning};
use crate::exit::{Exit, TimedOut};
use crate::output::{NobodyReads, note};

pub(crate) fn run(cli: &Cli) -> Result<Exit> {
    let global = &cli.global;
    match &cli.command {
        Command::Demo(args) => in_runtime(demo::run(global, args)),
        Command::Serve(args) => in_runtime(serve::run(global, args)),
        Command::Start(args) => background::start(global, args),
        Command::Stop(args) => background::stop(global, args),
        Command::Restart(args) => background::restart(global, args),
        Command::Status(_) => background::status(global),
        Command::Sandbox(args) => in_runtime(sandbox::run(global, args)),
        Command::Operations(args) => in_runtime(operations::run(global, args)),
        Command::Explain(args) => in_runtime(explain::run(global, args)),
        Command::Catalog(args) => in_runtime(catalog::run(global, args)),
        Command::Instances(args) => in_runtime(instances::run(global, args)),
        Command::Serverless(args) => in_runtime(serverless::run(global, args)),
        Command::Launch(args) => in_runtime(launch::run(global, args)),
        Command::Launches(args) => in_runtime(launches::run(global, args)),
        Command::Images(args) => in_runtime(images::run(global, args)),
        Command::Inventory(args) => in_runtime(inventory::run(global, args)),
        Command::Pubkeys(args) => in_runtime(pubkeys::run(global, args)),
        Command::Sources(args) => in_runtime(sources::run(global, args)),
        Command::InstanceTypes(args) => in_runtime(instance_types::run(global, args)),
        Command::Plan(args) => in_runtime(plan::one(global, args)),
        Command::Steps(_) => plan::all(global),
        Command::Keys(args) => in_runtime(keys::run(global, args)),
        Command::Tokens(args) => in_runtime(tokens::run(global, args)),
        Command::Users(args) => in_runtime(users::run(global, args)),
        Command::Migrate(_) => in_runtime(migrate::run(global)),
        Command::Config(args) => config::run(global, args),
        Command::Check(args) => in_runtime(check::run(global, args)),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args),
    }
}

fn in_runtime(command: impl Future<Output = Result<Exit>>) -> Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.context("cannot start the runtime")?.block_on(command)
}

/// Tells people what went wrong, and the shell what kind of thing it was.
pub(crate) fn report(error: &anyhow::Error) -> Exit {
    if error.is::<NobodyReads>() {
        return Exit::GOOD;
    }
    if let Some(problems) = error.downcast_ref::<ConfigError>() {
        note(format!("error: the configuration cannot be used\n{}", indented(&problems.to_string())));
        return Exit::ERROR;
    }
    note(format!("error: {error:#}"));
    if let Some(call) = error.downcast_ref::<CallError>() {
        if let Some(more) = client::more(call) {
            note(indented(&more));
        }
        return client::exit(call);
    }
    if error.is::<TimedOut>() { Exit::TIMED_OUT } else { Exit::ERROR }
}

/// Says what is suspicious about the configuration but harmless.
pub(crate) fn warn(warnings: &[Warning]) {
    for warning in warnings {
        note(format!("warning: {warning}"));
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
