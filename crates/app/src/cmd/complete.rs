//! `complete`: candidates for the word under the cursor. The scripts of `completions` call it.

use std::time::Duration;

use anyhow::Result;
use api::types::{ListQuery, Workflow};
use clap::{Arg, Args, Command};
use futures_util::future::BoxFuture;
use serde_json::Value;
use server::ToWire;

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
pub type Completer = for<'a> fn(&'a Global, Typed<'a>) -> BoxFuture<'a, Result<Vec<Candidate>>>;

/// The words that are there already.
#[derive(Debug, Clone, Copy)]
pub struct Typed<'a> {
    pub before: &'a [String],
    /// The one that is completed.
    pub last: &'a str,
}

/// Print what fits in the place of the last word, for the completion scripts of shells
#[derive(Debug, Args)]
#[command(
    hide = true,
    after_help = "Examples:\n  provision-engine complete -- operations show ''\n  \
                  provision-engine complete -- instances create --plan a\n  \
                  provision-engine complete -- operations submit demo.hello --param n"
)]
pub struct CompleteArgs {
    /// The words after the name of the program; the last one is completed
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORD")]
    words: Vec<String>,
}

pub fn own(commands: &mut Commands) {
    commands.complete("OPERATION", |global, _| Box::pin(operations(global)));
    commands.complete("WORKFLOW", |global, _| Box::pin(async move { Ok(workflow_names(global).await) }));
    commands.complete("KEY=VALUE", |global, typed| Box::pin(async move { Ok(params(global, typed).await) }));
}

async fn operations(global: &Global) -> Result<Vec<Candidate>> {
    let query = ListQuery { limit: Some(OPERATIONS_MAX), ..ListQuery::default() };
    let page = PlatformClient::find(global)?.list(&query).await?;
    let candidate = |operation: api::types::Operation| {
        (operation.id.to_string(), format!("{}, {}", operation.workflow, operation.phase))
    };
    Ok(page.items.into_iter().map(candidate).collect())
}

/// As the server has them; those of this release where no server answers.
async fn workflows(global: &Global) -> Vec<Workflow> {
    let asked = match PlatformClient::find(global) {
        Ok(client) => client.workflows().await.ok(),
        Err(_) => None,
    };
    asked.map_or_else(|| global.app.without_database().workflows().to_wire(), |list| list.items)
}

async fn workflow_names(global: &Global) -> Vec<Candidate> {
    workflows(global).await.into_iter().map(|workflow| (workflow.workflow, workflow.about)).collect()
}

/// The params of the workflow that was chosen: their names, and behind `name=` what its schema lists.
async fn params(global: &Global, typed: Typed<'_>) -> Vec<Candidate> {
    let all = workflows(global).await;
    let chosen = all.iter().find(|workflow| typed.before.contains(&workflow.workflow));
    chosen.map(|workflow| params_of(&workflow.params, typed.last)).unwrap_or_default()
}

fn params_of(schema: &Value, last: &str) -> Vec<Candidate> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return Vec::new() };
    let about = |property: &Value| {
        let text = ["description", "title"].into_iter().find_map(|key| property.get(key)?.as_str());
        text.unwrap_or_default().to_owned()
    };
    match last.split_once('=') {
        None => properties.iter().map(|(name, property)| (format!("{name}="), about(property))).collect(),
        Some((name, _)) => {
            let values = properties.get(name).map(options).unwrap_or_default();
            values.into_iter().map(|value| (format!("{name}={value}"), String::new())).collect()
        }
    }
}

/// What a param can be, where that is a short list.
fn options(property: &Value) -> Vec<String> {
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match property.get("enum").and_then(Value::as_array) {
        Some(options) => options.iter().filter(|option| !option.is_null()).map(plain).collect(),
        None if property.get("type").is_some_and(|kind| kind == "boolean") => {
            vec!["true".to_owned(), "false".to_owned()]
        }
        None => Vec::new(),
    }
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
                values(global, &argument, Typed { before, last }).await
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

async fn values(global: &Global, argument: &Arg, typed: Typed<'_>) -> Vec<Candidate> {
    let commands = global.app.commands();
    let names = argument.get_value_names().unwrap_or_default();
    let Some(completer) = names.iter().find_map(|name| commands.completer(name)) else { return Vec::new() };
    tokio::time::timeout(PATIENCE, completer(global, typed))
        .await
        .ok()
        .and_then(Result::ok)
        .unwrap_or_default()
}

enum Completion {
    Words(Vec<Candidate>),
    Value(Box<Arg>),
}

/// What may stand behind these words: a value of the flag before, a flag, a command, or a value by its place.
fn wanted(root: &Command, before: &[String], last: &str) -> Completion {
    let (mut command, mut position, mut flag) = (root, 0, None);
    for word in before {
        if flag.take().is_some() {
            continue;
        }
        if let Some(name) = word.strip_prefix('-') {
            let known = find_flag(root, command, name);
            flag = known.filter(|argument| argument.get_action().takes_values() && !word.contains('='));
        } else if let Some(inner) = command.find_subcommand(word) {
            (command, position) = (inner, 0);
        } else {
            position += 1;
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
    let positional = command.get_positionals().nth(position).or_else(|| command.get_positionals().last());
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn params_come_from_the_schema_with_their_values() {
        let schema = json!({"properties": {
            "team": {"type": "string", "description": "Who gets it"},
            "size": {"enum": ["small", 3, null]},
            "open": {"type": "boolean"},
        }});
        let words = |last: &str| -> Vec<String> {
            params_of(&schema, last).into_iter().map(|(word, _)| word).collect()
        };
        assert_eq!(words("t"), ["open=", "size=", "team="]);
        assert_eq!(words("size="), ["size=small", "size=3"]);
        assert_eq!(words("open=f"), ["open=true", "open=false"]);
        assert!(words("team=r").is_empty() && words("other=").is_empty());
        assert!(params_of(&json!({"type": "object"}), "").is_empty());
    }
}
