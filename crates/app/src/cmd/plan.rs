//! `plan` and `steps`: the tables of steps, as the server has them. Without a server they are read from the code, which
//! knows no declared workflow. With params, `plan` is a dry run.

mod dry_run;
mod params;

use anyhow::{Result, bail};
use api::client::CallError;
use api::types::{Workflow, WorkflowList, WorkflowStep};
use clap::Args;
use server::ToWire;

use crate::cli::Global;
use crate::client::PlatformClient;
use crate::exit::Exit;
use crate::output::{self, Cell, Format, Render, Table, note};

/// Show the steps of a workflow in the order in which they run, and its params
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct PlanArgs {
    /// The workflow; `steps` lists all of them
    #[arg(value_name = "WORKFLOW")]
    workflow: String,
    /// Print the request that would be sent for these params, and send nothing: a file, - for stdin, or JSON
    #[arg(long, value_name = "FILE|-|JSON")]
    params: Option<String>,
    /// Another version of a declared workflow than the newest
    #[arg(long, value_name = "N", conflicts_with = "params")]
    version: Option<u32>,
}

const EXAMPLES: &str = "\
Examples:
  provision-engine plan demo.hello
  provision-engine plan demo.hello -o json
  provision-engine plan acme.database --version 3
  provision-engine plan runtime.provision --params examples/runtime.yaml

The file says what a platform would ask for: plan, parameters, and context if it matters.
Overrides, components and plans are those of the configuration in force.";

/// Show the steps of all workflows
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  provision-engine steps\n  provision-engine steps -o name")]
pub struct StepsArgs {}

impl Render for Workflow {
    fn table(&self, is_wide: bool) -> Table {
        let mut table = Table::new(header(is_wide));
        for step in &self.steps {
            table.row(cells(step, is_wide));
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.steps.iter().map(|step| step.name.clone()).collect()
    }
}

impl Render for WorkflowList {
    fn table(&self, is_wide: bool) -> Table {
        let mut columns = vec!["WORKFLOW"];
        columns.extend(header(is_wide));
        let mut table = Table::new(columns);
        for workflow in &self.items {
            for step in &workflow.steps {
                table.row([Cell::new(&workflow.workflow)].into_iter().chain(cells(step, is_wide)));
            }
        }
        table
    }

    fn names(&self) -> Vec<String> {
        let of = |workflow: &Workflow| {
            workflow
                .steps
                .iter()
                .map(|step| format!("{}/{}", workflow.workflow, step.name))
                .collect::<Vec<_>>()
        };
        self.items.iter().flat_map(of).collect()
    }
}

fn header(is_wide: bool) -> Vec<&'static str> {
    if is_wide {
        vec!["WEIGHT", "STEP", "EFFECT", "DRIVER", "RUNS", "CLEAN UP", "TITLE"]
    } else {
        vec!["WEIGHT", "STEP", "EFFECT", "RUNS", "TITLE"]
    }
}

fn cells(step: &WorkflowStep, is_wide: bool) -> Vec<Cell> {
    let runs = Cell::new(if step.conditional { "sometimes" } else { "always" });
    let mut cells = vec![Cell::number(step.weight), Cell::new(&step.name), Cell::new(&step.effect)];
    if is_wide {
        cells.push(Cell::maybe(step.driver.as_deref()));
    }
    cells.push(runs);
    if is_wide {
        cells.push(Cell::new(if step.clean_up { "yes" } else { "no" }));
    }
    cells.push(Cell::new(&step.title));
    cells
}

/// Every workflow that the server has; without a server those of this release.
async fn workflows(global: &Global) -> Result<Vec<Workflow>> {
    let asked = match PlatformClient::find(global) {
        Ok(client) => client.workflows().await,
        Err(_) => return Ok(of_this_release(global)),
    };
    match asked {
        Ok(list) => Ok(list.items),
        Err(CallError::Unreachable { .. }) => Ok(of_this_release(global)),
        Err(error) => Err(error.into()),
    }
}

fn of_this_release(global: &Global) -> Vec<Workflow> {
    note("no server answers: these are the workflows of this release; declared ones are not among them");
    global.app.without_database().workflows().to_wire()
}

pub async fn one(global: &Global, args: &PlanArgs) -> Result<Exit> {
    if let Some(params) = &args.params {
        return dry_run::run(global, &args.workflow, params).await;
    }
    if let Some(version) = args.version {
        let content = PlatformClient::find(global)?.workflow_version(&args.workflow, version).await?;
        return show(global, &content.plan);
    }
    let all = workflows(global).await?;
    let Some(workflow) = all.iter().find(|workflow| workflow.workflow == args.workflow) else {
        let known: Vec<&str> = all.iter().map(|workflow| workflow.workflow.as_str()).collect();
        bail!("there is no workflow {:?}; known are {}", args.workflow, known.join(", "));
    };
    show(global, workflow)
}

fn show(global: &Global, workflow: &Workflow) -> Result<Exit> {
    if matches!(global.output, Format::Table | Format::Wide) {
        let ends = if workflow.on_failure == "unwind" { "undone" } else { "left" };
        note(&workflow.about);
        note(format!("When a step fails, the work of the steps before it is {ends}."));
    }
    output::print(global.output, workflow)?;
    if matches!(global.output, Format::Table | Format::Wide)
        && let Some(params) = params::table(&workflow.params)
    {
        output::data(&format!("\n{}", params.to_text()))?;
    }
    Ok(Exit::GOOD)
}

pub async fn all(global: &Global, _: &StepsArgs) -> Result<Exit> {
    let items = workflows(global).await?;
    output::print(global.output, &WorkflowList { items, file_errors: Vec::new() })?;
    Ok(Exit::GOOD)
}
