//! Bulk submit: retries until each operation is accepted exactly once, also across restarts of the server.

use std::cell::Cell as Counter;
use std::collections::BTreeMap;

use anyhow::Result;
use api::client::{CallError, Waited};
use api::types::{Phase, Submit};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::Serialize;
use uuid::Uuid;

use super::rows::phase_cell;
use super::wait::{Goal, Notice, WaitArgs, look, looking, patient};
use crate::cli::Global;
use crate::client::PlatformClient;
use crate::cmd::wait::{WaitResult, or_come_back};
use crate::config::Period;
use crate::exit::{Exit, TimedOut};
use crate::hint;
use crate::output::{self, Cell, Format, ProgressPrinter, Render, Table, note};

/// How many calls are under way at the same time.
const AT_ONCE: usize = 32;

#[derive(Debug, Serialize)]
struct Bulk {
    submitted: usize,
    /// How many operations stand in which phase; empty when they were not counted.
    phases: BTreeMap<&'static str, usize>,
    ids: Vec<Uuid>,
    #[serde(skip)]
    by_phase: Vec<(Phase, usize)>,
}

impl Render for Bulk {
    fn table(&self, _is_wide: bool) -> Table {
        if self.by_phase.is_empty() {
            let mut table = Table::new(["SUBMITTED"]);
            table.row([Cell::new(self.submitted.to_string())]);
            return table;
        }
        let mut table = Table::new(["PHASE", "COUNT"]);
        for (phase, count) in &self.by_phase {
            table.row([phase_cell(*phase), Cell::number(count)]);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.ids.iter().map(Uuid::to_string).collect()
    }
}

pub(super) async fn run(
    global: &Global,
    body: &Submit,
    keys: &[String],
    waiting: &WaitArgs,
    client: &PlatformClient,
) -> Result<Exit> {
    let all = hint::command("operations list");
    match or_come_back(&all, submit_and_wait(global, body, keys, waiting, client)).await? {
        WaitResult::With(exit) | WaitResult::Left(exit) => Ok(exit),
    }
}

async fn submit_and_wait(
    global: &Global,
    body: &Submit,
    keys: &[String],
    waiting: &WaitArgs,
    client: &PlatformClient,
) -> Result<Exit> {
    let ids = submit_all(client, body, keys, waiting.timeout).await?;
    let submitted = ids.len();
    let end = if submitted == 1 { "" } else { "s" };
    note(format!("submitted {submitted} operation{end}"));
    let mut bulk = Bulk { submitted, phases: BTreeMap::new(), ids, by_phase: Vec::new() };
    if !waiting.wait {
        output::print(global.output, &bulk)?;
        if global.output != Format::Name {
            note(format!("follow them: {}", hint::command("operations list")));
        }
        return Ok(Exit::GOOD);
    }
    let ends = wait_all(client, &bulk.ids, waiting.timeout).await?;
    for phase in ends.iter().copied().filter_map(End::phase) {
        *bulk.phases.entry(phase.as_str()).or_default() += 1;
        match bulk.by_phase.iter_mut().find(|(seen, _)| *seen == phase) {
            Some((_, count)) => *count += 1,
            None => bulk.by_phase.push((phase, 1)),
        }
    }
    output::print(global.output, &bulk)?;
    Ok(judged(&ends, waiting.timeout))
}

async fn submit_all(
    client: &PlatformClient,
    body: &Submit,
    keys: &[String],
    limit: Period,
) -> Result<Vec<Uuid>> {
    let (interval, notice) = (patient(limit.get()), Notice::default());
    let (progress, count) = (ProgressPrinter::to_stderr(), Counter::new(0_usize));
    let one = async |key: &String| {
        let submit = async || client.submit(body, key).await;
        let operation = client.http.retry(interval, submit, |updates| notice.updates(&updates)).await?;
        count.set(count.get() + 1);
        progress.line(&format!("submitted {} of {}", count.get(), keys.len()));
        Ok(operation.id)
    };
    let ids: Result<Vec<Uuid>, CallError> = stream::iter(keys).map(one).buffered(AT_ONCE).try_collect().await;
    drop(progress);
    ids.map_err(|error| {
        note(format!("{} of {} were submitted before this happened", count.get(), keys.len()));
        if error.may_heal() {
            return TimedOut(format!("no answer after {limit}: {error}")).into();
        }
        error.into()
    })
}

/// How a wait for one operation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Over(Phase),
    /// It was in this phase when the time was over.
    Going(Phase),
    /// The server was away when the time was over.
    Unknown,
}

impl End {
    fn phase(self) -> Option<Phase> {
        match self {
            End::Over(phase) | End::Going(phase) => Some(phase),
            End::Unknown => None,
        }
    }
}

async fn wait_all(client: &PlatformClient, ids: &[Uuid], limit: Period) -> Result<Vec<End>> {
    let (interval, notice) = (looking(limit.get()), Notice::default());
    let (progress, count) = (ProgressPrinter::to_stderr(), Counter::new(0_usize));
    let one = async |id: &Uuid| {
        let look = async || look(client, *id, Goal::Success).await;
        let waited = client.http.wait_until(interval, look, |updates| notice.updates(&updates)).await;
        count.set(count.get() + 1);
        progress.line(&format!("finished {} of {}", count.get(), ids.len()));
        match waited? {
            Waited::Over(operation) => Ok(End::Over(operation.phase)),
            Waited::Going(operation, _) => Ok(End::Going(operation.phase)),
            Waited::Unknown(_) => Ok(End::Unknown),
        }
    };
    let ends: Result<Vec<End>, CallError> =
        stream::iter(ids).map(one).buffer_unordered(AT_ONCE).try_collect().await;
    Ok(ends?)
}

fn judged(ends: &[End], limit: Period) -> Exit {
    if ends.iter().any(|end| matches!(end, End::Over(phase) if *phase != Phase::Succeeded)) {
        let list = hint::command("operations list --phase failed,undone,stuck");
        note(format!("not all of them succeeded: {list}"));
        return Exit::OPERATION_FAILED;
    }
    let count = |wanted: fn(&End) -> bool| ends.iter().filter(|end| wanted(end)).count();
    let (going, unknown) =
        (count(|end| matches!(end, End::Going(_))), count(|end| matches!(end, End::Unknown)));
    if going > 0 {
        note(format!("{going} are not finished after {limit}; they go on"));
    }
    if unknown > 0 {
        note(format!("the server did not answer about {unknown} of them within {limit}; they go on with it"));
    }
    if going + unknown > 0 { Exit::TIMED_OUT } else { Exit::GOOD }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_outweighs_a_wait_that_was_too_short() {
        let limit = Period::seconds(1);
        let (good, bad) = (End::Over(Phase::Succeeded), End::Over(Phase::Undone));
        let going = End::Going(Phase::Running);
        assert_eq!(judged(&[good, good], limit), Exit::GOOD);
        assert_eq!(judged(&[good, going], limit), Exit::TIMED_OUT);
        assert_eq!(judged(&[bad, going], limit), Exit::OPERATION_FAILED);
        assert_eq!(judged(&[good, End::Unknown], limit), Exit::TIMED_OUT, "the server died");
    }
}
