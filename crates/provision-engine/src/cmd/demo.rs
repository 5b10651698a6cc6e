//! `demo`: everything at work in a few seconds, in a directory that is gone afterwards.

mod play;
mod stage;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use doors::Meter;
use engine::Phase;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::cli::Global;
use crate::compose::House;
use crate::config::Config;
use crate::exit::Exit;
use crate::logs;
use crate::output::{self, Answer, Cell, Mood, Table, lasted, note};
use crate::signals::Signals;
use play::{Ending, Play};

const EXAMPLES: &str = "\
Examples:
  provision-engine demo
  provision-engine demo -o json
  provision-engine demo --log-level debug";

/// See everything at work in a few seconds: success, faults that heal, failure that is undone
///
/// Nothing is left behind, and no configuration is read.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DemoArgs {}

/// What became of one operation.
#[derive(Debug, Serialize)]
struct Story {
    name: &'static str,
    operation: Uuid,
    phase: &'static str,
    what_happened: String,
    retries: usize,
    steps_done: usize,
    steps_taken_back: usize,
    took_ms: u64,
    #[serde(skip)]
    ending: Ending,
    #[serde(skip)]
    expected: Ending,
}

#[derive(Debug, Serialize)]
struct Report {
    operations: Vec<Story>,
    ledger: Ledger,
}

/// What the far side says that it did.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Ledger {
    made: u64,
    taken_back: u64,
    standing: u64,
    repeats: u64,
    /// The tokens of the effects that stand. Each begins with the id of its operation.
    #[serde(skip)]
    tokens: Vec<String>,
}

impl Answer for Report {
    fn table(&self, is_wide: bool) -> Table {
        let mut columns = vec!["GREETS", "WHAT HAPPENED", "STEPS", "TIME"];
        columns.extend(is_wide.then_some("OPERATION"));
        let mut table = Table::new(columns);
        for story in &self.operations {
            let mood = match story.ending {
                Ending::Succeeded | Ending::Healed => Mood::Good,
                Ending::Undone | Ending::Cancelled => Mood::Busy,
                Ending::Other => Mood::Bad,
            };
            let steps = match story.steps_taken_back {
                0 => format!("{} done", story.steps_done),
                back => format!("{} done, {back} taken back", story.steps_done),
            };
            let took = lasted(Duration::from_millis(story.took_ms));
            let id = is_wide.then(|| Cell::new(story.operation.to_string()));
            let what = Cell::new(&story.what_happened).mood(mood);
            table.row([Cell::new(story.name), what, Cell::new(steps), Cell::new(took)].into_iter().chain(id));
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.operations.iter().map(|story| story.operation.to_string()).collect()
    }
}

impl Report {
    fn succeeded(&self) -> BTreeSet<String> {
        let good = self.operations.iter().filter(|story| story.phase == Phase::Succeeded.as_str());
        good.map(|story| story.operation.simple().to_string()).collect()
    }

    /// What did not go as it should, if anything.
    fn complaint(&self) -> Option<String> {
        if let Some(story) = self.operations.iter().find(|story| story.ending != story.expected) {
            return Some(format!(
                "the operation that greets {} was to be {:?} but is {:?}: {}",
                story.name, story.expected, story.ending, story.what_happened
            ));
        }
        let tokens = &self.ledger.tokens;
        let once: BTreeSet<&String> = tokens.iter().collect();
        if once.len() != tokens.len() {
            return Some("something was done twice".to_owned());
        }
        let owners: BTreeSet<String> =
            tokens.iter().map(|token| token.split('-').next().unwrap_or_default().to_owned()).collect();
        let succeeded = self.succeeded();
        (owners != succeeded).then(|| {
            let (owners, succeeded) = (owners.len(), succeeded.len());
            format!("the greetings of {owners} operations stand, but {succeeded} operations succeeded")
        })
    }
}

pub(crate) async fn run(global: &Global) -> Result<Exit> {
    let dir = tempfile::tempdir().context("cannot make a temporary directory")?;
    let config = config(dir.path(), global.log_level.as_deref())?;
    let _logs = global.log_level.as_ref().map(|_| logs::init(&config.log)).transpose()?;
    note("an engine on a temporary SQLite file, and a far side that it calls over HTTP\n");
    let house = House::open(&config, &Arc::new(Meter::new())).await?;
    let Some(sandbox) = &house.sandbox else { bail!("the demonstration needs its sandbox") };
    let sandbox = sandbox.url();
    house.engine.start(None).await.context("cannot start the engine")?;
    let mut signals = Signals::catch()?;
    let operations = tokio::select! {
        operations = Play::new(&house.engine, &sandbox)?.all() => operations?,
        // An error and not an end at once, so that the directory goes away.
        name = signals.next() => bail!("stopped by {name}"),
    };
    let report = Report { operations, ledger: ledger(&sandbox).await? };
    house.engine.stop(config.engine.stop_grace.get()).await;
    output::print(global.output, &report)?;
    if let Some(complaint) = report.complaint() {
        bail!("the demonstration did not go as it should: {complaint}");
    }
    note(proof(&report));
    note(how_to_go_on());
    Ok(Exit::GOOD)
}

/// Short pauses, because somebody is watching. No file and no environment may lead the demonstration to a
/// real database or a real far side.
fn config(dir: &Path, log_level: Option<&str>) -> Result<Config> {
    let dir = dir.to_str().context("the temporary directory has no readable name")?;
    let flags = [
        ("data_dir", dir),
        ("sandbox.enabled", "true"),
        ("engine.retry.first", "200ms"),
        ("engine.retry.max", "1s"),
        ("store.poll", "100ms"),
        ("log.level", log_level.unwrap_or("off")),
    ];
    let flags = flags.map(|(path, text)| (path.to_owned(), text.to_owned()));
    let (config, _) = Config::load(Some(Path::new("/dev/null")), std::iter::empty(), &flags)?;
    Ok(config)
}

async fn ledger(sandbox: &str) -> Result<Ledger> {
    #[derive(Deserialize)]
    struct Summary {
        #[serde(rename = "greeter/greet", default)]
        greet: Ledger,
    }
    #[derive(Deserialize)]
    struct Standing {
        effects: Vec<Effect>,
    }
    #[derive(Deserialize)]
    struct Effect {
        token: String,
    }
    let http = play::http()?;
    let answer =
        http.get(format!("{sandbox}/ledger/summary")).send().await.context("cannot read the ledger")?;
    let summary: Summary = answer.json().await?;
    let answer = http.get(format!("{sandbox}/ledger")).send().await.context("cannot read the ledger")?;
    let standing: Standing = answer.json().await?;
    Ok(Ledger { tokens: standing.effects.into_iter().map(|effect| effect.token).collect(), ..summary.greet })
}

fn proof(report: &Report) -> String {
    let Ledger { made, taken_back, standing, repeats, .. } = &report.ledger;
    format!(
        "\nproof, from the far side's own ledger: {made} greetings made, {taken_back} taken back, \
         {standing} standing: of exactly the {} operations that succeeded;\n\
         calls repeated because an answer was lost: {repeats}, without a second effect",
        report.succeeded().len()
    )
}

fn how_to_go_on() -> String {
    let program = std::env::args().next().unwrap_or_else(|| "provision-engine".to_owned());
    format!(
        "\nhow to go on:\n  \
           {program} serve --sandbox\n  \
           {program} operations submit demo.hello --param name=You --watch\n  \
           {program} operations submit demo.hello --count 1000 --wait\n  \
           docs/guide/add-a-step.md shows how to add a step of your own"
    )
}

#[cfg(test)]
mod tests {
    use crate::config::Database;

    use super::*;

    fn story(ending: Ending, expected: Ending, phase: Phase) -> Story {
        Story {
            name: "Ada",
            operation: Uuid::nil(),
            phase: phase.as_str(),
            what_happened: "something".into(),
            retries: 0,
            steps_done: 3,
            steps_taken_back: 0,
            took_ms: 12,
            ending,
            expected,
        }
    }

    #[test]
    fn it_complains_about_a_wrong_ending_and_about_a_wrong_ledger() {
        let good = || story(Ending::Succeeded, Ending::Succeeded, Phase::Succeeded);
        let complaint = |story, tokens: &[&str]| {
            let tokens = tokens.iter().map(|token| format!("{}-{token}", Uuid::nil().simple())).collect();
            let report = Report { operations: vec![story], ledger: Ledger { tokens, ..Ledger::default() } };
            report.complaint().unwrap_or_default()
        };
        assert_eq!(complaint(good(), &["a"]), "");
        assert_eq!(complaint(good(), &["a", "b"]), "", "more than one step may have an effect");
        assert_eq!(complaint(good(), &["a", "a"]), "something was done twice");
        assert!(complaint(good(), &[]).contains("of 0 operations stand, but 1"));
        let undone = || story(Ending::Undone, Ending::Undone, Phase::Undone);
        assert!(complaint(undone(), &["a"]).contains("of 1 operations stand, but 0"));
        assert!(complaint(story(Ending::Undone, Ending::Healed, Phase::Undone), &[]).contains("Healed"));
    }

    #[test]
    fn its_settings_are_its_own_and_can_be_used() {
        let config = config(Path::new("/nowhere"), None).unwrap();
        assert!(config.sandbox.enabled && config.drivers.greeter.url.is_none());
        let Database::Sqlite(path) = config.store.database else { panic!("not on a file") };
        assert!(path.starts_with("/nowhere"));
    }
}
