//! `bench`: how fast the engine is on this machine, as ratios against a base measured in the same run.

mod base;
mod goals;
mod history;
mod load;
mod measure;
mod recovery;
mod report;
mod target;
mod workflow;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use crate::cli::Global;
use crate::exit::Exit;
use crate::output::{self, note};
use measure::Effort;
use report::Report;
use target::Target;

/// Measure how fast the engine is here
///
/// Every figure stands beside a base that is measured in the same run: commits of a single row by the same
/// database. Only the ratios mean anything on another machine. PostgreSQL is measured on a private server that
/// this command starts and removes, unless `--database-url` names another one.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  provision-engine bench\n  provision-engine bench --store sqlite --quick -o json"
)]
pub(crate) struct BenchArgs {
    /// Which databases to measure
    #[arg(long, value_enum, default_value = "both")]
    store: Which,

    /// A PostgreSQL database to measure on, which is then full of benchmark rows
    #[arg(long, value_name = "URL", env = "PROVISION_ENGINE_BENCH_DATABASE_URL", hide_env_values = true)]
    database_url: Option<String>,

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

    /// Plays the process that is killed
    #[arg(long, hide = true, value_enum)]
    part: Option<recovery::Part>,

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

pub(crate) async fn run(global: &Global, args: &BenchArgs) -> Result<Exit> {
    let effort = Effort::new(args.quick, args.history, args.waiting, args.in_flight);
    if let Some(part) = args.part {
        recovery::play(part, args.sqlite_file.as_deref(), args.database_url.as_deref(), effort.in_flight)
            .await?;
        return Ok(Exit::GOOD);
    }
    let mut targets = Vec::new();
    if args.store != Which::Postgres {
        targets.push(Target::sqlite()?);
    }
    if args.store != Which::Sqlite {
        targets
            .push(Target::postgres(args.database_url.as_deref()).await.context("cannot measure PostgreSQL")?);
    }
    let mut report = Report::new(args.quick);
    for target in &targets {
        note(format!("measuring {} …", target.name()));
        report.databases.push(measure::measure(target, &effort).await?);
    }
    report.goals = goals::judge(&report.databases);
    output::print(global.output, &report)?;
    Ok(Exit::GOOD)
}
