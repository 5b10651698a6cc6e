//! `serverless orphans`: documents and services with our label that belong to no runtime.

use std::time::Duration;

use crate::model::orphans::{self, Cleaned, Orphan};
use ::opennebula::{NebulaCredentials, NebulaError, NebulaErrorKind};
use anyhow::{Context, Result};
use clap::Args;
use engine::{Clock, WallClock};
use serde::Serialize;

use super::holders::Holders;
use super::wait::PatienceArgs;
use crate::Settings;
use crate::client::OpenNebulaArgs;
use crate::compose::Nebula;
use crate::orphans::read_one_auth;
use app::cli::Global;
use app::cmd;
use app::exit::Exit;
use app::output::{self, Cell, Mood, Render, Table, age, note};

/// OpenNebula takes a moment to end a VM.
const PAUSE: Duration = Duration::from_millis(500);

const EXAMPLES: &str = "\
Examples:
  provision-engine serverless orphans
  provision-engine serverless orphans --clean

It reads the configuration of the server, and asks OpenNebula in the name of --user, else of
who is in the file of --one-auth, else in the file `serverless.orphans.one_auth`. Only who sees
the runtimes of all users, such as oneadmin, finds all orphans. What is younger than `serverless.orphans.older_than` is
left alone, and so is what an operation still works on: the server knows, or its database
when it does not run. Exit code 7 means that something is lost.";

/// Find documents and services of ours that were left behind, and end them
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct OrphansArgs {
    /// Remove the orphans, with their VMs
    #[arg(long)]
    clean: bool,
    #[command(flatten)]
    patience: PatienceArgs,
}

#[derive(Debug, Serialize)]
struct OrphanReport {
    items: Vec<OrphanLine>,
}

#[derive(Debug, Serialize)]
struct OrphanLine {
    kind: &'static str,
    id: i32,
    name: String,
    age_seconds: u64,
    why: String,
    /// The operation that made it.
    operation: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<CleanOutcome>,
}

/// What came of cleaning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum CleanOutcome {
    Gone,
    Waits(String),
    Failed(String),
    /// It is not certain that the engine made it.
    Reported(String),
}

impl OrphanLine {
    fn of(orphan: &Orphan, outcome: Option<CleanOutcome>) -> OrphanLine {
        OrphanLine {
            kind: orphan.kind.as_str(),
            id: orphan.id,
            name: orphan.name.clone(),
            age_seconds: orphan.age.as_secs(),
            why: orphan.why.clone(),
            operation: orphan.operation.clone(),
            outcome,
        }
    }

    fn is(&self, other: &OrphanLine) -> bool {
        (self.kind, self.id) == (other.kind, other.id)
    }

    fn waits(&self) -> bool {
        matches!(self.outcome, Some(CleanOutcome::Waits(_)))
    }
}

impl From<Cleaned> for CleanOutcome {
    fn from(cleaned: Cleaned) -> CleanOutcome {
        match cleaned {
            Cleaned::Gone => CleanOutcome::Gone,
            Cleaned::Waits(why) => CleanOutcome::Waits(why),
            Cleaned::Failed(why) => CleanOutcome::Failed(why),
            Cleaned::Reported(why) => CleanOutcome::Reported(why),
        }
    }
}

impl Render for OrphanReport {
    fn table(&self, is_wide: bool) -> Table {
        let mut columns = vec!["KIND", "ID", "MADE", "WHY", "OUTCOME"];
        columns.extend(if is_wide { vec!["NAME", "OPERATION"] } else { vec![] });
        let mut table = Table::new(columns);
        let now = WallClock.now();
        for found in &self.items {
            let made = age(now, now.minus(Duration::from_secs(found.age_seconds)));
            let outcome = match &found.outcome {
                None => Cell::new("-"),
                Some(CleanOutcome::Gone) => Cell::new("gone").mood(Mood::Good),
                Some(CleanOutcome::Waits(why)) => Cell::new(format!("waits: {why}")).mood(Mood::Busy),
                Some(CleanOutcome::Failed(why)) => Cell::new(format!("failed: {why}")).mood(Mood::Bad),
                Some(CleanOutcome::Reported(why)) => {
                    Cell::new(format!("reported only: {why}")).mood(Mood::Bad)
                }
            };
            let mut cells =
                vec![found.kind.into(), Cell::number(found.id), made.into(), Cell::new(&found.why), outcome];
            if is_wide {
                cells.extend([Cell::new(&found.name), Cell::new(&found.operation)]);
            }
            table.row(cells);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().map(|found| format!("{}/{}", found.kind, found.id)).collect()
    }
}

pub(super) async fn run(global: &Global, args: &OrphansArgs, user: &OpenNebulaArgs) -> Result<Exit> {
    let (config, warnings) = global.load(&[])?;
    cmd::warn(&warnings);
    let given = config.section::<Settings>();
    let settings = &given.orphans;
    let admin = match (user.named()?, settings.one_auth.as_deref()) {
        (Some(named), _) => named,
        (None, Some(file)) => read_one_auth(file)?,
        (None, None) => user.credentials().context(
            "no user is configured that sees the runtimes of all users: give --one-auth, or let \
             serverless.orphans.one_auth name a file with user:password",
        )?,
    };
    let nebula = Nebula::connect(given, None)?;
    let holders = Holders::find(global, &config).await?;
    let search = Search { nebula, admin, holders, older_than: settings.older_than.get() };
    let items = if args.clean { search.clean(&args.patience).await } else { search.look().await }?;
    let exit = judge(args.clean, &items);
    output::print(global.output, &OrphanReport { items })?;
    Ok(exit)
}

struct Search {
    nebula: Nebula,
    admin: NebulaCredentials,
    holders: Holders,
    older_than: Duration,
}

impl Search {
    /// Everything that is lost, the oldest first.
    async fn orphans(&self) -> Result<Vec<Orphan>> {
        let since = (self.older_than, WallClock.now());
        let found = orphans::find(&self.nebula.serverless.nebula, &self.admin, since, |_| false).await;
        let mut lost = Vec::new();
        for mut orphan in found.map_err(|error| self.explained(error))? {
            if !self.holders.hold(&mut orphan).await? {
                lost.push(orphan);
            }
        }
        Ok(lost)
    }

    async fn look(&self) -> Result<Vec<OrphanLine>> {
        Ok(self.orphans().await?.iter().map(|orphan| OrphanLine::of(orphan, None)).collect())
    }

    /// As often as it takes, within the time that there is.
    async fn clean(&self, patience: &PatienceArgs) -> Result<Vec<OrphanLine>> {
        let interval = patience.start().interval;
        let mut all: Vec<OrphanLine> = Vec::new();
        loop {
            let lost = self.orphans().await?;
            // What waited and is not found any longer has gone meanwhile.
            for found in all.iter_mut().filter(|found| found.waits()) {
                found.outcome = Some(CleanOutcome::Gone);
            }
            let cleaned = orphans::clean(&self.nebula.serverless.nebula, &self.admin, &lost).await;
            for (orphan, cleaned) in lost.iter().zip(cleaned) {
                let found = OrphanLine::of(orphan, Some(cleaned.into()));
                match all.iter_mut().find(|known| known.is(&found)) {
                    Some(known) => *known = found,
                    None => all.push(found),
                }
            }
            if !all.iter().any(OrphanLine::waits) || interval.is_over() {
                return Ok(all);
            }
            interval.pause(PAUSE).await;
        }
    }

    fn explained(&self, error: NebulaError) -> anyhow::Error {
        let Nebula { oned, oneflow, .. } = &self.nebula;
        let text = if error.is(NebulaErrorKind::Authentication) {
            "OpenNebula does not take these credentials: look at --user, --one-auth, or the file that \
             serverless.orphans.one_auth names"
                .to_owned()
        } else {
            format!("cannot look at {oned} and {oneflow}, which serverless.oned and serverless.oneflow name")
        };
        anyhow::Error::new(error).context(text)
    }
}

fn judge(is_cleaned: bool, items: &[OrphanLine]) -> Exit {
    if items.is_empty() {
        note("nothing is lost");
        return Exit::GOOD;
    }
    if !is_cleaned {
        let count = items.len();
        let clean = app::hint::command("serverless orphans --clean");
        note(format!("{count} are lost; end them with: {clean}"));
        return Exit::FOUND;
    }
    if items.iter().any(|found| matches!(found.outcome, Some(CleanOutcome::Failed(_)))) {
        return Exit::ERROR;
    }
    if items.iter().any(|found| matches!(found.outcome, Some(CleanOutcome::Reported(_)))) {
        note("some are only reported: look at them in OpenNebula, and remove by hand what is not needed");
        return Exit::FOUND;
    }
    if items.iter().any(OrphanLine::waits) {
        note("some are not gone yet: clean again later");
        return Exit::TIMED_OUT;
    }
    Exit::GOOD
}
