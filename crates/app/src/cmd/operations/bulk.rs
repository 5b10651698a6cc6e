//! Many operations at once, of which none is lost and none is doubled, whatever happens to the server.

use std::cell::Cell as Counter;
use std::collections::BTreeMap;

use anyhow::Result;
use api::client::{CallError, Waited};
use api::types::{Phase, Submit};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::Serialize;
use uuid::Uuid;

use super::rows::phase_cell;
use super::wait::{Goal, Notice, WaitArgs, looking, patient, wait};
use crate::cli::Global;
use crate::client::PlatformClient;
use crate::config::Period;
use crate::exit::Exit;
use crate::output::{self, Answer, Cell, Format, ProgressPrinter, Table, note};

/// How many calls are under way at the same time.
const AT_ONCE: usize = 32;

#[derive(Debug, Serialize)]
struct Bulk {
    submitted: usize,
    /// How many operations stand in which phase; empty when nobody waited for them.
    phases: BTreeMap<&'static str, usize>,
    ids: Vec<Uuid>,
    #[serde(skip)]
    by_phase: Vec<(Phase, usize)>,
}

impl Answer for Bulk {
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
    keys: Vec<String>,
    waiting: &WaitArgs,
    client: &PlatformClient,
) -> Result<Exit> {
    let ids = submit_all(client, body, &keys, waiting.timeout).await?;
    let submitted = ids.len();
    let end = if submitted == 1 { "" } else { "s" };
    note(format!("submitted {submitted} operation{end}"));
    let mut bulk = Bulk { submitted, phases: BTreeMap::new(), ids, by_phase: Vec::new() };
    if !waiting.wait {
        output::print(global.output, &bulk)?;
        if global.output != Format::Name {
            note("follow them: provision-engine operations list");
        }
        return Ok(Exit::GOOD);
    }
    let ends = wait_all(client, &bulk.ids, waiting.timeout).await?;
    for (phase, _) in &ends {
        *bulk.phases.entry(phase.as_str()).or_default() += 1;
        match bulk.by_phase.iter_mut().find(|(seen, _)| seen == phase) {
            Some((_, count)) => *count += 1,
            None => bulk.by_phase.push((*phase, 1)),
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
) -> Result<Vec<Uuid>, CallError> {
    let (pace, notice) = (patient(limit.get()), Notice::default());
    let (progress, count) = (ProgressPrinter::to_stderr(), Counter::new(0_usize));
    let one = async |key: &String| {
        let submit = async || client.submit(body, key).await;
        let operation = client.http.retry(pace, submit, |news| notice.news(&news)).await?;
        count.set(count.get() + 1);
        progress.line(&format!("submitted {} of {}", count.get(), keys.len()));
        Ok(operation.id)
    };
    let ids = stream::iter(keys).map(one).buffered(AT_ONCE).try_collect().await;
    drop(progress);
    if ids.is_err() {
        note(format!("{} of {} were submitted before this happened", count.get(), keys.len()));
    }
    ids
}

/// Where each operation stood at the end, and whether that is its end.
async fn wait_all(
    client: &PlatformClient,
    ids: &[Uuid],
    limit: Period,
) -> Result<Vec<(Phase, bool)>, CallError> {
    let (pace, notice) = (looking(limit.get()), Notice::default());
    let (progress, count) = (ProgressPrinter::to_stderr(), Counter::new(0_usize));
    let one = async |id: &Uuid| {
        let waited = wait(client, *id, Goal::Success, pace, &notice).await;
        count.set(count.get() + 1);
        progress.line(&format!("finished {} of {}", count.get(), ids.len()));
        match waited? {
            Waited::Over(operation) => Ok((operation.phase, true)),
            Waited::Going(operation, _) => Ok((operation.phase, false)),
            Waited::Unknown(error) => Err(error),
        }
    };
    stream::iter(ids).map(one).buffer_unordered(AT_ONCE).try_collect().await
}

fn judged(ends: &[(Phase, bool)], limit: Period) -> Exit {
    if ends.iter().any(|(phase, is_end)| *is_end && *phase != Phase::Succeeded) {
        note("not all of them succeeded: provision-engine operations list --phase failed,undone,stuck");
        return Exit::OPERATION_FAILED;
    }
    let going = ends.iter().filter(|(_, is_end)| !is_end).count();
    if going > 0 {
        note(format!("{going} are not finished after {limit}; they go on"));
        return Exit::TIMED_OUT;
    }
    Exit::GOOD
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_outweighs_a_wait_that_was_too_short() {
        let limit = Period::seconds(1);
        let (good, bad, going) = ((Phase::Succeeded, true), (Phase::Undone, true), (Phase::Running, false));
        assert_eq!(judged(&[good, good], limit), Exit::GOOD);
        assert_eq!(judged(&[good, going], limit), Exit::TIMED_OUT);
        assert_eq!(judged(&[bad, going], limit), Exit::OPERATION_FAILED);
    }
}
