//! Waiting for an orchestration.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::Result;
use api::client::{PollInterval, PollResult};
use clap::Args;
use uuid::Uuid;

use crate::api::orchestrations::wire::OrchestrationStatus;
use crate::model::orchestration::OrchestrationState;
use app::cli::Global;
use app::client::PlatformClient;
use app::cmd::wait::{WaitResult, Waiting};
use app::config::Period;
use app::exit::Exit;
use app::hint;
use app::output::ProgressPrinter;

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// When the user does not say how long.
const LIMIT: Duration = Duration::from_hours(24);

#[derive(Debug, Args)]
pub(super) struct WaitArgs {
    /// Wait until it is over or paused; exit code 3 when it failed, was canceled or paused
    #[arg(long, short)]
    pub(super) wait: bool,
    /// How long to wait; exit code 4 when the time is over [default: 24h]
    #[arg(long, value_name = "TIME")]
    timeout: Option<Period>,
}

impl WaitArgs {
    /// Waits where that was asked for, and shows how it stands.
    pub(super) async fn show(&self, global: &Global, id: Uuid, client: &PlatformClient) -> Result<Exit> {
        if !self.wait {
            return super::show::print(global, &status(client, id).await?);
        }
        let look = async || {
            let status = status(client, id).await?;
            let is_over = status.state.is_final() || status.state == OrchestrationState::Paused;
            let words = in_words(&status);
            Ok(if is_over { PollResult::over(status) } else { PollResult::going(status, words) })
        };
        let limit = self.timeout.map_or(LIMIT, Period::get);
        let waiting = Waiting {
            what: format!("orchestration {id}"),
            way_back: hint::command(&format!("upgrades show {id} --wait")),
            interval: PollInterval::new(FIRST_PAUSE, LONGEST_PAUSE, Some(limit)),
            limit,
        };
        match waiting.until(&client.http, &mut ProgressPrinter::to_stderr(), look).await? {
            WaitResult::With(status) => {
                super::show::print(global, &status)?;
                Ok(if status.state == OrchestrationState::Succeeded {
                    Exit::GOOD
                } else {
                    Exit::OPERATION_FAILED
                })
            }
            WaitResult::Left(exit) => Ok(exit),
        }
    }
}

pub(super) async fn status(
    client: &PlatformClient,
    id: Uuid,
) -> app::client::CallResult<OrchestrationStatus> {
    client.http.get(&["orchestrations", &id.to_string()]).await
}

/// `in progress: 12 of 50 upgraded, 1 failed`.
pub(super) fn in_words(status: &OrchestrationStatus) -> String {
    let of = |state: &str| status.operation_stats.get(state).copied().unwrap_or_default();
    let total: u64 = status.operation_stats.values().sum();
    let mut words = format!("{}: {} of {total} upgraded", status.state.as_str(), of("succeeded"));
    for state in ["failed", "skipped", "canceled"] {
        if of(state) > 0 {
            let _ = write!(words, ", {} {state}", of(state));
        }
    }
    words
}
