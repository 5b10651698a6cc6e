//! `instance-types`: which kinds of instances a region has.

use crate::api::wire::InstanceType;
use anyhow::Result;
use clap::{Args, Subcommand};
use serde::Serialize;

use super::launch::{home, providers};
use crate::client::{LaunchClient, OrgArgs};
use app::cli::Global;
use app::exit::Exit;
use app::output::{self, Cell, Mood, Render, Table, note};

const EXAMPLES: &str = "\
Examples:
  provision-engine instance-types --search 'vcpus = 2 and memory < 4000'
  provision-engine instance-types --provider gcp --region us-central1-a --supported
  provision-engine instance-types refresh --source 7 --region eu-west-1

A search is a part of the name, or an expression of vcpus, cores, memory, storage and others.";

/// List the instance types of a region
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct InstanceTypesArgs {
    #[command(flatten)]
    region: RegionArgs,
    /// Only those of this zone
    #[arg(long)]
    zone: Option<String>,
    /// A part of the name, or an expression such as 'vcpus = 2 and memory < 4000'
    #[arg(long, value_name = "EXPR")]
    search: Option<String>,
    /// Only those on which our images are known to run
    #[arg(long)]
    supported: bool,
    #[command(flatten)]
    org: OrgArgs,
    #[command(subcommand)]
    command: Option<InstanceTypesCommand>,
}

#[derive(Debug, Args)]
struct RegionArgs {
    /// The cloud
    #[arg(long, value_name = "PROVIDER", default_value = "aws", value_parser = providers())]
    provider: String,
    /// A region, a location of Azure, or a zone of GCP [default: where images are built]
    #[arg(long)]
    region: Option<String>,
}

#[derive(Debug, Subcommand)]
enum InstanceTypesCommand {
    Refresh(RefreshArgs),
}

/// Take over the instance types that an account can have in a region, for all organisations
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  provision-engine instance-types refresh --source 7 --region eu-west-1")]
struct RefreshArgs {
    #[command(flatten)]
    region: RegionArgs,
    /// The account to ask
    #[arg(long, value_name = "ID")]
    source: String,
}

impl RegionArgs {
    fn region(&self) -> &str {
        self.region.as_deref().unwrap_or_else(|| home(&self.provider))
    }
}

impl InstanceTypesArgs {
    fn query(&self) -> Vec<(&'static str, String)> {
        let mut query = vec![("region", self.region.region().to_owned())];
        query.extend(self.zone.clone().map(|zone| ("zone", zone)));
        query.extend(self.search.clone().map(|search| ("search", search)));
        query.extend(self.supported.then(|| ("supported", "true".to_owned())));
        query
    }
}

#[derive(Debug, Serialize)]
struct Types {
    items: Vec<InstanceType>,
}

impl Render for Types {
    fn table(&self, is_wide: bool) -> Table {
        let mut columns = vec!["NAME", "VCPUS", "MEMORY", "STORAGE", "ARCH", "SUPPORTED"];
        columns.extend(is_wide.then_some("CORES"));
        let mut table = Table::new(columns);
        for one in &self.items {
            let (word, mood) = if one.supported { ("yes", Mood::Good) } else { ("no", Mood::Plain) };
            let mut cells = vec![
                Cell::new(&one.name),
                Cell::number(one.vcpus),
                Cell::new(format!("{} MiB", one.memory_mib)),
                Cell::new(format!("{} GB", one.storage_gb)),
                Cell::new(&one.architecture),
                Cell::new(word).mood(mood),
            ];
            cells.extend(is_wide.then(|| Cell::number(one.cores)));
            table.row(cells);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().map(|one| one.name.clone()).collect()
    }
}

pub(crate) async fn run(global: &Global, args: &InstanceTypesArgs) -> Result<Exit> {
    let client = LaunchClient::find(global, &args.org)?;
    if let Some(InstanceTypesCommand::Refresh(args)) = &args.command {
        let (provider, region) = (&args.region.provider, args.region.region());
        let types = client.refresh_types(provider, &args.source, region).await?;
        note(format!("{region} of {provider} has {types} instance types now"));
        return Ok(Exit::GOOD);
    }
    let mut items = client.instance_types(&args.region.provider, &args.query()).await?;
    items.sort_by(|a, b| (a.vcpus, a.memory_mib, &a.name).cmp(&(b.vcpus, b.memory_mib, &b.name)));
    output::print(global.output, &Types { items })?;
    Ok(Exit::GOOD)
}
