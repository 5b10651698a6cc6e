//! How fast the engine is on this machine, as ratios against a base measured in the same run. Not shipped.

mod base;
mod bench_server;
mod console;
mod cpu;
mod declared;
mod goals;
mod history;
mod launch;
mod load;
mod measure;
mod player;
mod recovery;
mod report;
mod runtimes;
mod serverless;
mod target;
mod workflow;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use provision_engine::output::{self, Format, note};

use measure::Effort;
use player::PlayerPart;
use report::Report;
use target::BenchDatabaseKind;

/// Measure how fast the engine is here
///
/// Every figure stands beside a base that is measured in the same run: commits of a single row by the same
/// database. Only the ratios mean anything on another machine. PostgreSQL is measured on a private server that
/// this command starts and removes, unless `--database-url` names another one.
#[derive(Debug, Parser)]
#[command(
    name = "bench",
    after_help = "Examples:\n  bench\n  bench --store sqlite --quick -o json\n  \
                  bench --figures runtimes\n  bench --figures serverless --store sqlite\n  \
                  bench --figures launch --quick\n  bench --figures console --store sqlite\n  \
                  bench --figures declared"
)]
struct BenchArgs {
    /// The form of the report
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value = "table")]
    output: Format,

    /// Which databases to measure
    #[arg(long, value_enum, default_value = "both")]
    store: Which,

    /// A PostgreSQL database to measure on, which is then full of benchmark rows
    #[arg(long, value_name = "URL", env = "PROVISION_ENGINE_BENCH_DATABASE_URL", hide_env_values = true)]
    database_url: Option<String>,

    /// What to measure: the engine alone, runtimes through the broker, serverless runtimes, launches, the
    /// console, declared workflows, or all of it
    #[arg(long, value_enum, default_value = "all")]
    figures: Figures,

    /// Short windows and small numbers: shows that it works, says little
    #[arg(long)]
    quick: bool,

    /// How many finished operations to put into the tables
    #[arg(long, value_name = "N")]
    history: Option<u64>,

    /// How many operations to let wait
    #[arg(long, value_name = "N")]
    waiting: Option<usize>,

    /// How many operations are in flight when the process is killed
    #[arg(long, value_name = "N")]
    in_flight: Option<usize>,

    /// How many runtimes to make in each round
    #[arg(long, value_name = "N")]
    runtimes: Option<usize>,

    /// How many serverless runtimes to make in each round
    #[arg(long, value_name = "N")]
    serverless: Option<usize>,

    /// How many launches to make in each round
    #[arg(long, value_name = "N")]
    launches: Option<usize>,

    /// How many launches to let wait for slow builds
    #[arg(long, value_name = "N")]
    launches_waiting: Option<usize>,

    /// How many runtimes to let wait for a slow Provisioner
    #[arg(long, value_name = "N")]
    runtimes_waiting: Option<usize>,

    /// How many records of runtimes to put into the tables
    #[arg(long, value_name = "N")]
    records: Option<usize>,

    /// Plays a process of its own, such as the one that is killed
    #[arg(long, hide = true, value_enum)]
    part: Option<PlayerPart>,

    /// The `SQLite` file of that process
    #[arg(long, hide = true)]
    sqlite_file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Which {
    Sqlite,
    Postgres,
    Both,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Figures {
    Engine,
    Runtimes,
    Serverless,
    Launch,
    Console,
    Declared,
    All,
}

/// The allocator of the program, so that the figures are those of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

impl Figures {
    fn include(self, figures: Figures) -> bool {
        self == Figures::All || self == figures
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = BenchArgs::parse();
    let effort = Effort::new(&args);
    if let Some(part) = args.part {
        let (file, url, count) =
            (args.sqlite_file.as_deref(), args.database_url.as_deref(), effort.in_flight);
        match part {
            PlayerPart::Await => runtimes::play(file, url, count).await?,
            PlayerPart::Offer => serverless::play(file, url).await?,
            PlayerPart::Linger => launch::play(file, url, count).await?,
            PlayerPart::Show => console::play(file, url, count).await?,
            part => recovery::play(part, file, url, count).await?,
        }
        return Ok(());
    }
    let mut targets = Vec::new();
    if args.store != Which::Postgres {
        targets.push(BenchDatabaseKind::sqlite()?);
    }
    if args.store != Which::Sqlite {
        targets.push(
            BenchDatabaseKind::postgres(args.database_url.as_deref())
                .await
                .context("cannot measure PostgreSQL")?,
        );
    }
    let mut report = Report::new(args.quick);
    for target in &targets {
        note(format!("measuring {} …", target.name()));
        if args.figures.include(Figures::Runtimes) {
            report.runtimes.push(runtimes::measure(target, &effort).await?);
        }
        if args.figures.include(Figures::Serverless) {
            report.serverless.push(serverless::measure(target, &effort).await?);
        }
        if args.figures.include(Figures::Launch) {
            report.launches.push(launch::measure(target, &effort).await?);
        }
        if args.figures.include(Figures::Console) {
            report.consoles.push(console::measure(target, &effort).await?);
        }
        if args.figures.include(Figures::Declared) {
            report.declared.push(declared::measure(target, &effort).await?);
        }
        if args.figures.include(Figures::Engine) {
            report.databases.push(measure::measure(target, &effort).await?);
        }
    }
    report.goals = goals::judge(&report.databases);
    report.goals.extend(goals::judge_runtimes(&report.runtimes));
    report.goals.extend(goals::judge_serverless(&report.serverless));
    report.goals.extend(goals::judge_launches(&report.launches));
    report.goals.extend(goals::judge_consoles(&report.consoles));
    report.goals.extend(goals::judge_declared(&report.declared));
    output::print(args.output, &report)
}
