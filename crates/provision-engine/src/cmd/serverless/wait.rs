//! Waiting for an operation to end, and for a runtime to run.

use std::io::IsTerminal;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use doors::serverless::wire::{Action, Operation, OperationState};
use tokio::time::{Instant, sleep_until};

use crate::config::Period;
use crate::exit::{Exit, TimedOut};
use crate::output::{Progress, lasted, note, printable};
use crate::serverless::{Door, DoorError, Runtime};
use crate::signals::Signals;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
const LIMIT: Period = Period::minutes(5);

#[derive(Debug, Args)]
pub(super) struct WaitArgs {
    /// Wait until it is done; exit code 3 when it ends in trouble
    #[arg(long)]
    pub(super) wait: bool,
    #[command(flatten)]
    pub(super) patience: PatienceArgs,
}

#[derive(Debug, Args)]
pub(super) struct PatienceArgs {
    /// How long to wait at most; exit code 4 when the time is over
    #[arg(long, value_name = "TIME", default_value_t = LIMIT)]
    timeout: Period,
}

impl PatienceArgs {
    pub(super) fn start(&self) -> Patience {
        let (now, limit) = (Instant::now(), self.timeout.get());
        // A limit beyond the end of time is no limit.
        let until = now.checked_add(limit).unwrap_or(now + Duration::from_hours(24 * 365));
        Patience { until, limit, teller: Teller::new() }
    }
}

/// How the waiting ended. That the time was over is an error.
pub(super) enum Ended<T> {
    With(T),
    /// Somebody pressed Ctrl-C; it goes on.
    Left(Exit),
}

/// What one look shows.
enum Look<T> {
    Over(T),
    Going(String),
}

/// Time to wait, all in all.
pub(super) struct Patience {
    until: Instant,
    limit: Duration,
    teller: Teller,
}

impl Patience {
    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    /// Sleeps, but not beyond the end.
    pub(super) async fn pause(&self, pause: Duration) {
        sleep_until((Instant::now() + pause).min(self.until)).await;
    }

    /// Until the operation is over, well or not.
    pub(super) async fn operation(
        &mut self,
        door: &mut Door,
        operation: &Operation,
    ) -> Result<Ended<Operation>> {
        let id = operation.id;
        let look = async |door: &Door| {
            let operation = door.operation(id).await?;
            if operation.state != OperationState::Running {
                return Ok(Look::Over(operation));
            }
            Ok(Look::Going(operation.reason.unwrap_or_else(|| under_way(operation.action).to_owned())))
        };
        self.until(door, &format!("provision-engine operations show {id}"), look).await
    }

    /// Until the runtime runs, or is in trouble.
    pub(super) async fn runtime(&mut self, door: &mut Door, id: i32) -> Result<Ended<Runtime>> {
        let look = async |door: &Door| {
            let runtime = door.runtime(id).await?;
            let state = runtime.state();
            if state.is_settled() {
                return Ok(Look::Over(runtime));
            }
            Ok(Look::Going(format!("runtime {id} is {}", state.as_str())))
        };
        self.until(door, &way_back(id), look).await
    }

    async fn until<T>(
        &mut self,
        door: &mut Door,
        way_back: &str,
        look: impl AsyncFn(&Door) -> Result<Look<T>, DoorError>,
    ) -> Result<Ended<T>> {
        let mut signals = Signals::catch().context("cannot wait for signals")?;
        tokio::select! {
            over = self.look_on(door, way_back, look) => over.map(Ended::With),
            signal = signals.next() => {
                note(format!("it goes on; come back with: {way_back}"));
                // What a shell makes of a program that such a signal has ended.
                Ok(Ended::Left(Exit(if signal == "SIGINT" { 130 } else { 143 })))
            }
        }
    }

    async fn look_on<T>(
        &mut self,
        door: &mut Door,
        way_back: &str,
        look: impl AsyncFn(&Door) -> Result<Look<T>, DoorError>,
    ) -> Result<T> {
        let mut pause = FIRST_PAUSE;
        loop {
            let is_late = self.is_over();
            match look(door).await {
                Ok(Look::Over(over)) => return Ok(over),
                Ok(Look::Going(words)) if is_late => {
                    let limit = lasted(self.limit);
                    let text = format!("after {limit}: {}; it goes on: {way_back}", printable(&words));
                    return Err(TimedOut(text).into());
                }
                Ok(Look::Going(words)) => self.teller.say(&words),
                Err(error) if error.may_heal() && !is_late => {
                    self.teller.say(&format!("{error}; trying again"));
                    door.look_again();
                }
                Err(error) => return Err(error.into()),
            }
            self.pause(pause).await;
            pause = (pause * 3 / 2).min(LONGEST_PAUSE);
        }
    }
}

fn under_way(action: Action) -> &'static str {
    match action {
        Action::Create => "the runtime is being created",
        Action::Update => "the runtime is being updated",
        Action::Delete => "the runtime is being deleted",
    }
}

/// How to see later what becomes of a runtime.
pub(super) fn way_back(id: i32) -> String {
    format!("provision-engine serverless show {id} --wait")
}

/// Tells people what changes: on a terminal in one line that is written again, elsewhere line by line.
struct Teller {
    progress: Option<Progress>,
    last: String,
}

impl Teller {
    fn new() -> Teller {
        Teller { progress: std::io::stderr().is_terminal().then(Progress::new), last: String::new() }
    }

    fn say(&mut self, text: &str) {
        let text = printable(text);
        if text == self.last {
            return;
        }
        match &self.progress {
            Some(progress) => progress.say(&text),
            None => note(&text),
        }
        self.last = text;
    }
}
