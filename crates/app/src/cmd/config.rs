//! `config`: checks the configuration, and prints the settings in force.

use anyhow::Result;
use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::Value;

use crate::cli::Global;
use crate::cmd;
use crate::config::Config;
use crate::contexts::{Context, Contexts};
use crate::exit::Exit;
use crate::output::{self, Cell, Format, Render, Table, note};

const EXAMPLES: &str = "\
Examples:
  provision-engine config check --config provision-engine.yaml
  provision-engine config show -o wide       where each value came from
  provision-engine config show -o yaml       as a file
  provision-engine config use-context prod   talk to another server, stored by `login`
  provision-engine config reference          what each setting means";

/// Check the configuration, or show what is in force
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Find everything that is wrong, with line and column; unknown keys are warnings
    #[command(after_help = "Examples:\n  provision-engine config check --config provision-engine.yaml")]
    Check,
    /// Print every setting, with secrets masked; `-o wide` says where each came from
    #[command(after_help = "Examples:\n  provision-engine config show -o wide")]
    Show,
    /// Use another server from now on, stored by `login`
    #[command(after_help = "Examples:\n  provision-engine config use-context prod")]
    UseContext {
        /// The context
        #[arg(value_name = "CONTEXT")]
        name: String,
    },
    /// List the servers that `login` has stored; tokens are not shown
    #[command(after_help = "Examples:\n  provision-engine config contexts")]
    Contexts,
    /// Print the manual of all settings, in Markdown
    #[command(after_help = "Examples:\n  provision-engine config reference > settings.md")]
    Reference,
}

/// What `check` found, for programs.
#[derive(Debug, Serialize)]
struct ConfigReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// What lies below the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    engine_conf: Option<String>,
    warnings: Vec<String>,
    problems: Vec<String>,
}

struct InForce<'a>(&'a Config);

impl Serialize for InForce<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.to_value_masked().serialize(serializer)
    }
}

impl Render for InForce<'_> {
    fn table(&self, is_wide: bool) -> Table {
        let columns: &[&str] =
            if is_wide { &["SETTING", "VALUE", "FROM", "VARIABLE"] } else { &["SETTING", "VALUE"] };
        let mut table = Table::new(columns);
        for (path, value, origin) in self.0.origins().iter() {
            let more = is_wide.then(|| [origin.to_string(), ::config::variable(path)].map(Cell::new));
            table.row([path.into(), Cell::new(plain(value))].into_iter().chain(more.into_iter().flatten()));
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.0.origins().iter().map(|(path, _, _)| path.to_owned()).collect()
    }
}

/// A value as it could be written in an environment variable.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "-".to_owned(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

pub fn run(global: &Global, args: &ConfigArgs) -> Result<Exit> {
    match &args.command {
        ConfigCommand::Check => check(global),
        ConfigCommand::UseContext { name } => {
            let mut contexts = Contexts::read()?;
            let server = contexts.get(name)?.server.clone();
            contexts.current = Some(name.clone());
            contexts.write()?;
            note(format!("commands go to {server} (context {name})"));
            Ok(Exit::GOOD)
        }
        ConfigCommand::Contexts => {
            output::print(global.output, &Listed::from(&Contexts::read()?))?;
            Ok(Exit::GOOD)
        }
        ConfigCommand::Show => {
            let (config, warnings) = global.load(&[])?;
            cmd::warn(&warnings);
            output::print(global.output, &InForce(&config))?;
            Ok(Exit::GOOD)
        }
        ConfigCommand::Reference => {
            output::data(&::config::manual::render(&global.app.table()))?;
            Ok(Exit::GOOD)
        }
    }
}

/// The stored servers, without their tokens.
#[derive(Debug, Serialize)]
struct Listed {
    items: Vec<ListedContext>,
}

#[derive(Debug, Serialize)]
struct ListedContext {
    name: String,
    server: String,
    current: bool,
}

impl From<&Contexts> for Listed {
    fn from(contexts: &Contexts) -> Listed {
        let listed = |(name, context): (&String, &Context)| ListedContext {
            name: name.clone(),
            server: context.server.clone(),
            current: contexts.current.as_ref() == Some(name),
        };
        Listed { items: contexts.all.iter().map(listed).collect() }
    }
}

impl Render for Listed {
    fn table(&self, _is_wide: bool) -> Table {
        let mut table = Table::new(["CURRENT", "CONTEXT", "SERVER"]);
        for ListedContext { name, server, current } in &self.items {
            table.row([if *current { "*" } else { "" }.into(), Cell::new(name), Cell::new(server)]);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().map(|context| context.name.clone()).collect()
    }
}

fn check(global: &Global) -> Result<Exit> {
    let is_for_programs = matches!(global.output, Format::Json | Format::Yaml);
    let loaded = global.load(&[]);
    let report = match &loaded {
        Ok((config, warnings)) => ConfigReport {
            file: config.file.as_ref().map(|file| file.display().to_string()),
            engine_conf: config.base_file.as_ref().map(|file| file.display().to_string()),
            warnings: warnings.iter().map(ToString::to_string).collect(),
            problems: Vec::new(),
        },
        Err(error) => ConfigReport {
            file: None,
            engine_conf: None,
            warnings: error.warnings.iter().map(ToString::to_string).collect(),
            problems: error.problems.iter().map(ToString::to_string).collect(),
        },
    };
    if is_for_programs {
        output::print_value(global.output, &report)?;
    }
    let (_, warnings) = loaded?;
    cmd::warn(&warnings);
    let read = match (&report.file, &report.engine_conf) {
        (Some(file), Some(conf)) => format!("{file}, over {conf}"),
        (Some(file), None) | (None, Some(file)) => file.clone(),
        (None, None) => "no file: all defaults, the environment and the flags".to_owned(),
    };
    note(format!("the configuration is good ({read})"));
    Ok(Exit::GOOD)
}
