//! `catalog`: what a service broker offers, and what a plan takes.

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use crate::client::{BrokerArgs, BrokerClient, Catalog, Parameter, Parameters, SchemaAction, plain};
use app::cli::Global;
use app::cmd::complete::Candidate;
use app::exit::Exit;
use app::output::{self, Cell, Format, Render, Table, note};

const DESCRIPTION_CHARS_MAX: usize = 60;

const EXAMPLES: &str = "\
Examples:
  provision-engine catalog
  provision-engine catalog --plan trial
  provision-engine catalog --broker-url https://broker.example --broker-user me";

/// Show what a service broker offers, or what one plan takes
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CatalogArgs {
    /// Show the parameters of this plan, by its name or id
    #[arg(long, value_name = "PLAN")]
    plan: Option<String>,
    /// The service that has the plan, by its name or id
    #[arg(long, value_name = "SERVICE", requires = "plan")]
    service: Option<String>,
    #[command(flatten)]
    broker: BrokerArgs,
}

/// The plans of our own broker, for shells.
pub(crate) async fn complete(global: &Global) -> Result<Vec<Candidate>> {
    let catalog = BrokerClient::find(global, &BrokerArgs::default())?.catalog().await?;
    Ok(catalog.offers().map(|offer| (offer.plan.name.clone(), offer.plan.description.clone())).collect())
}

impl Render for Catalog {
    fn table(&self, is_wide: bool) -> Table {
        let mut table = Table::new(["SERVICE", "PLAN", "ID", "FREE", "BINDABLE", "DESCRIPTION"]);
        for offer in self.offers() {
            let description = Cell::new(&offer.plan.description);
            table.row([
                Cell::new(&offer.service.name),
                Cell::new(&offer.plan.name),
                Cell::new(&offer.plan.id),
                Cell::new(yes_or_no(offer.plan.free.unwrap_or(true))),
                Cell::new(yes_or_no(offer.is_bindable())),
                if is_wide { description } else { description.cut(DESCRIPTION_CHARS_MAX) },
            ]);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.offers().map(|offer| output::printable(&offer.plan.name)).collect()
    }
}

/// What a new instance of one plan takes.
#[derive(Debug, Serialize)]
struct PlanParameters<'a> {
    service: &'a str,
    plan: &'a str,
    id: &'a str,
    parameters: Vec<Parameter>,
}

impl Render for PlanParameters<'_> {
    fn table(&self, is_wide: bool) -> Table {
        let mut columns = vec!["NAME", "TYPE", "REQUIRED", "DEFAULT", "ALLOWED"];
        columns.extend(is_wide.then_some("DESCRIPTION"));
        let mut table = Table::new(columns);
        for parameter in &self.parameters {
            let choice = Cell::maybe(parameter.choice());
            let mut cells = vec![
                Cell::new(&parameter.name),
                Cell::new(parameter.kind()),
                Cell::new(yes_or_no(parameter.required)),
                Cell::maybe(parameter.default.as_ref().map(plain)),
                if is_wide { choice } else { choice.cut(DESCRIPTION_CHARS_MAX) },
            ];
            cells.extend(is_wide.then(|| Cell::maybe(parameter.description.as_deref())));
            table.row(cells);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.parameters.iter().map(|parameter| output::printable(&parameter.name)).collect()
    }
}

fn yes_or_no(is: bool) -> &'static str {
    if is { "yes" } else { "no" }
}

pub(crate) async fn run(global: &Global, args: &CatalogArgs) -> Result<Exit> {
    let catalog = BrokerClient::find(global, &args.broker)?.catalog().await?;
    let Some(plan) = &args.plan else {
        output::print(global.output, &catalog)?;
        return Ok(Exit::GOOD);
    };
    let offer = catalog.find(args.service.as_deref(), plan)?;
    let read = Parameters::of(offer.plan, SchemaAction::Create);
    if read.is_none() && matches!(global.output, Format::Table | Format::Wide) {
        note("the broker does not say what this plan takes");
        return Ok(Exit::GOOD);
    }
    let parameters = read.map(|read| read.list).unwrap_or_default();
    let (service, plan, id) = (&offer.service.name, &offer.plan.name, &offer.plan.id);
    output::print(global.output, &PlanParameters { service, plan, id, parameters })?;
    Ok(Exit::GOOD)
}
