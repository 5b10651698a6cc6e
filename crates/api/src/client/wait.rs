//! Polls until an operation ends, also while the server does not answer.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::{CallError, Client};

/// How often to look, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct PollInterval {
    first: Duration,
    longest: Duration,
    until: Instant,
    away_limit: Option<Duration>,
}

impl PollInterval {
    /// Looks first often and then less so; without a limit there is no end.
    pub fn new(first: Duration, longest: Duration, limit: Option<Duration>) -> PollInterval {
        let now = Instant::now();
        // A limit beyond the end of time is no limit.
        let until = limit.and_then(|limit| now.checked_add(limit));
        PollInterval {
            first,
            longest,
            until: until.unwrap_or(now + Duration::from_hours(24 * 365)),
            away_limit: None,
        }
    }

    /// Gives up when the server does not answer for this long.
    #[must_use]
    pub fn away_at_most(self, limit: Duration) -> PollInterval {
        PollInterval { away_limit: Some(limit), ..self }
    }

    pub fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    /// Sleeps, but not beyond the end.
    pub async fn pause(&self, pause: Duration) {
        sleep_until((Instant::now() + pause).min(self.until)).await;
    }
}

/// What one look shows.
#[derive(Debug)]
pub struct PollResult<T> {
    pub seen: T,
    /// What is waited for, in words; nothing when it is over.
    pub waits_for: Option<String>,
    /// When to look again, if the server says so.
    pub pause: Option<Duration>,
    /// When what is waited for is tried again.
    pub next_attempt: Option<Duration>,
}

impl<T> PollResult<T> {
    pub fn over(seen: T) -> PollResult<T> {
        PollResult { seen, waits_for: None, pause: None, next_attempt: None }
    }

    pub fn going(seen: T, waits_for: impl Into<String>) -> PollResult<T> {
        PollResult { seen, waits_for: Some(waits_for.into()), pause: None, next_attempt: None }
    }
}

/// What happens while something is waited for.
#[derive(Debug)]
pub enum WaitEvent<'a> {
    /// What is waited for, and in what time it is tried again.
    Going(&'a str, Option<Duration>),
    /// The server did not answer well, and is asked again.
    Away(&'a CallError),
}

/// How a wait ended.
#[derive(Debug)]
pub enum Waited<T> {
    Over(T),
    /// The time is over; what the last look showed, in words too.
    Going(T, String),
    /// The time is over, and the last look failed.
    Unknown(CallError),
}

impl Client {
    /// Looks until it is over, until the time is, or until an error comes that no second look heals. There is one
    /// last look when the time is over.
    pub async fn wait_until<T>(
        &self,
        interval: PollInterval,
        mut look: impl AsyncFnMut() -> Result<PollResult<T>, CallError>,
        mut report: impl FnMut(WaitEvent<'_>),
    ) -> Result<Waited<T>, CallError> {
        let (mut pause, mut away_since) = (interval.first, None);
        loop {
            let is_late = interval.is_over();
            let asked = match look().await {
                Ok(PollResult { seen, waits_for: None, .. }) => return Ok(Waited::Over(seen)),
                Ok(PollResult { seen, waits_for: Some(words), .. }) if is_late => {
                    return Ok(Waited::Going(seen, words));
                }
                Ok(PollResult { waits_for: Some(words), pause, next_attempt, .. }) => {
                    away_since = None;
                    report(WaitEvent::Going(&words, next_attempt));
                    pause
                }
                Err(error) if error.may_heal() => {
                    let since = *away_since.get_or_insert_with(Instant::now);
                    if is_late || interval.away_limit.is_some_and(|limit| since.elapsed() > limit) {
                        return Ok(Waited::Unknown(error));
                    }
                    report(WaitEvent::Away(&error));
                    self.relocate();
                    None
                }
                Err(error) => return Err(error),
            };
            interval.pause(asked.unwrap_or(pause)).await;
            pause = (pause * 3 / 2).min(interval.longest);
        }
    }

    /// Calls until the server answers or the time is over. Only for calls that may be repeated.
    pub async fn retry<T>(
        &self,
        interval: PollInterval,
        mut call: impl AsyncFnMut() -> Result<T, CallError>,
        report: impl FnMut(WaitEvent<'_>),
    ) -> Result<T, CallError> {
        match self.wait_until(interval, async || Ok(PollResult::over(call().await?)), report).await? {
            Waited::Over(answer) | Waited::Going(answer, _) => Ok(answer),
            Waited::Unknown(error) => Err(error),
        }
    }
}
