//! `launches show`: everything about one launch.

use anyhow::Result;
use clap::Args;
use engine::{Clock, Timestamp, WallClock};

use super::find::named;
use crate::api::types::Instance;
use crate::client::{LaunchClient, LaunchDetails};
use crate::csv;
use app::cli::Global;
use app::exit::Exit;
use app::output::{self, Cell, Format, Mood, Table, age, lasted};

/// The columns of a table of instances for other programs.
const COLUMNS: [&str; 8] =
    ["launch", "instance", "state", "public_ipv4", "public_dns", "private_ipv4", "private_ipv6", "login"];

const EXAMPLES: &str = "\
Examples:
  provision-engine launches show ID
  provision-engine launches show ID --csv > instances.csv
  provision-engine launches show ID -o json";

/// Show a launch with its steps and instances
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ShowArgs {
    /// The launch: its id, the beginning or end of it, or its number
    #[arg(value_name = "LAUNCH")]
    name: String,
    /// Print the instances as CSV
    #[arg(long)]
    csv: bool,
}

pub(super) async fn run(global: &Global, args: &ShowArgs, client: &LaunchClient) -> Result<Exit> {
    let launch = client.launch(&named(client, &args.name).await?).await?;
    match global.output {
        _ if args.csv => output::data(&as_csv(&launch))?,
        Format::Json | Format::Yaml => output::print_value(global.output, &launch)?,
        Format::Name => output::data(&launch.id.to_string())?,
        Format::Table | Format::Wide => {
            let is_wide = global.output == Format::Wide;
            let mut parts =
                vec![facts(&launch, is_wide, WallClock.now()).to_text(), steps(&launch).to_text()];
            parts.extend((!launch.instances.is_empty()).then(|| instances(&launch).to_text()));
            let logins: Vec<String> = launch.logins().collect();
            parts.extend((!logins.is_empty()).then(|| logins.join("\n")));
            output::data(&parts.join("\n\n"))?;
        }
    }
    Ok(Exit::GOOD)
}

fn facts(launch: &LaunchDetails, is_wide: bool, now: Timestamp) -> Table {
    let when = |at: Timestamp| if is_wide { at.to_string() } else { age(now, at) };
    let mut table = Table::facts();
    let mut fact = |name: &str, cell: Cell| table.row([Cell::new(name), cell]);
    fact("id", launch.id.to_string().into());
    fact("number", launch.reservation_id.to_string().into());
    fact("state", state_cell(launch));
    if let Some(text) = launch.waits_for.as_deref().filter(|_| !launch.is_over) {
        fact("waits for", Cell::new(text));
    }
    fact("provider", Cell::new(&launch.provider));
    if let Some(image) = launch.image() {
        fact("image", Cell::new(image));
    }
    for (word, name) in [
        ("source", "source_id"),
        ("region", "region"),
        ("type", "instance_type"),
        ("template", "launch_template_id"),
        ("count", "amount"),
        ("name", "name"),
    ] {
        if let Some(text) = launch.parameter(name) {
            fact(word, Cell::new(text));
        }
    }
    fact("created", when(launch.created_at).into());
    if let Some(at) = launch.finished_at {
        fact("finished", Cell::new(format!("{}, after {}", when(at), lasted(at.since(launch.created_at)))));
    }
    if let Some(error) = launch.error.as_ref().filter(|_| !launch.has_succeeded()) {
        fact("error", Cell::new(&error.message).mood(Mood::Bad));
        if let Some(hint) = &error.hint {
            fact("fix", Cell::new(hint));
        }
    }
    for warning in &launch.warnings {
        fact("warning", Cell::new(warning).mood(Mood::Busy));
    }
    for left in &launch.leftovers {
        let text = format!("{} {}: {}", left.kind.replace('_', " "), left.id, left.note);
        fact("left over", Cell::new(text).mood(Mood::Bad));
    }
    table
}

fn steps(launch: &LaunchDetails) -> Table {
    let mut table = Table::new(["STEP", "STATE", "TRIES", "TOOK", "TITLE", "CAUSE"]);
    for step in &launch.steps {
        let mood = match step.state.as_str() {
            "succeeded" => Mood::Good,
            "failed" | "compensation_failed" => Mood::Bad,
            "pending" | "skipped" => Mood::Plain,
            _ => Mood::Busy,
        };
        let state = match step.progress.filter(|_| step.is_under_way()) {
            Some(progress) => format!("{} {}/{}", step.state, progress.done, progress.total),
            None => step.state.clone(),
        };
        let took = step.started_at.zip(step.finished_at).map(|(from, to)| lasted(to.since(from)));
        table.row([
            Cell::new(&step.name),
            Cell::new(state).mood(mood),
            Cell::number(step.attempt),
            Cell::maybe(took),
            Cell::new(&step.title),
            Cell::maybe(step.error.as_deref()),
        ]);
    }
    table
}

pub(super) fn instances(launch: &LaunchDetails) -> Table {
    let mut table = Table::new(["INSTANCE", "STATE", "PUBLIC IP", "PUBLIC DNS", "PRIVATE IP"]);
    for Instance { instance_id, state, detail, .. } in &launch.instances {
        let private = detail.private_ipv4.as_deref().or(detail.private_ipv6.as_deref());
        table.row([
            Cell::new(instance_id),
            Cell::new(state).mood(mood_of(state)),
            Cell::maybe(detail.public_ipv4.as_deref()),
            Cell::maybe(detail.public_dns.as_deref()),
            Cell::maybe(private),
        ]);
    }
    table
}

/// How an instance feels.
pub(crate) fn mood_of(state: &str) -> Mood {
    match state {
        "running" => Mood::Good,
        "terminated" | "shutting-down" | "gone" => Mood::Bad,
        "stopped" => Mood::Plain,
        _ => Mood::Busy,
    }
}

pub(super) fn state_cell(launch: &LaunchDetails) -> Cell {
    let mood = match launch.state.as_str() {
        "succeeded" => Mood::Good,
        "failed" | "failed_dirty" => Mood::Bad,
        "cancelled" | "abandoned" => Mood::Plain,
        _ => Mood::Busy,
    };
    Cell::new(&launch.state).mood(mood)
}

fn as_csv(launch: &LaunchDetails) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let rows = launch.instances.iter().map(|instance| {
        let detail = &instance.detail;
        vec![
            launch.id.to_string(),
            instance.instance_id.clone(),
            instance.state.clone(),
            text(&detail.public_ipv4),
            text(&detail.public_dns),
            text(&detail.private_ipv4),
            text(&detail.private_ipv6),
            launch.login(instance).unwrap_or_default(),
        ]
    });
    csv::write(&COLUMNS, rows)
}
