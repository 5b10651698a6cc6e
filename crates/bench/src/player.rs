//! A process of its own that plays a part: for what only a whole process shows.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::load::as_float;
use super::target::BenchDatabaseKind;

/// More than any part needs before it says something.
const PATIENCE: Duration = Duration::from_mins(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum PlayerPart {
    /// Stands in the middle of many operations until it is killed.
    Hold,
    /// Takes them over.
    Resume,
    /// Serves and says how much memory it needs.
    Sit,
    /// Asks itself for runtimes that are never finished.
    Await,
    /// Offers serverless runtimes to the process that asks.
    Offer,
    /// Asks itself for launches whose images are not ready.
    Linger,
    /// Serves its console pages.
    Show,
}

/// The process, and what it says: one line for each thing that a process waits for.
pub(super) struct Player {
    child: Child,
    said: Lines<BufReader<ChildStdout>>,
}

impl Player {
    pub(super) fn start(
        target: &BenchDatabaseKind,
        part: PlayerPart,
        count: usize,
        more: &[(&str, &str)],
    ) -> Result<Player> {
        let mut command = Command::new(std::env::current_exe()?);
        let part = part.to_possible_value().context("every part has a name")?;
        command.args(["--part", part.get_name(), "--in-flight", &count.to_string()]);
        if let Some(file) = target.sqlite_file() {
            command.arg("--sqlite-file").arg(file);
        }
        if let Some(url) = target.url() {
            command.env("PROVISION_ENGINE_BENCH_DATABASE_URL", url);
        }
        command.envs(more.iter().copied());
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
        let stdout = child.stdout.take().context("the child's stdout is piped")?;
        Ok(Player { child, said: BufReader::new(stdout).lines() })
    }

    pub(super) async fn says(&mut self) -> Result<String> {
        let line = tokio::time::timeout(PATIENCE, self.said.next_line()).await??;
        line.context("the process that plays its part ended early")
    }

    pub(super) fn memory_mb(&self) -> Result<f64> {
        memory_mb(&self.child.id().context("the process that plays its part is gone")?.to_string())
    }

    pub(super) async fn kill(mut self) -> Result<()> {
        Ok(self.child.kill().await?)
    }

    pub(super) async fn end(mut self) -> Result<()> {
        self.child.wait().await?;
        Ok(())
    }
}

/// The memory of this process that is really there.
pub(super) fn own_memory_mb() -> Result<f64> {
    memory_mb("self")
}

fn memory_mb(process: &str) -> Result<f64> {
    let statm = std::fs::read_to_string(format!("/proc/{process}/statm")).context("this needs Linux")?;
    let pages: u64 = statm.split_whitespace().nth(1).context("statm has a second number")?.parse()?;
    ensure!(pages > 0, "a process without memory");
    Ok(as_float(pages * 4096) / 1_048_576.0)
}
