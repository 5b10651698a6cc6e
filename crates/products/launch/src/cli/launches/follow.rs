//! Follows a launch until it ends.

use std::cell::RefCell;
use std::time::Duration;

use anyhow::{Context, Result};
use api::client::{PollInterval, PollResult, WaitEvent, Waited};
use clap::Args;
use engine::Timestamp;
use tokio::time::{Instant, timeout};

use super::conclude::print_for_scripts;
use super::printer::LaunchPrinter;
use crate::client::{LaunchClient, LaunchDetails};
use app::cli::Global;
use app::cmd::wait::{WaitResult, or_come_back};
use app::config::Period;
use app::exit::{Exit, TimedOut};
use app::hint;
use app::output::{self, Format, note};

/// How long the server may keep us when there is nothing new.
const LONG_LOOK: Duration = Duration::from_secs(20);
/// A server that answers at once is not asked again at once.
const PAUSE: Duration = Duration::from_millis(200);
/// How long a server that went away is looked for, where no time limit is given.
const AWAY_LIMIT: Duration = Duration::from_secs(120);
const LIMIT: Period = Period::minutes(30);

#[derive(Debug, Args)]
pub(super) struct WaitArgs {
    /// Wait until it is done; exit code 3 when it ends badly
    #[arg(long, short)]
    pub(super) wait: bool,
    /// How long to wait at most; exit code 4 when the time is over
    #[arg(long, value_name = "TIME", default_value_t = LIMIT)]
    pub(super) timeout: Period,
}

impl WaitArgs {
    /// Waits until a control request of a launch has ended, with `--wait`.
    pub(super) async fn see_through(
        &self,
        global: &Global,
        client: &LaunchClient,
        asked: &LaunchDetails,
        before: Option<Timestamp>,
    ) -> Result<WaitResult<LaunchDetails>> {
        let name = &asked.id.to_string();
        if global.output == Format::Name {
            output::data(name)?;
        }
        if !self.wait {
            print_for_scripts(global, asked)?;
            note(format!("follow it: {}", way_back(name)));
            return Ok(WaitResult::Left(Exit::GOOD));
        }
        let follow = Follow { name, before, limit: Some(self.timeout) };
        or_come_back(&way_back(name), follow.to_the_end(client, &mut LaunchPrinter::new())).await
    }
}

pub(crate) struct Follow<'a> {
    pub(crate) name: &'a str,
    /// When it was over before it was asked to go on: that end is not the one that is waited for.
    pub(crate) before: Option<Timestamp>,
    pub(crate) limit: Option<Period>,
}

impl Follow<'_> {
    pub(crate) async fn to_the_end(
        &self,
        client: &LaunchClient,
        printer: &mut LaunchPrinter,
    ) -> Result<LaunchDetails> {
        let Some(limit) = self.limit else { return self.look_on(client, printer).await };
        timeout(limit.get(), self.look_on(client, printer)).await.unwrap_or_else(|_| {
            let (name, way_back) = (self.name, way_back(self.name));
            Err(TimedOut(format!(
                "launch {name} is not over after {limit}; it continues in the background: {way_back}"
            ))
            .into())
        })
    }

    async fn look_on(&self, client: &LaunchClient, printer: &mut LaunchPrinter) -> Result<LaunchDetails> {
        let mut etag = None;
        let (printer, mut unprinted) = (RefCell::new(printer), None);
        let look = async || {
            let asked_at = Instant::now();
            let Some(version) = client.look(self.name, etag.as_deref(), LONG_LOOK).await? else {
                // The server waits only while there may be something new. One that did not wait knows an end that
                // we may have seen half of, when it came between two of its own looks.
                if asked_at.elapsed() < LONG_LOOK / 2 {
                    etag = None;
                }
                return Ok(PollResult::going(None, ""));
            };
            etag = version.etag;
            let launch = version.launch;
            let is_the_end = self.is_the_end(&launch);
            if is_the_end || !launch.is_over {
                unprinted = printer.borrow_mut().show(&launch).err();
            }
            let is_over = is_the_end || unprinted.is_some();
            Ok(if is_over { PollResult::over(Some(launch)) } else { PollResult::going(None, "") })
        };
        let mut interval = PollInterval::new(PAUSE, PAUSE, None);
        if self.limit.is_none() {
            interval = interval.away_at_most(AWAY_LIMIT);
        }
        let report = |updates: WaitEvent<'_>| printer.borrow_mut().updates(&updates);
        let over = match client.http.wait_until(interval, look, report).await? {
            Waited::Over(launch) | Waited::Going(launch, _) => launch,
            Waited::Unknown(error) => return Err(error.into()),
        };
        unprinted.map_or(Ok(()), Err)?;
        over.context("the launch is not over")
    }

    /// A launch that was asked to go on may show its last end until it has begun.
    fn is_the_end(&self, launch: &LaunchDetails) -> bool {
        launch.is_over && (self.before.is_none() || launch.finished_at != self.before)
    }
}

/// How to see later what becomes of a launch.
pub(crate) fn way_back(name: &str) -> String {
    hint::command(&format!("launches watch {name}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::client::launch_with;

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
