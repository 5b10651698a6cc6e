//! Waiting for the last operation on an instance or a binding.

use std::io::IsTerminal;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use tokio::time::{Instant, sleep_until};

use crate::broker::{Broker, BrokerError, Ids, LastOperation, Reply, State, Subject};
use crate::config::Period;
use crate::exit::{Exit, TimedOut};
use crate::output::{Progress, lasted, note, printable};
use crate::signals::Signals;

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// A broker may ask for patience, within reason.
const RETRY_AFTER_MIN: Duration = Duration::from_millis(100);
const RETRY_AFTER_MAX: Duration = Duration::from_secs(30);
/// When neither the plan nor the user says how long.
const LIMIT: Duration = Duration::from_hours(1);

#[derive(Debug, Args)]
pub(super) struct WaitArgs {
    /// Wait until it is done; exit code 3 when it fails
    #[arg(long)]
    pub(super) wait: bool,
    /// How long to wait; exit code 4 when the time is over [default: what the plan says, else 1h]
    #[arg(long, value_name = "TIME")]
    pub(super) timeout: Option<Period>,
}

impl WaitArgs {
    /// The shorter one of what the user and the plan say.
    pub(super) fn limit(&self, plan_seconds: Option<u64>) -> Duration {
        let ours = self.timeout.map(Period::get);
        let theirs = plan_seconds.map(Duration::from_secs);
        ours.into_iter().chain(theirs).min().unwrap_or(LIMIT)
    }
}

/// What is waited for, and for how long.
#[derive(Debug)]
pub(super) struct Watch<'a> {
    pub(super) subject: &'a Subject,
    pub(super) ids: Option<&'a Ids>,
    pub(super) operation: Option<&'a str>,
    /// To be gone is what is wanted.
    pub(super) is_removal: bool,
    pub(super) limit: Duration,
}

/// How the waiting ended. That the time was over is an error.
#[derive(Debug)]
pub(super) enum Ended {
    Settled(LastOperation),
    /// Somebody pressed Ctrl-C; the operation goes on.
    Left(Exit),
}

impl Watch<'_> {
    pub(super) async fn wait(&self, broker: &mut Broker) -> Result<Ended> {
        let mut signals = Signals::catch().context("cannot wait for signals")?;
        tokio::select! {
            settled = self.until_settled(broker) => settled.map(Ended::Settled),
            signal = signals.next() => {
                note(format!("it goes on; come back with: {}", self.way_back()));
                // What a shell makes of a program that such a signal has ended.
                Ok(Ended::Left(Exit(if signal == "SIGINT" { 130 } else { 143 })))
            }
        }
    }

    async fn until_settled(&self, broker: &mut Broker) -> Result<LastOperation> {
        let now = Instant::now();
        // A limit beyond the end of time is no limit.
        let until = now.checked_add(self.limit).unwrap_or(now + Duration::from_hours(24 * 365));
        let (mut teller, mut pause) = (Teller::new(), FIRST_PAUSE);
        loop {
            let look = broker.last_operation(self.subject, self.ids, self.operation).await;
            let asked = match self.judged(look) {
                Ok(Reply { body, .. }) if body.state != State::InProgress => return Ok(body),
                Ok(Reply { body, retry_after, .. }) => {
                    teller.tell(&body);
                    retry_after
                }
                Err(error) if error.may_heal() => {
                    if Instant::now() >= until {
                        return Err(TimedOut(format!("nobody knows how it stands: {error}")).into());
                    }
                    teller.trouble(&error);
                    broker.look_again();
                    None
                }
                Err(error) => return Err(error.into()),
            };
            if Instant::now() >= until {
                let (limit, way) = (lasted(self.limit), self.way_back());
                return Err(
                    TimedOut(format!("it is still in progress after {limit} and goes on: {way}")).into()
                );
            }
            sleep_until((Instant::now() + interval(asked, pause)).min(until)).await;
            pause = (pause * 3 / 2).min(LONGEST_PAUSE);
        }
    }

    /// Whoever removes something and hears that it is gone has succeeded.
    fn judged(
        &self,
        look: Result<Reply<LastOperation>, BrokerError>,
    ) -> Result<Reply<LastOperation>, BrokerError> {
        match look {
            Err(error) if self.is_removal && error.is_absent() => {
                let body = LastOperation {
                    state: State::Succeeded,
                    description: None,
                    instance_usable: None,
                    update_repeatable: None,
                };
                Ok(Reply { is_going: false, retry_after: None, body })
            }
            look => look,
        }
    }

    fn way_back(&self) -> String {
        way_back(self.subject)
    }
}

/// How to see later what becomes of it.
pub(super) fn way_back(subject: &Subject) -> String {
    let Subject { instance, binding } = subject;
    match binding {
        Some(binding) => format!("provision-engine instances show {instance} --binding {binding} --wait"),
        None => format!("provision-engine instances show {instance} --wait"),
    }
}

fn interval(asked: Option<Duration>, pause: Duration) -> Duration {
    asked.map_or(pause, |asked| asked.clamp(RETRY_AFTER_MIN, RETRY_AFTER_MAX))
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

    fn tell(&mut self, operation: &LastOperation) {
        self.say(in_words(operation));
    }

    fn trouble(&mut self, error: &BrokerError) {
        self.say(format!("{error}; trying again"));
    }

    fn say(&mut self, text: String) {
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

/// `in progress: waiting for the cluster`.
pub(super) fn in_words(operation: &LastOperation) -> String {
    let state = operation.state.as_str();
    match operation.description.as_deref().filter(|text| !text.trim().is_empty()) {
        Some(description) => format!("{state}: {}", printable(description)),
        None => state.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broker_may_ask_for_patience_within_reason() {
        let pause = Duration::from_millis(700);
        for (asked_ms, expected_ms) in
            [(None, 700), (Some(0), 100), (Some(100), 100), (Some(9_000), 9_000), (Some(86_400_000), 30_000)]
        {
            let asked = asked_ms.map(Duration::from_millis);
            assert_eq!(interval(asked, pause), Duration::from_millis(expected_ms), "{asked_ms:?}");
        }
    }

    #[test]
    fn the_shorter_limit_counts() {
        let limit = |timeout, plan| WaitArgs { wait: true, timeout }.limit(plan);
        assert_eq!(limit(None, None), LIMIT);
        assert_eq!(limit(None, Some(5)), Duration::from_secs(5));
        assert_eq!(limit(Some(Period::seconds(9)), Some(5)), Duration::from_secs(5));
        assert_eq!(limit(Some(Period::seconds(3)), Some(5)), Duration::from_secs(3));
        assert_eq!(limit(Some(Period::hours(3)), None), Duration::from_hours(3));
    }
}
