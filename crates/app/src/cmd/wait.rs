//! Waiting on the command line: a signal ends the wait, and what is waited for goes on.

use anyhow::{Context, Result};

use crate::exit::Exit;
use crate::output::note;
use crate::signals::Signals;

/// How a wait ended. That the time was over is an error.
#[derive(Debug)]
pub enum Ended<T> {
    With(T),
    /// The user pressed Ctrl-C.
    Left(Exit),
}

pub async fn unless_stopped<T>(waiting: impl Future<Output = Result<T>>) -> Result<Ended<T>> {
    let mut signals = Signals::catch().context("cannot wait for signals")?;
    tokio::select! {
        over = waiting => over.map(Ended::With),
        // What a shell makes of a program that such a signal has ended.
        signal = signals.next() => Ok(Ended::Left(Exit(if signal == "SIGINT" { 130 } else { 143 }))),
    }
}

/// The same, and says how to come back.
pub async fn or_come_back<T>(way_back: &str, waiting: impl Future<Output = Result<T>>) -> Result<Ended<T>> {
    let ended = unless_stopped(waiting).await?;
    if matches!(ended, Ended::Left(_)) {
        note(format!("it goes on; come back with: {way_back}"));
    }
    Ok(ended)
}
