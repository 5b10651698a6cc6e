//! `demo`: everything at work in a few seconds, in a directory that is gone afterwards.

mod play;
mod runtimes;
mod stage;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use doors::Meter;
use engine::{Phase, Role};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::cli::Global;
use crate::cmd::platform::{self, Platform};
use crate::compose::House;
use crate::config::Config;
use crate::exit::Exit;
use crate::logs;
use crate::output::{self, Answer, Cell, Mood, Table, lasted, note};
use crate::signals::Signals;
use play::{Ending, Play};
use workflows::runtime::PROVISION;

/// The workflow of the example.
const GREETING: &str = "demo.hello";

const EXAMPLES: &str = "\
Examples:
  provision-engine demo
  provision-engine demo -o json
  provision-engine demo --log-level debug";

/// See everything at work in a few seconds: success, faults that heal, failure that is undone, runtimes
///
/// Nothing is left behind, and no configuration is read.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DemoArgs {}

/// What became of one operation.
#[derive(Debug, Serialize)]
struct Story {
    name: &'static str,
    workflow: String,
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

/// What the far sides say that they did.
#[derive(Debug, Default, Serialize)]
struct Ledger {
    greetings: Count,
    runtimes: Count,
    service_accounts: Count,
    /// The tokens of the greetings that stand. Each begins with the id of its operation.
    #[serde(skip)]
    tokens: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Count {
    made: u64,
    taken_back: u64,
    standing: u64,
    repeats: u64,
}

impl Answer for Report {
    fn table(&self, is_wide: bool) -> Table {
        let mut columns = vec!["FOR", "WORKFLOW", "WHAT HAPPENED", "STEPS", "TIME"];
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
            let cells = [Cell::new(story.name), Cell::new(&story.workflow), what, steps.into(), took.into()];
            table.row(cells.into_iter().chain(id));
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.operations.iter().map(|story| story.operation.to_string()).collect()
    }
}

impl Report {
    fn succeeded(&self, workflow: &str) -> BTreeSet<String> {
        let is_good = |story: &&Story| story.workflow == workflow && story.phase == Phase::Succeeded.as_str();
        self.operations.iter().filter(is_good).map(|story| story.operation.simple().to_string()).collect()
    }

    /// What did not go as it should, if anything.
    fn complaint(&self) -> Option<String> {
        if let Some(story) = self.operations.iter().find(|story| story.ending != story.expected) {
            return Some(format!(
                "{} for {} was to be {:?} but is {:?}: {}",
                story.workflow, story.name, story.expected, story.ending, story.what_happened
            ));
        }
        self.ledger.complaint(&self.succeeded(GREETING), self.succeeded(PROVISION).len())
    }
}

impl Ledger {
    /// `greeted` are the operations whose greetings must stand; of runtimes nothing must.
    fn complaint(&self, greeted: &BTreeSet<String>, provisions: usize) -> Option<String> {
        let once: BTreeSet<&String> = self.tokens.iter().collect();
        if once.len() != self.tokens.len() {
            return Some("something was done twice".to_owned());
        }
        let owner = |token: &String| token.split('-').next().unwrap_or_default().to_owned();
        let owners: BTreeSet<String> = self.tokens.iter().map(owner).collect();
        if owners != *greeted {
            let (owners, greeted) = (owners.len(), greeted.len());
            return Some(format!(
                "the greetings of {owners} operations stand, but {greeted} operations succeeded"
            ));
        }
        let Ledger { runtimes, service_accounts, .. } = self;
        if usize::try_from(runtimes.made) != Ok(provisions) {
            return Some(format!("{} runtimes were made for {provisions} service instances", runtimes.made));
        }
        let left = [("runtimes", runtimes), ("service accounts", service_accounts)];
        let left = left.into_iter().find(|(_, count)| count.standing > 0);
        left.map(|(what, count)| format!("{} {what} still stand", count.standing))
    }
}

pub(crate) async fn run(global: &Global) -> Result<Exit> {
    let dir = tempfile::tempdir().context("cannot make a temporary directory")?;
    let config = config(dir.path(), global.log_level.as_deref())?;
    let _logs = global.log_level.as_ref().map(|_| logs::init(&config.log)).transpose()?;
    note("an engine on a temporary SQLite file, and a far side that it calls over HTTP\n");
    let meter = Arc::new(Meter::new());
    let house = House::open(&config, &meter).await?;
    let Some(sandbox) = &house.sandbox else { bail!("the demonstration needs its sandbox") };
    let sandbox = sandbox.url();
    house.engine.start(None).await.context("cannot start the engine")?;
    let platform = Platform::open(&house, &config, &meter, "platform", Role::Broker).await?;
    let mut signals = Signals::catch()?;
    let operations = tokio::select! {
        operations = Play::new(&house.engine, &platform, &sandbox)?.all() => operations?,
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
        ("runtime.poll", "1s"),
        ("log.level", log_level.unwrap_or("off")),
    ];
    let flags = flags.map(|(path, text)| (path.to_owned(), text.to_owned()));
    let (config, _) = Config::load(Some(Path::new("/dev/null")), std::iter::empty(), &flags)?;
    Ok(config)
}

async fn ledger(sandbox: &str) -> Result<Ledger> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Summary {
        #[serde(rename = "greeter/greet")]
        greetings: Count,
        #[serde(rename = "provisioner/runtime")]
        runtimes: Count,
        #[serde(rename = "cluster/service_account")]
        service_accounts: Count,
    }
    #[derive(Deserialize)]
    struct Standing {
        effects: Vec<Effect>,
    }
    #[derive(Deserialize)]
    struct Effect {
        system: String,
        token: String,
    }
    let http = platform::client()?;
    let answer =
        http.get(format!("{sandbox}/ledger/summary")).send().await.context("cannot read the ledger")?;
    let Summary { greetings, runtimes, service_accounts } = answer.json().await?;
    let answer = http.get(format!("{sandbox}/ledger")).send().await.context("cannot read the ledger")?;
    let Standing { effects } = answer.json().await?;
    let greeted = effects.into_iter().filter(|effect| effect.system == "greeter");
    Ok(Ledger { greetings, runtimes, service_accounts, tokens: greeted.map(|effect| effect.token).collect() })
}

fn proof(report: &Report) -> String {
    let Ledger { greetings, runtimes, service_accounts, .. } = &report.ledger;
    format!(
        "\nproof, from the ledgers of the far sides themselves:\n  \
           greetings: {} made, {} taken back, {} standing: of exactly the {} operations that succeeded\n  \
           runtimes: {} made, each once, and {} taken down again; {} standing\n  \
           service accounts: {} made, {} taken back\n  \
           calls repeated because an answer was lost: {}, without a second effect",
        greetings.made,
        greetings.taken_back,
        greetings.standing,
        report.succeeded(GREETING).len(),
        runtimes.made,
        runtimes.taken_back,
        runtimes.standing,
        service_accounts.made,
        service_accounts.taken_back,
        greetings.repeats + service_accounts.repeats,
    )
}

fn how_to_go_on() -> String {
    let program = std::env::args().next().unwrap_or_else(|| "provision-engine".to_owned());
    format!(
        "\nhow to go on:\n  \
           {program} serve --sandbox\n  \
           {program} instances create --plan azure --param name=first --param region=westeurope --wait\n  \
           {program} operations submit demo.hello --param name=You --watch\n  \
           {program} operations submit demo.hello --count 1000 --wait\n  \
           docs/guide/add-a-step.md shows how to add a step of your own"
    )
}

#[cfg(test)]
mod tests {
    use crate::config::Database;

    use super::*;

    fn story(workflow: &str, ending: Ending, expected: Ending, phase: Phase) -> Story {
        Story {
            name: "Ada",
            workflow: workflow.to_owned(),
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

    fn good(workflow: &str) -> Story {
        story(workflow, Ending::Succeeded, Ending::Succeeded, Phase::Succeeded)
    }

    fn complaint(story: Story, ledger: Ledger) -> String {
        Report { operations: vec![story], ledger }.complaint().unwrap_or_default()
    }

    #[test]
    fn it_complains_about_a_wrong_ending_and_about_wrong_greetings() {
        let greeted = |tokens: &[&str]| Ledger {
            tokens: tokens.iter().map(|token| format!("{}-{token}", Uuid::nil().simple())).collect(),
            ..Ledger::default()
        };
        assert_eq!(complaint(good(GREETING), greeted(&["a"])), "");
        assert_eq!(
            complaint(good(GREETING), greeted(&["a", "b"])),
            "",
            "more than one step may have an effect"
        );
        assert_eq!(complaint(good(GREETING), greeted(&["a", "a"])), "something was done twice");
        assert!(complaint(good(GREETING), greeted(&[])).contains("of 0 operations stand, but 1"));
        let undone = story(GREETING, Ending::Undone, Ending::Undone, Phase::Undone);
        assert!(complaint(undone, greeted(&["a"])).contains("of 1 operations stand, but 0"));
        let wrong = story(GREETING, Ending::Undone, Ending::Healed, Phase::Undone);
        assert!(complaint(wrong, greeted(&[])).contains("Healed"));
    }

    #[test]
    fn it_complains_about_a_second_runtime_and_about_what_is_left() {
        let runtimes = |made, standing| Ledger {
            runtimes: Count { made, standing, ..Count::default() },
            ..Ledger::default()
        };
        assert_eq!(complaint(good(PROVISION), runtimes(1, 0)), "");
        for (ledger, expected) in [
            (runtimes(2, 0), "2 runtimes were made for 1 service instances"),
            (runtimes(0, 0), "0 runtimes were made for 1 service instances"),
            (runtimes(1, 1), "1 runtimes still stand"),
        ] {
            assert_eq!(complaint(good(PROVISION), ledger), expected);
        }
        let service_accounts = Count { made: 1, standing: 1, ..Count::default() };
        let left = Ledger { service_accounts, ..runtimes(1, 0) };
        assert_eq!(complaint(good(PROVISION), left), "1 service accounts still stand");
    }

    #[test]
    fn its_settings_are_its_own_and_can_be_used() {
        let config = config(Path::new("/nowhere"), None).unwrap();
        assert!(config.sandbox.enabled && config.drivers.greeter.url.is_none());
        let Database::Sqlite(path) = config.store.database else { panic!("not on a file") };
        assert!(path.starts_with("/nowhere"));
    }
}
