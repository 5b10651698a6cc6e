//! Looking at a launch until it is over.

use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use engine::Timestamp;
use tokio::time::{Instant, sleep, timeout};

use super::conclude::print_for_scripts;
use super::teller::Teller;
use crate::cli::Global;
use crate::config::Period;
use crate::exit::{Exit, TimedOut};
use crate::launching::{Door, Launch};
use crate::output::{self, Format, note};
use crate::signals::Signals;

/// How long the server may keep us when there is nothing new.
const LONG_LOOK: Duration = Duration::from_secs(20);
/// A server that answers at once is not asked again at once.
const PAUSE: Duration = Duration::from_millis(200);
/// How long a server that went away is looked for, where nobody says how long to wait.
const AWAY_LIMIT: Duration = Duration::from_secs(120);
const LIMIT: Period = Period::minutes(30);

#[derive(Debug, Args)]
pub(super) struct WaitArgs {
    /// Wait until it is done; exit code 3 when it ends badly
    #[arg(long)]
    pub(super) wait: bool,
    /// How long to wait at most; exit code 4 when the time is over
    #[arg(long, value_name = "TIME", default_value_t = LIMIT)]
    pub(super) timeout: Period,
}

/// How the waiting ended. That the time was over is an error.
pub(in crate::cmd) enum Ended {
    With(Box<Launch>),
    /// Nobody waits, or somebody pressed Ctrl-C; the launch goes on.
    Left(Exit),
}

impl WaitArgs {
    /// Sees what was asked of a launch through to its end, if somebody waits for that.
    pub(super) async fn see_through(
        &self,
        global: &Global,
        door: &mut Door,
        asked: &Launch,
        before: Option<Timestamp>,
    ) -> Result<Ended> {
        let name = &asked.id.to_string();
        if global.output == Format::Name {
            output::data(name)?;
        }
        if !self.wait {
            print_for_scripts(global, asked)?;
            note(format!("it is asked; follow it: provision-engine launches watch {name}"));
            return Ok(Ended::Left(Exit::GOOD));
        }
        let follow = Follow { name, before, limit: Some(self.timeout) };
        let ended = follow.to_the_end(door, &mut Teller::new()).await?;
        if matches!(ended, Ended::Left(_)) {
            note(format!("it goes on; come back with: provision-engine launches watch {name}"));
        }
        Ok(ended)
    }
}

pub(in crate::cmd) struct Follow<'a> {
    pub(in crate::cmd) name: &'a str,
    /// When it was over before it was asked to go on: that end is not the one that is waited for.
    pub(in crate::cmd) before: Option<Timestamp>,
    pub(in crate::cmd) limit: Option<Period>,
}

impl Follow<'_> {
    pub(in crate::cmd) async fn to_the_end(&self, door: &mut Door, teller: &mut Teller) -> Result<Ended> {
        let mut signals = Signals::catch().context("cannot wait for signals")?;
        tokio::select! {
            over = self.within_limit(door, teller) => over.map(|launch| Ended::With(Box::new(launch))),
            // What a shell makes of a program that such a signal has ended.
            signal = signals.next() => Ok(Ended::Left(Exit(if signal == "SIGINT" { 130 } else { 143 }))),
        }
    }

    async fn within_limit(&self, door: &mut Door, teller: &mut Teller) -> Result<Launch> {
        let Some(limit) = self.limit else { return self.look_on(door, teller).await };
        timeout(limit.get(), self.look_on(door, teller)).await.unwrap_or_else(|_| {
            let name = self.name;
            let way_back = format!("provision-engine launches watch {name}");
            Err(TimedOut(format!("launch {name} is not over after {limit}; it goes on: {way_back}")).into())
        })
    }

    async fn look_on(&self, door: &mut Door, teller: &mut Teller) -> Result<Launch> {
        let mut etag = None;
        let mut away_since = None;
        loop {
            let asked_at = Instant::now();
            match door.look(self.name, etag.as_deref(), LONG_LOOK).await {
                Ok(Some(version)) => {
                    away_since = None;
                    etag = version.etag;
                    let launch = version.launch;
                    if self.is_the_end(&launch) {
                        teller.tell(&launch)?;
                        return Ok(launch);
                    }
                    if !launch.is_over {
                        teller.tell(&launch)?;
                    }
                }
                Ok(None) => {
                    away_since = None;
                    // The server waits only while there may be something new. One that did not wait knows an end that
                    // we may have seen half of, when it came between two of its own looks.
                    if asked_at.elapsed() < LONG_LOOK / 2 {
                        etag = None;
                    }
                }
                Err(error) => {
                    let since = *away_since.get_or_insert_with(Instant::now);
                    let is_too_long = self.limit.is_none() && since.elapsed() > AWAY_LIMIT;
                    if !error.may_heal() || is_too_long {
                        return Err(error.into());
                    }
                    teller.trouble(&error);
                    door.look_again();
                }
            }
            sleep(PAUSE).await;
        }
    }
    /// A launch that was asked to go on may show its last end until it has begun.
    fn is_the_end(&self, launch: &Launch) -> bool {
        launch.is_over && (self.before.is_none() || launch.finished_at != self.before)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::launching::launch_with;

    #[test]
    fn an_end_that_is_known_already_is_not_waited_for() {
        let ended = |at: &str| launch_with(&json!({"state": "failed", "finished_at": at}));
        let (first, second) = (ended("2026-01-01T00:00:01Z"), ended("2026-01-01T00:00:02Z"));
        let follow = |before| Follow { name: "7", before, limit: None };
        assert!(follow(None).is_the_end(&first));
        assert!(!follow(first.finished_at).is_the_end(&first));
        assert!(follow(first.finished_at).is_the_end(&second));
        let going = launch_with(&json!({"state": "building", "is_over": false}));
        assert!(!follow(None).is_the_end(&going) && !follow(first.finished_at).is_the_end(&going));
    }
}
