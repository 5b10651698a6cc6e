//! `images`: what was built, and what was launched from it.

use anyhow::Result;
use clap::Args;
use engine::{Clock, WallClock};
use serde::Serialize;

use crate::client::{Image, LaunchClient, OrgArgs};
use app::cli::Global;
use app::exit::Exit;
use app::hint;
use app::output::{self, Cell, Mood, Render, Table, age, note};

/// The most that is asked for in one call.
const PAGE_MAX: usize = 100;

const EXAMPLES: &str = "\
Examples:
  provision-engine images
  provision-engine images --ready -o name
  provision-engine launch --compose ID";

/// List the images of the Image Builder, newest first, with what was launched from them
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ImagesArgs {
    /// Only those that can be launched
    #[arg(long)]
    ready: bool,
    /// How many to look at at most
    #[arg(long, value_name = "N", default_value_t = 50, conflicts_with = "all")]
    limit: usize,
    /// Look at all of them, however many there are
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    org: OrgArgs,
}

#[derive(Debug, Serialize)]
struct Images {
    items: Vec<Image>,
}

impl Render for Images {
    fn table(&self, is_wide: bool) -> Table {
        let now = WallClock.now();
        let mut columns = vec!["NAME", "ID", "STATUS", "ARCH", "KIND", "LAUNCHES", "INSTANCES", "CREATED"];
        columns.extend(is_wide.then_some("ERROR"));
        let mut table = Table::new(columns);
        for image in &self.items {
            let name = Cell::maybe(image.name.as_deref());
            let mut cells = vec![
                if is_wide { name } else { name.cut(30) },
                Cell::new(image.id.to_string()),
                status(image),
                Cell::maybe(image.architecture.as_deref()),
                Cell::maybe(image.image_type.as_deref()),
                Cell::number(image.launches.len()),
                Cell::number(image.launches.iter().map(|launch| launch.instances).sum::<usize>()),
                Cell::new(if is_wide { image.created_at.to_string() } else { age(now, image.created_at) }),
            ];
            cells.extend(is_wide.then(|| Cell::maybe(image.error.as_deref())));
            table.row(cells);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().map(|image| image.id.to_string()).collect()
    }

    fn if_empty(&self) -> Option<String> {
        Some(format!("no images; build and launch one: {}", hint::command("launch")))
    }
}

fn status(image: &Image) -> Cell {
    let Some(status) = &image.status else { return Cell::new("-") };
    let mood = match status.as_str() {
        "success" => Mood::Good,
        "failure" => Mood::Bad,
        _ => Mood::Busy,
    };
    let text = match image.progress.filter(|_| mood == Mood::Busy) {
        Some(progress) => format!("{status} {}/{}", progress.done, progress.total),
        None => status.clone(),
    };
    Cell::new(text).mood(mood)
}

pub(crate) async fn run(global: &Global, args: &ImagesArgs) -> Result<Exit> {
    let client = LaunchClient::find(global, &args.org)?;
    let limit = if args.all { usize::MAX } else { args.limit };
    let (mut items, mut has_more) = (Vec::new(), true);
    while has_more && items.len() < limit {
        let wanted = (limit - items.len()).min(PAGE_MAX);
        let query = [("offset", items.len().to_string()), ("limit", wanted.to_string())];
        let page = client.images(&query).await?;
        has_more = page.has_more(items.len());
        items.extend(page.data);
    }
    items.retain(|image| !args.ready || image.is_ready());
    output::print(global.output, &Images { items })?;
    if has_more && limit > 0 {
        note("there are more: use --limit or --all");
    }
    Ok(Exit::GOOD)
}
