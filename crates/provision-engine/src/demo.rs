//! `demo`: everything at work in a few seconds, in a directory that is gone afterwards.

mod clouds;
pub mod demo_client;
mod launch;
mod ledger;
mod open;
pub mod platform;
mod play;
mod runtimes;
mod serverless;
mod stage;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use engine::{Phase, Role};
use serde::Serialize;
use server::Meter;
use uuid::Uuid;

use crate::demo::platform::Platform;
use ::launch::workflows::launch::LAUNCH;
use ::runtimes::model::PROVISION;
use ::serverless::model::CREATE;
use app::App;
use app::cli::Global;
use app::commands::Commands;
use app::compose::ComposedEngine;
use app::config::Config;
use app::exit::Exit;
use app::logs;
use app::output::{self, Cell, Mood, Render, Table, lasted, note};
use app::signals::Signals;
use clouds::cloud_of;
use ledger::{Expected, Ledger};
use open::ConsoleAddress;
use play::{Ending, Play};

/// The workflow of the example.
const GREETING: &str = "demo.hello";

const EXAMPLES: &str = "\
Examples:
  provision-engine demo
  provision-engine demo --serve
  provision-engine demo -o json
  provision-engine demo --log-level debug";

/// See everything at work in a few seconds: success, faults that heal, failure that is undone, runtimes, functions,
/// images that are built and launched
///
/// Nothing is left behind, and no configuration is read. With `--serve` the console stays open until Ctrl-C.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DemoArgs {
    /// Leave the console open afterwards, to look at what happened and to try more
    #[arg(long)]
    serve: bool,
    /// Where the console is, which includes --serve; without it 127.0.0.1:1337, or any free port
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
}

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
struct DemoReport {
    operations: Vec<Story>,
    ledger: Ledger,
}

impl Render for DemoReport {
    fn table(&self, is_wide: bool) -> Table {
        // The longest column is last, so that it pads no other one where nothing is cut.
        let mut columns = vec!["FOR", "WORKFLOW", "STEPS", "TIME"];
        columns.extend(is_wide.then_some("OPERATION"));
        columns.push("RESULT");
        let mut table = Table::new(columns);
        for story in &self.operations {
            let mood = match story.ending {
                Ending::Succeeded | Ending::Healed => Mood::Good,
                Ending::Cancelled => Mood::Busy,
                Ending::Undone | Ending::Other => Mood::Bad,
            };
            let steps = match story.steps_taken_back {
                0 => format!("{} done", story.steps_done),
                back => format!("{} done, {back} undone", story.steps_done),
            };
            let took = lasted(Duration::from_millis(story.took_ms));
            let id = is_wide.then(|| Cell::new(story.operation.to_string()));
            let result = Cell::new(&story.what_happened).mood(mood);
            let cells = [Cell::new(story.name), Cell::new(&story.workflow), steps.into(), took.into()];
            table.row(cells.into_iter().chain(id).chain([result]));
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.operations.iter().map(|story| story.operation.to_string()).collect()
    }
}

impl DemoReport {
    fn succeeded(&self, workflow: &str) -> BTreeSet<String> {
        let is_good = |story: &&Story| story.workflow == workflow && story.phase == Phase::Succeeded.as_str();
        self.operations.iter().filter(is_good).map(|story| story.operation.simple().to_string()).collect()
    }

    /// What did not go as it should, if anything.
    fn error_text(&self) -> Option<String> {
        if let Some(story) = self.operations.iter().find(|story| !story.ending.fulfils(story.expected)) {
            return Some(format!(
                "{} for {} was to be {:?} but is {:?}: {}",
                story.workflow, story.name, story.expected, story.ending, story.what_happened
            ));
        }
        self.ledger.error_text(&self.expected())
    }

    fn expected(&self) -> Expected {
        let count = |workflow| self.succeeded(workflow).len().try_into().unwrap_or(u64::MAX);
        let launches = |cloud: &str, is_meant: fn(&Story) -> bool| {
            let is_there =
                |story: &&Story| story.workflow == LAUNCH && cloud_of(story.name) == cloud && is_meant(story);
            self.operations.iter().filter(is_there).count().try_into().unwrap_or(u64::MAX)
        };
        let succeeded = |story: &Story| story.phase == Phase::Succeeded.as_str();
        Expected {
            greeted: self.succeeded(GREETING),
            provisions: count(PROVISION),
            creates: count(CREATE),
            launched: launches("aws", succeeded),
            launches: launches("aws", |_| true),
            at_azure: launches("azure", succeeded),
            at_google: launches("gcp", succeeded),
        }
    }
}

pub(crate) fn commands(commands: &mut Commands) {
    commands.add_async("demo", run);
}

async fn run(global: &Global, args: &DemoArgs) -> Result<Exit> {
    let dir = tempfile::tempdir().context("cannot make a temporary directory")?;
    let config = config(&global.app, dir.path(), global.log_level.as_deref())?;
    let _logs = global.log_level.as_ref().map(|_| logs::init(&config.log)).transpose()?;
    note("an engine on a temporary SQLite file, and external systems over HTTP\n");
    let place = if args.serve || args.listen.is_some() {
        Some(ConsoleAddress::take(args.listen, config.server.listen).await?)
    } else {
        None
    };
    let meter = Arc::new(Meter::new());
    let composed = ComposedEngine::open(&global.app, &config, &meter).await?;
    let Some(sandbox) = &composed.sandbox else { bail!("the demonstration needs its sandbox") };
    let sandbox = sandbox.url();
    composed.engine.start(None).await.context("cannot start the engine")?;
    let platform = Platform::open(&composed, &config, &meter, "platform", Role::Broker).await?;
    let launcher = Platform::open(&composed, &config, &meter, "launcher", Role::Launcher).await?;
    let mut signals = Signals::catch()?;
    let operations = tokio::select! {
        operations = Play::new(&composed.engine, &platform, &launcher, &sandbox)?.all() => operations?,
        // An error and not an end at once, so that the directory goes away.
        name = signals.next() => bail!("stopped by {name}"),
    };
    let report = DemoReport { operations, ledger: Ledger::read(&sandbox).await? };
    if place.is_none() {
        composed.engine.stop(config.engine.stop_grace.get()).await;
    }
    output::print(global.output, &report)?;
    if let Some(error_text) = report.error_text() {
        bail!("the demonstration did not go as it should: {error_text}");
    }
    note(report.ledger.proof(report.succeeded(GREETING).len()));
    let Some(place) = place else {
        note(how_to_go_on());
        return Ok(Exit::GOOD);
    };
    drop((platform, launcher));
    place.open(&composed, &config, &meter, &mut signals).await?;
    composed.engine.stop(config.engine.stop_grace.get()).await;
    Ok(Exit::GOOD)
}

/// Short pauses, because a user is watching. No file and no environment may lead the demonstration to a
/// real database or a real external system.
fn config(app: &App, dir: &Path, log_level: Option<&str>) -> Result<Config> {
    let dir = dir.to_str().context("the temporary directory has no readable name")?;
    let flags = [
        ("data_dir", dir),
        ("sandbox.enabled", "true"),
        ("engine.retry.first", "200ms"),
        ("engine.retry.max", "1s"),
        ("store.poll", "100ms"),
        ("runtime.poll", "1s"),
        ("serverless.poll", "100ms"),
        ("launch.image.poll_first", "150ms"),
        ("launch.image.poll_max", "250ms"),
        ("launch.instance_poll", "50ms"),
        ("launch.capacity_patience", "1s"),
        ("log.level", log_level.unwrap_or("off")),
    ];
    let flags = flags.map(|(path, text)| (path.to_owned(), text.to_owned()));
    let (config, _) = app.load(Some(Path::new("/dev/null")), std::iter::empty(), &flags)?;
    Ok(config)
}

fn how_to_go_on() -> String {
    let program = std::env::args().next().unwrap_or_else(|| "provision-engine".to_owned());
    format!(
        "\nnext steps:\n  \
           {program} demo --serve\n  \
           {program} serve --sandbox\n  \
           {program} instances create --plan azure \\\n    --param name=first --param region=westeurope --wait\n  \
           PROVISION_ENGINE_ONE_PASSWORD=cognitpass \\\n    {program} serverless create --faas Function --user cognit --wait\n  \
           {program} launch\n  \
           {program} operations submit demo.hello --param name=You --watch\n  \
           {program} operations submit demo.hello --count 1000 --wait\n  \
           docs/guide/add-a-step.md shows how to add a step of your own"
    )
}

#[cfg(test)]
mod tests {
    use app::config::Database;

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

    #[test]
    fn it_reports_about_a_wrong_ending_and_counts_only_what_succeeded() {
        let report = |story| DemoReport { operations: vec![story], ledger: Ledger::default() };
        let wrong = report(story(GREETING, Ending::Undone, Ending::Healed, Phase::Undone));
        assert!(wrong.error_text().unwrap_or_default().contains("Healed"));
        assert_eq!(wrong.expected().greeted.len(), 0);
        let good = |workflow| report(story(workflow, Ending::Succeeded, Ending::Succeeded, Phase::Succeeded));
        assert_eq!(good(GREETING).expected().greeted, [Uuid::nil().simple().to_string()].into());
        for (workflow, what) in [
            (PROVISION, "0 runtimes were made where 1"),
            (CREATE, "0 documents were made where 1"),
            (LAUNCH, "0 instances were made where 2"),
        ] {
            let told = good(workflow).error_text().unwrap_or_default();
            assert_eq!(told, format!("{what} were asked for"));
        }
    }

    #[test]
    fn a_retry_that_was_not_planned_is_no_fault_and_a_planned_one_must_happen() {
        assert!(Ending::Healed.fulfils(Ending::Succeeded));
        assert!(!Ending::Succeeded.fulfils(Ending::Healed));
        assert!(!Ending::Undone.fulfils(Ending::Succeeded));
    }

    #[test]
    fn its_settings_are_its_own_and_can_be_used() {
        let config = config(&crate::app(), Path::new("/nowhere"), None).unwrap();
        assert!(config.sandbox.enabled && config.section::<::demo::Settings>().url.is_none());
        let Database::Sqlite(path) = config.store.database else { panic!("not on a file") };
        assert!(path.starts_with("/nowhere"));
    }
}
