//! `complete`: what a shell may put in the place of the last word. The scripts of `completions` call it.

use std::time::Duration;

use anyhow::Result;
use api::types::ListQuery;
use clap::{Arg, Args, Command};
use futures_util::future::BoxFuture;

use crate::cli::{Cli, Global};
use crate::client::PlatformClient;
use crate::commands::Commands;
use crate::exit::Exit;
use crate::output::{self, printable};

/// A shell that waits longer looks broken.
const PATIENCE: Duration = Duration::from_secs(2);
const OPERATIONS_MAX: u16 = 50;

/// A word that fits, and what it means.
pub type Candidate = (String, String);
/// Where words come from.
pub type Completer = for<'a> fn(&'a Global) -> BoxFuture<'a, Result<Vec<Candidate>>>;

/// Print what fits in the place of the last word, for the completion scripts of shells
#[derive(Debug, Args)]
#[command(
    hide = true,
    after_help = "Examples:\n  provision-engine complete -- operations show ''\n  \
                  provision-engine complete -- instances create --plan a"
)]
pub struct CompleteArgs {
    /// The words after the name of the program; the last one is completed
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORD")]
    words: Vec<String>,
}

pub fn own(commands: &mut Commands) {
    commands.complete("OPERATION", |global| Box::pin(operations(global)));
    commands.complete("WORKFLOW", |global| Box::pin(async move { Ok(workflows(global)) }));
}

async fn operations(global: &Global) -> Result<Vec<Candidate>> {
    let query = ListQuery { limit: Some(OPERATIONS_MAX), ..ListQuery::default() };
    let page = PlatformClient::find(global)?.list(&query).await?;
    let candidate = |operation: api::types::Operation| {
        (operation.id.to_string(), format!("{}, {}", operation.workflow, operation.phase))
    };
    Ok(page.items.into_iter().map(candidate).collect())
}

fn workflows(global: &Global) -> Vec<Candidate> {
    let all = global.app.without_database().workflows();
    all.into_iter().map(|workflow| (workflow.workflow, workflow.about)).collect()
}

/// Nothing fits where the server does not answer in time: an error in the middle of a line helps no one.
pub async fn run(global: &Global, args: &CompleteArgs) -> Result<Exit> {
    let (last, before) =
        args.words.split_last().map_or(("", &[][..]), |(last, before)| (last.as_str(), before));
    let root = Cli::command(&global.app);
    let found = match wanted(&root, before, last) {
        Completion::Words(words) => words,
        Completion::Value(argument) => {
            let fixed = argument.get_possible_values();
            if fixed.is_empty() {
                values(global, &argument).await
            } else {
                let value =
                    |value: &clap::builder::PossibleValue| (value.get_name().to_owned(), String::new());
                fixed.iter().map(value).collect()
            }
        }
    };
    for (word, about) in found.into_iter().filter(|(word, _)| word.starts_with(last)) {
        output::data(&format!("{}\t{}", printable(&word), printable(&about)))?;
    }
    Ok(Exit::GOOD)
}

async fn values(global: &Global, argument: &Arg) -> Vec<Candidate> {
    let commands = global.app.commands();
    let names = argument.get_value_names().unwrap_or_default();
    let Some(completer) = names.iter().find_map(|name| commands.completer(name)) else { return Vec::new() };
    tokio::time::timeout(PATIENCE, completer(global)).await.ok().and_then(Result::ok).unwrap_or_default()
}

enum Completion {
    Words(Vec<Candidate>),
    Value(Box<Arg>),
}

/// What may stand behind these words: a value of the flag before, a flag, a command, or a value by its place.
fn wanted(root: &Command, before: &[String], last: &str) -> Completion {
    let (mut command, mut place, mut flag) = (root, 0, None);
    for word in before {
        if flag.take().is_some() {
            continue;
        }
        if let Some(name) = word.strip_prefix('-') {
            let known = find_flag(root, command, name);
            flag = known.filter(|argument| argument.get_action().takes_values() && !word.contains('='));
        } else if let Some(inner) = command.find_subcommand(word) {
            (command, place) = (inner, 0);
        } else {
            place += 1;
        }
    }
    if let Some(flag) = flag {
        return Completion::Value(Box::new(flag.clone()));
    }
    if last.starts_with('-') {
        let all = command.get_arguments().chain(root.get_arguments().filter(|it| it.is_global_set()));
        let flags = all
            .filter(|it| !it.is_hide_set())
            .filter_map(|it| Some((format!("--{}", it.get_long()?), help(it))));
        return Completion::Words(flags.collect());
    }
    let inner: Vec<Candidate> = command.get_subcommands().filter(|it| !it.is_hide_set()).map(about).collect();
    let positional = command.get_positionals().nth(place).or_else(|| command.get_positionals().last());
    match positional {
        Some(argument) if inner.is_empty() => Completion::Value(Box::new(argument.clone())),
        _ => Completion::Words(inner),
    }
}

fn find_flag<'a>(root: &'a Command, command: &'a Command, name: &str) -> Option<&'a Arg> {
    let long = name.strip_prefix('-').map(|long| long.split('=').next().unwrap_or(long));
    let fits = |argument: &&Arg| match long {
        Some(long) => argument.get_long() == Some(long),
        None => argument.get_short().is_some_and(|short| name.ends_with(short)),
    };
    command.get_arguments().find(fits).or_else(|| root.get_arguments().find(fits))
}

fn about(command: &Command) -> Candidate {
    (command.get_name().to_owned(), command.get_about().map(ToString::to_string).unwrap_or_default())
}

fn help(argument: &Arg) -> String {
    argument.get_help().map(ToString::to_string).unwrap_or_default()
}
