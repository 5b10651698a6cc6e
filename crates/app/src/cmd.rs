//! The commands of the platform, one file each.

pub mod background;
pub mod backup;
pub mod check;
pub mod complete;
pub mod completions;
pub mod config;
pub mod explain;
pub mod keys;
pub mod login;
pub mod man;
pub mod migrate;
pub mod operations;
pub mod plan;
pub mod reference;
pub mod sandbox;
pub mod serve;
pub mod server;
pub mod tokens;
pub mod users;
pub mod version;
pub mod wait;
pub mod workflows;

use api::client::CallError;

use crate::client;
use crate::commands::Commands;
use crate::config::{ConfigError, Warning};
use crate::exit::{Exit, TimedOut, UsageError};
use crate::hint;
use crate::output::{BrokenPipe, note};

/// The commands before those of products: the server, and what all operations have in common.
pub fn first(commands: &mut Commands) {
    commands.add_async("serve", serve::run);
    commands.add("start", background::start);
    commands.add("stop", background::stop);
    commands.add("restart", background::restart);
    commands.add("status", background::status);
    commands.add_async("sandbox", sandbox::run);
    commands.add_async("operations", operations::run);
    commands.alias("ops");
    commands.add_async("explain", explain::run);
    commands.add_async("workflows", workflows::run);
}

/// The commands behind those of products.
pub fn last(commands: &mut Commands) {
    commands.add_async("plan", plan::one);
    commands.add_async("steps", plan::all);
    commands.add_async("keys", keys::run);
    commands.add_async("tokens", tokens::run);
    commands.add_async("users", users::run);
    commands.add_async("login", login::login);
    commands.add("logout", login::logout);
    commands.add_async("migrate", migrate::run);
    commands.add("config", config::run);
    commands.add_async("check", check::run);
    commands.add_async("backup", backup::run);
    commands.add("completions", completions::run);
    commands.add_async("complete", complete::run);
    complete::own(commands);
    commands.add("man", man::run);
    commands.add("version", version::run);
}

pub(crate) use operations::ago;
pub(crate) use users::password::once as secret_line;

/// Tells people what went wrong, and the shell what kind of thing it was.
pub fn report(error: &anyhow::Error) -> Exit {
    if error.is::<BrokenPipe>() {
        return Exit::GOOD;
    }
    if let Some(problems) = error.downcast_ref::<ConfigError>() {
        warn(&problems.warnings);
        note(format!("error: the configuration cannot be used\n{}", indented(&problems.to_string())));
        return Exit::ERROR;
    }
    note(format!("error: {}", hint::in_text(&format!("{error:#}"))));
    if let Some(call) = error.downcast_ref::<CallError>() {
        if let Some(more) = client::more(call) {
            note(indented(&more));
        }
        return client::exit(call);
    }
    if error.is::<TimedOut>() {
        return Exit::TIMED_OUT;
    }
    if error.is::<UsageError>() { Exit::USAGE } else { Exit::ERROR }
}

/// Says what is suspicious about the configuration but harmless.
pub fn warn(warnings: &[Warning]) {
    for warning in warnings {
        note(format!("warning: {warning}"));
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
