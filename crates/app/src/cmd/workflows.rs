//! `workflows`: declare workflows, list and show them.

mod apply;
mod check;
mod init;

use std::path::PathBuf;

use anyhow::Result;
use api::types::{Workflow, WorkflowList, WorkflowSource, WorkflowVersion, WorkflowVersionList};
use clap::{Args, Subcommand};

use crate::cli::Global;
use crate::client::PlatformClient;
use crate::exit::Exit;
use crate::output::{self, Cell, Format, Render, Table, note};

const EXAMPLES: &str = "\
Examples:
  provision-engine workflows init acme.database --language python
  provision-engine workflows check acme.database.yaml
  provision-engine workflows apply acme.database.yaml
  provision-engine workflows list
  provision-engine workflows show acme.database --versions
  provision-engine workflows delete acme.database";

/// List, declare and delete workflows
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct WorkflowsArgs {
    #[command(subcommand)]
    command: WorkflowsCommand,
}

#[derive(Debug, Subcommand)]
enum WorkflowsCommand {
    /// List all workflows: where each comes from, its version and who changed it
    #[command(after_help = "Examples:\n  provision-engine workflows list")]
    List,
    /// Show one: its steps, its versions, or the content of a version
    #[command(after_help = "Examples:\n  provision-engine workflows show acme.database --versions")]
    Show {
        /// Its name
        name: String,
        /// List the versions that are kept
        #[arg(long)]
        versions: bool,
        /// Show the content of this version
        #[arg(long, value_name = "N", conflicts_with = "versions")]
        version: Option<u32>,
    },
    /// Declare a workflow, or a new version of one; the secret of `secret_file` or `secret_env` is sent with it
    #[command(after_help = "Examples:\n  provision-engine workflows apply acme.database.yaml")]
    Apply {
        /// The declaration
        file: PathBuf,
    },
    /// Delete a declared workflow; its unfinished operations continue
    #[command(after_help = "Examples:\n  provision-engine workflows delete acme.database")]
    Delete {
        /// Its name
        name: String,
    },
    /// Check a declaration and call nothing; errors have line and column
    #[command(after_help = "Examples:\n  provision-engine workflows check acme.database.yaml")]
    Check {
        /// The declaration
        file: PathBuf,
    },
    Init(init::InitArgs),
}

/// The list by workflow; `steps` has a line for each step.
struct Overview(WorkflowList);

impl Render for Overview {
    fn table(&self, _is_wide: bool) -> Table {
        let mut table = Table::new(["WORKFLOW", "SOURCE", "VERSION", "STEPS", "CHANGED BY", "ABOUT"]);
        for workflow in &self.0.items {
            table.row([
                Cell::new(&workflow.workflow),
                Cell::new(source(&workflow.source)),
                Cell::maybe(workflow.version.map(|version| version.to_string())),
                Cell::number(workflow.steps.len()),
                Cell::maybe(workflow.changed_by.as_deref()),
                Cell::new(&workflow.about),
            ]);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.0.items.iter().map(|workflow| workflow.workflow.clone()).collect()
    }
}

impl serde::Serialize for Overview {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Render for WorkflowVersionList {
    fn table(&self, is_wide: bool) -> Table {
        let mut table = Table::new(["VERSION", "CURRENT", "CHANGED AT", "CHANGED BY", "DIGEST"]);
        for WorkflowVersion { version, digest, by, at, is_current, .. } in &self.items {
            table.row([
                Cell::number(version),
                Cell::new(if *is_current { "yes" } else { "no" }),
                Cell::new(at.to_string()),
                Cell::new(by),
                Cell::new(if is_wide { digest } else { digest.get(..12).unwrap_or(digest) }),
            ]);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().map(|one| one.version.to_string()).collect()
    }
}

fn source(source: &WorkflowSource) -> String {
    match source {
        WorkflowSource::BuiltIn => "built-in".to_owned(),
        WorkflowSource::Api => "api".to_owned(),
        WorkflowSource::File(name) => format!("file {name}"),
    }
}

pub async fn run(global: &Global, args: &WorkflowsArgs) -> Result<Exit> {
    match &args.command {
        WorkflowsCommand::Check { file } => check::run(global, file),
        WorkflowsCommand::Init(args) => init::run(args),
        other => ask(global, other, &PlatformClient::find(global)?).await,
    }
}

async fn ask(global: &Global, command: &WorkflowsCommand, client: &PlatformClient) -> Result<Exit> {
    match command {
        WorkflowsCommand::List => {
            let list = client.workflows().await?;
            for error in &list.file_errors {
                let location = error
                    .line
                    .zip(error.column)
                    .map_or(String::new(), |(line, column)| format!(":{line}:{column}"));
                note(format!("{}{location}: {}", error.file, error.message));
            }
            output::print(global.output, &Overview(list))?;
        }
        WorkflowsCommand::Show { name, versions: true, .. } => {
            output::print(global.output, &client.workflow_versions(name).await?)?;
        }
        WorkflowsCommand::Show { name, version: Some(version), .. } => {
            let content = client.workflow_version(name, *version).await?;
            match global.output {
                Format::Json | Format::Yaml => output::print_value(global.output, &content)?,
                Format::Table | Format::Wide | Format::Name => output::data(content.content.trim_end())?,
            }
        }
        WorkflowsCommand::Show { name, .. } => {
            let workflow: Workflow = client.workflow(name).await?;
            if matches!(global.output, Format::Table | Format::Wide) {
                let version =
                    workflow.version.map(|version| format!(", version {version}")).unwrap_or_default();
                note(format!("{} ({}{version})", workflow.about, source(&workflow.source)));
            }
            output::print(global.output, &workflow)?;
        }
        WorkflowsCommand::Apply { file } => return apply::run(global, file, client).await,
        WorkflowsCommand::Delete { name } => {
            client.delete_workflow(name).await?;
            note(format!("{name} takes no new operations; those under way go on"));
        }
        WorkflowsCommand::Check { .. } | WorkflowsCommand::Init(_) => {}
    }
    Ok(Exit::GOOD)
}
