//! Waits on the command line: a signal or a timeout ends the wait and not the operation.

use std::time::Duration;

use anyhow::{Context, Result};
use api::client::{CallError, Client, PollInterval, PollResult, Waited};

use crate::exit::{Exit, TimedOut};
use crate::output::{ProgressPrinter, lasted, note, printable};
use crate::signals::Signals;

/// How a wait ended. That the time was over is an error.
#[derive(Debug)]
pub enum WaitResult<T> {
    With(T),
    /// The user pressed Ctrl-C.
    Left(Exit),
}

pub async fn unless_stopped<T>(waiting: impl Future<Output = Result<T>>) -> Result<WaitResult<T>> {
    let mut signals = Signals::catch().context("cannot wait for signals")?;
    tokio::select! {
        over = waiting => over.map(WaitResult::With),
        // What a shell makes of a program that such a signal has ended.
        signal = signals.next() => Ok(WaitResult::Left(Exit(if signal == "SIGINT" { 130 } else { 143 }))),
    }
}

/// The same, and says how to come back.
pub async fn or_come_back<T>(
    way_back: &str,
    waiting: impl Future<Output = Result<T>>,
) -> Result<WaitResult<T>> {
    let ended = unless_stopped(waiting).await?;
    if matches!(ended, WaitResult::Left(_)) {
        note(format!("it continues in the background; follow it with: {way_back}"));
    }
    Ok(ended)
}

/// Something that a user waits for.
#[derive(Debug)]
pub struct Waiting {
    /// Such as `operation ID`.
    pub what: String,
    /// The command that shows later what became of it.
    pub way_back: String,
    pub interval: PollInterval,
    pub limit: Duration,
}

impl Waiting {
    /// Looks until it is over, and draws what each look shows. The time that is over is an error, also while the
    /// server is away.
    pub async fn until<T>(
        &self,
        client: &Client,
        progress: &mut ProgressPrinter,
        look: impl AsyncFnMut() -> Result<PollResult<T>, CallError>,
    ) -> Result<WaitResult<T>> {
        let Waiting { what, way_back, interval, limit } = self;
        let limit = lasted(*limit);
        or_come_back(way_back, async {
            match client.wait_until(*interval, look, |updates| progress.updates(&updates)).await? {
                Waited::Over(over) => Ok(over),
                Waited::Going(_, words) => Err(TimedOut(format!(
                    "{what} is still {} after {limit}; it continues in the background: {way_back}",
                    printable(&words)
                ))
                .into()),
                Waited::Unknown(error) => Err(TimedOut(format!(
                    "no answer about {what} after {limit}: {error}; see later: {way_back}"
                ))
                .into()),
            }
        })
        .await
    }
}
