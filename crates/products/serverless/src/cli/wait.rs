//! Waiting for an operation to end, and for a runtime to run.

use std::time::Duration;

use crate::api::wire::{Action, Operation, OperationState};
use anyhow::Result;
use api::client::{Look, Pace, Waited};
use clap::Args;

use crate::client::{Runtime, ServerlessClient};
use app::client::Answered;
use app::cmd::wait::{Ended, or_come_back};
use app::config::Period;
use app::exit::TimedOut;
use app::output::{ProgressPrinter, lasted, printable};

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
        let limit = self.timeout.get();
        let pace = Pace::new(FIRST_PAUSE, LONGEST_PAUSE, Some(limit));
        Patience { pace, limit, progress: ProgressPrinter::to_stderr() }
    }
}

/// Time to wait, all in all.
pub(super) struct Patience {
    pub(super) pace: Pace,
    limit: Duration,
    progress: ProgressPrinter,
}

impl Patience {
    /// Until the operation is over, well or not.
    pub(super) async fn operation(
        &mut self,
        client: &ServerlessClient,
        operation: &Operation,
    ) -> Result<Ended<Operation>> {
        let id = operation.id;
        let look = async || {
            let operation = client.operation(id).await?;
            if operation.state != OperationState::Running {
                return Ok(Look::over(operation));
            }
            let words = operation.reason.clone().unwrap_or_else(|| under_way(operation.action).to_owned());
            Ok(Look::going(operation, words))
        };
        let way_back = format!("provision-engine operations show {id}");
        or_come_back(&way_back, self.until(client, &way_back, look)).await
    }

    /// Until the runtime runs, or is in trouble.
    pub(super) async fn runtime(&mut self, client: &ServerlessClient, id: i32) -> Result<Ended<Runtime>> {
        let look = async || {
            let runtime = client.runtime(id).await?;
            let state = runtime.state();
            if state.is_settled() {
                return Ok(Look::over(runtime));
            }
            Ok(Look::going(runtime, format!("runtime {id} is {}", state.as_str())))
        };
        let way_back = way_back(id);
        or_come_back(&way_back, self.until(client, &way_back, look)).await
    }

    async fn until<T>(
        &mut self,
        client: &ServerlessClient,
        way_back: &str,
        look: impl AsyncFnMut() -> Answered<Look<T>>,
    ) -> Result<T> {
        match client.http.wait_until(self.pace, look, |news| self.progress.news(&news)).await? {
            Waited::Over(over) => Ok(over),
            Waited::Going(_, words) => {
                let limit = lasted(self.limit);
                Err(TimedOut(format!("after {limit}: {}; it goes on: {way_back}", printable(&words))).into())
            }
            Waited::Unknown(error) => Err(error.into()),
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
