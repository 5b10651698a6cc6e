//! `operations list`: which operations there are, newest first.

use anyhow::Result;
use api::types::{ListQuery, Operation, OperationPage};
use clap::Args;
use engine::{Clock, Phase, WallClock};
use server::ToWire;

use crate::cli::Global;
use crate::client::PlatformClient;
use crate::config::Period;
use crate::exit::Exit;
use crate::hint;
use crate::output::{self, Format, note};

/// The most that a server puts on one page.
const PAGE_MAX: usize = 200;

const EXAMPLES: &str = "\
Examples:
  provision-engine operations list
  provision-engine operations list --phase running,waiting --workflow demo.hello
  provision-engine operations list --search web-events
  provision-engine operations list --since 1h --all -o name";

/// List operations, newest first
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ListArgs {
    /// Only operations in which all these words are found: in the name, id, workflow, tenant, resource, step or reason
    #[arg(long, short, value_name = "TEXT")]
    search: Option<String>,
    /// Only operations of this workflow
    #[arg(long, value_name = "WORKFLOW")]
    workflow: Option<String>,
    /// Only operations in these phases, with commas between them
    #[arg(long, value_name = "PHASE", value_delimiter = ',')]
    phase: Vec<Phase>,
    /// Only operations of this tenant
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,
    /// Only operations on this resource
    #[arg(long, value_name = "RESOURCE")]
    resource: Option<String>,
    /// Only operations created within this time, such as 1h
    #[arg(long, value_name = "TIME", conflicts_with = "created_after")]
    since: Option<Period>,
    /// Only operations created from this moment on, in RFC 3339
    #[arg(long, value_name = "MOMENT")]
    created_after: Option<String>,
    /// Only operations created before this moment, in RFC 3339
    #[arg(long, value_name = "MOMENT")]
    created_before: Option<String>,
    /// How many to list at most
    #[arg(long, value_name = "N", default_value_t = 50, conflicts_with = "all")]
    limit: usize,
    /// List all of them, however many there are
    #[arg(long)]
    all: bool,
    /// Also list operations that serve others, such as the delivery of notifications
    #[arg(long)]
    housekeeping: bool,
}

impl ListArgs {
    /// Nothing was filtered.
    fn is_all(&self) -> bool {
        let texts = [&self.search, &self.workflow, &self.tenant, &self.resource];
        let times = [&self.created_after, &self.created_before];
        self.phase.is_empty() && self.since.is_none() && texts.into_iter().chain(times).all(Option::is_none)
    }

    fn query(&self) -> ListQuery {
        let since = self.since.map(|since| WallClock.now().minus(since.get()).to_wire().to_string());
        let phases: Vec<&str> = self.phase.iter().map(|phase| phase.as_str()).collect();
        ListQuery {
            q: self.search.clone(),
            workflow: self.workflow.clone(),
            phase: (!phases.is_empty()).then(|| phases.join(",")),
            tenant: self.tenant.clone(),
            resource: self.resource.clone(),
            created_after: since.or_else(|| self.created_after.clone()),
            created_before: self.created_before.clone(),
            housekeeping: (!self.housekeeping).then(|| "hide".to_owned()),
            ..ListQuery::default()
        }
    }
}

pub(super) async fn run(global: &Global, args: &ListArgs, client: &PlatformClient) -> Result<Exit> {
    let limit = if args.all { usize::MAX } else { args.limit };
    let (items, has_more) = pages(client, args.query(), limit).await?;
    let is_empty = items.is_empty();
    output::print(global.output, &OperationPage { items, ..OperationPage::default() })?;
    if has_more {
        note("there are more: use --limit or --all");
    }
    if is_empty && limit > 0 && matches!(global.output, Format::Table | Format::Wide) {
        note(if args.is_all() {
            format!("no operations; start one: {}", hint::command("operations submit demo.hello --wait"))
        } else {
            "no operation matches".to_owned()
        });
    }
    Ok(Exit::GOOD)
}

/// At most this many operations, and whether there are more.
pub(super) async fn pages(
    client: &PlatformClient,
    mut query: ListQuery,
    limit: usize,
) -> Result<(Vec<Operation>, bool)> {
    let mut items = Vec::new();
    let mut has_more = false;
    while items.len() < limit {
        query.limit = u16::try_from((limit - items.len()).min(PAGE_MAX)).ok();
        let page = client.list(&query).await?;
        items.extend(page.items);
        has_more = page.next.is_some();
        if !has_more {
            break;
        }
        query.cursor = page.next;
    }
    Ok((items, has_more))
}
