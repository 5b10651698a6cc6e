//! Waiting for an operation to end, and for a runtime to run.

use std::time::Duration;

use crate::api::wire::{Action, OperationState, RuntimeOperation};
use anyhow::Result;
use api::client::{PollInterval, PollResult};
use clap::Args;

use crate::client::{RuntimeBody, ServerlessClient};
use app::client::CallResult;
use app::cmd::wait::{WaitResult, Waiting};
use app::config::Period;
use app::hint;
use app::output::ProgressPrinter;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
const LIMIT: Period = Period::minutes(5);

#[derive(Debug, Args)]
pub(super) struct WaitArgs {
    /// Wait until it is done; exit code 3 when it fails
    #[arg(long, short)]
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
        let limit = self.timeout.get();
        let interval = PollInterval::new(FIRST_PAUSE, LONGEST_PAUSE, Some(limit));
        Patience { interval, limit, progress: ProgressPrinter::to_stderr() }
    }
}

/// Time to wait, all in all.
pub(super) struct Patience {
    pub(super) interval: PollInterval,
    limit: Duration,
    progress: ProgressPrinter,
}

impl Patience {
    /// Until the operation is over, well or not.
    pub(super) async fn operation(
        &mut self,
        client: &ServerlessClient,
        operation: &RuntimeOperation,
    ) -> Result<WaitResult<RuntimeOperation>> {
        let id = operation.id;
        let look = async || {
            let operation = client.operation(id).await?;
            if operation.state != OperationState::Running {
                return Ok(PollResult::over(operation));
            }
            let words = operation.reason.clone().unwrap_or_else(|| under_way(operation.action).to_owned());
            Ok(PollResult::going(operation, words))
        };
        let way_back = hint::command(&format!("operations watch {id}"));
        self.until(client, format!("operation {id}"), way_back, look).await
    }

    /// Until the runtime runs, or is failing.
    pub(super) async fn runtime(
        &mut self,
        client: &ServerlessClient,
        id: i32,
    ) -> Result<WaitResult<RuntimeBody>> {
        let look = async || {
            let runtime = client.runtime(id).await?;
            let state = runtime.state();
            if state.is_settled() {
                return Ok(PollResult::over(runtime));
            }
            Ok(PollResult::going(runtime, state.as_str()))
        };
        self.until(client, format!("runtime {id}"), way_back(id), look).await
    }

    async fn until<T>(
        &mut self,
        client: &ServerlessClient,
        what: String,
        way_back: String,
        look: impl AsyncFnMut() -> CallResult<PollResult<T>>,
    ) -> Result<WaitResult<T>> {
        let waiting = Waiting { what, way_back, interval: self.interval, limit: self.limit };
        waiting.until(&client.http, &mut self.progress, look).await
    }
}

fn under_way(action: Action) -> &'static str {
    match action {
        Action::Create => "being created",
        Action::Update => "being updated",
        Action::Delete => "being deleted",
    }
}

/// How to see later what becomes of a runtime.
pub(super) fn way_back(id: i32) -> String {
    hint::command(&format!("serverless show {id} --wait"))
}
