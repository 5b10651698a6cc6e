//! Which operations are wanted, and in which order.
//!
//! The database filters by what it has an index for. A text, an order and the workflows that are left out are matters of
//! this module, which looks at a bounded number of operations for each page, so that no request costs more as history grows.

use engine::store::{self, Summary};
use engine::{Capability, Engine, OperationId, Phase, WorkflowInfo};
use uuid::Uuid;

use super::id_part::IdPart;
use super::order::{Order, Sorted};
use crate::http::Failure;
use crate::paging::{cursor_after, parse_cursor};
use crate::principal::Principal;
use crate::query::{Query, not_allowed};
use crate::wire::{self, ToWire};

const LIMIT_DEFAULT: u16 = 50;
const LIMIT_MAX: u16 = 200;
/// Operations that one page looks at.
const LOOKED_AT_MAX: usize = 5000;
/// Operations that are read at a time.
const CHUNK: usize = 500;
/// Fewer digits of an id are a text like any other.
const ID_DIGITS_MIN: usize = 8;

/// The filters that lists and totals share.
pub(super) struct Filters {
    pub(super) query: store::OperationQuery,
    /// Workflows that are left out.
    hidden: Vec<String>,
    /// Who looks, where it may not see the operations of all workflows.
    limited: Option<Principal>,
}

pub(super) struct ListRequest {
    filters: Filters,
    /// All of these, in lower case.
    words: Vec<String>,
    order: Order,
    cursor: Option<String>,
    /// A part of the id, where that is all that is known.
    id: Option<IdPart>,
    limit: usize,
}

impl Filters {
    pub(super) fn read(engine: &Engine, principal: Principal, query: &mut Query) -> Result<Filters, Failure> {
        let workflow = query.text("workflow")?;
        let phases = phases(&query.all("phase"))?;
        let tenant = query.text("tenant")?;
        let resource = query.text("resource")?;
        let from = query.moment("created_after")?.map(OperationId::first_at);
        let before = query.moment("created_before")?.map(OperationId::first_at);
        let hides = match query.text("housekeeping")?.as_deref() {
            None | Some("show") => false,
            Some("hide") => true,
            Some(other) => return Err(not_allowed("housekeeping", other, "one of show, hide")),
        };
        // Who asks for such a workflow by name wants to see it.
        let hidden = if hides && workflow.is_none() { housekeeping(engine) } else { Vec::new() };
        let query = store::OperationQuery {
            workflow,
            phases,
            tenant,
            resource,
            resources: Vec::new(),
            before,
            from,
            id_end: None,
            limit: 0,
        };
        let limited = Some(principal).filter(|principal| !principal.can(Capability::Read));
        Ok(Filters { query, hidden, limited })
    }

    pub(super) fn shows(&self, workflow: &str) -> bool {
        let is_seen = |principal: &Principal| principal.can_with(Capability::Read, workflow);
        self.limited.as_ref().is_none_or(is_seen) && !self.hidden.iter().any(|hidden| hidden == workflow)
    }

    /// Whether all that the database finds is shown.
    fn is_exact(&self) -> bool {
        self.hidden.is_empty() && self.limited.is_none()
    }
}

fn housekeeping(engine: &Engine) -> Vec<String> {
    let all = engine.workflows().into_iter().filter(|info| info.housekeeping);
    all.map(|info| info.workflow).collect()
}

impl ListRequest {
    pub(super) fn read(
        engine: &Engine,
        principal: Principal,
        mut query: Query,
    ) -> Result<ListRequest, Failure> {
        let filters = Filters::read(engine, principal, &mut query)?;
        let text = query.text("q")?.unwrap_or_default().to_lowercase();
        let order = Order::read(query.text("sort")?.as_deref())?;
        let limit = query.number("limit", 1..=LIMIT_MAX)?.unwrap_or(LIMIT_DEFAULT);
        let cursor = query.text("cursor")?;
        let part = |text: String| {
            IdPart::parse(&text)
                .ok_or_else(|| not_allowed("id", &text, "4 to 32 hexadecimal digits of an id"))
        };
        let id = query.text("id")?.map(part).transpose()?;
        query.finish()?;
        let words = text.split_whitespace().map(str::to_owned).collect();
        Ok(ListRequest { filters, words, order, cursor, id, limit: usize::from(limit) })
    }

    pub(super) async fn page(mut self, engine: &Engine) -> Result<wire::OperationPage, Failure> {
        if let Some(part) = &self.id {
            let found = self.seen(part.find(engine, &self.limited()).await?);
            return Ok(answer(engine, found, None, None));
        }
        if self.cursor.is_none()
            && let Some(found) = self.by_id(engine).await?
        {
            return Ok(found);
        }
        if self.order != Order::NEWEST_FIRST {
            return self.sorted(engine).await;
        }
        if let Some(cursor) = &self.cursor {
            let cursor = parse_cursor(cursor)?;
            let before = self.filters.query.before;
            self.filters.query.before = Some(before.map_or(cursor, |before| before.min(cursor)));
        }
        let looked = self.look(engine, self.limit).await?;
        let next = looked.next.map(cursor_after);
        Ok(answer(engine, looked.found, next, looked.is_cut.then_some(looked.at)))
    }

    /// Who types the beginning of an id wants that operation and not those whose texts have such letters.
    async fn by_id(&self, engine: &Engine) -> Result<Option<wire::OperationPage>, Failure> {
        let [word] = self.words.as_slice() else { return Ok(None) };
        let digits = word.chars().filter(char::is_ascii_hexdigit).count();
        let Some(part) = IdPart::parse(word).filter(|_| digits >= ID_DIGITS_MIN) else { return Ok(None) };
        let found = self.seen(part.beginnings(engine, &self.limited()).await?);
        Ok((!found.is_empty()).then(|| answer(engine, found, None, None)))
    }

    /// Those that the caller may see, also where an id names them.
    fn seen(&self, mut found: Vec<Summary>) -> Vec<Summary> {
        if self.filters.limited.is_some() {
            found.retain(|summary| self.filters.shows(&summary.workflow));
        }
        found
    }

    fn limited(&self) -> store::OperationQuery {
        store::OperationQuery { limit: self.limit, ..self.filters.query.clone() }
    }

    /// The newest that fit. Reads until the page is full, and no further than it may.
    async fn look(&self, engine: &Engine, limit: usize) -> Result<ListScan, Failure> {
        let is_exact = self.words.is_empty() && self.filters.is_exact();
        let mut query = self.filters.query.clone();
        let mut looked = ListScan::default();
        loop {
            // One more than asked for tells whether there is a next page.
            query.limit = if is_exact { limit + 1 } else { CHUNK.min(LOOKED_AT_MAX - looked.at) };
            let chunk = engine.list(&query).await?;
            let is_last = chunk.len() < query.limit;
            for summary in chunk {
                query.before = Some(summary.id);
                looked.at += 1;
                if !self.fits(&summary) {
                    continue;
                }
                if looked.found.len() == limit {
                    looked.next = looked.found.last().map(|last| last.id);
                    return Ok(looked);
                }
                looked.found.push(summary);
            }
            if is_last {
                return Ok(looked);
            }
            if looked.at >= LOOKED_AT_MAX {
                return Ok(ListScan { next: query.before, is_cut: true, ..looked });
            }
        }
    }

    fn fits(&self, summary: &Summary) -> bool {
        if !self.filters.shows(&summary.workflow) {
            return false;
        }
        let id = if self.words.is_empty() { String::new() } else { summary.id.to_string() };
        let texts = [Some(&id), Some(&summary.workflow), Some(&summary.tenant), summary.resource.as_ref()];
        let told = [summary.reason.as_ref(), summary.step.as_ref(), summary.name.as_ref()];
        let texts: Vec<String> =
            texts.into_iter().chain(told).flatten().map(|text| text.to_lowercase()).collect();
        self.words.iter().all(|word| texts.iter().any(|text| text.contains(word)))
    }

    async fn sorted(mut self, engine: &Engine) -> Result<wire::OperationPage, Failure> {
        let at = self.cursor.as_deref().map(parse_cursor::<Sorted>).transpose()?;
        if let Some(at) = at {
            self.filters.query.before = Some(at.below);
        }
        let looked = self.look(engine, LOOKED_AT_MAX).await?;
        let newest = looked.found.first().map(|newest| newest.id);
        let mut found = looked.found;
        self.order.sort(&mut found, engine.now());
        let skip = at.map_or(0, |at| at.skip);
        let rest = found.split_off(usize::try_from(skip).unwrap_or(usize::MAX).min(found.len()));
        let below = at.map(|at| at.below).or_else(|| newest.map(after));
        let shown = u32::try_from(self.limit).unwrap_or(u32::MAX);
        let next = below
            .filter(|_| rest.len() > self.limit)
            .map(|below| cursor_after(Sorted { below, skip: skip.saturating_add(shown) }));
        let page = rest.into_iter().take(self.limit).collect();
        Ok(answer(engine, page, next, looked.is_cut.then_some(looked.at)))
    }
}

fn answer(
    engine: &Engine,
    found: Vec<Summary>,
    next: Option<String>,
    looked_at: Option<usize>,
) -> wire::OperationPage {
    let plans = engine.workflows();
    let item = |summary: Summary| {
        let plan = plans.iter().find(|plan| plan.workflow == summary.workflow);
        let progress = plan.and_then(|plan| progress(&summary, plan));
        wire::Operation { progress, ..summary.to_wire() }
    };
    let items = found.into_iter().map(item).collect();
    wire::OperationPage { items, next, looked_at: looked_at.map(|count| count as u64) }
}

#[derive(Default)]
struct ListScan {
    found: Vec<Summary>,
    /// How many were looked at.
    at: usize,
    /// Where the next page begins.
    next: Option<OperationId>,
    /// There are more that could not be looked at.
    is_cut: bool,
}

/// How many steps are behind it, as far as the line of a list tells.
fn progress(summary: &Summary, plan: &WorkflowInfo) -> Option<wire::Progress> {
    let steps = u32::try_from(plan.steps.len()).unwrap_or(u32::MAX);
    let position = |name: &str| plan.steps.iter().position(|step| step.name == name);
    let done = match (summary.phase, &summary.step) {
        (Phase::Succeeded, _) => steps,
        (Phase::Pending, None) => 0,
        (_, Some(step)) => u32::try_from(position(step)?).unwrap_or(u32::MAX),
        _ => return None,
    };
    Some(wire::Progress { done, steps })
}

fn after(id: OperationId) -> OperationId {
    OperationId(Uuid::from_u128(id.0.as_u128().saturating_add(1)))
}

fn phases(values: &[String]) -> Result<Vec<Phase>, Failure> {
    let names = values.iter().flat_map(|value| value.split(','));
    let known = Phase::ALL.map(Phase::as_str).join(", ");
    let parse =
        |name: &str| name.trim().parse().map_err(|_| not_allowed("phase", name, &format!("one of {known}")));
    let mut phases = names.map(parse).collect::<Result<Vec<Phase>, Failure>>()?;
    phases.sort_unstable();
    phases.dedup();
    Ok(phases)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_come_in_lists_or_one_by_one_and_a_wrong_one_is_refused_with_the_right_ones() {
        let values = ["stuck,running".to_owned(), "running".to_owned()];
        assert_eq!(phases(&values).unwrap(), [Phase::Running, Phase::Stuck]);
        let problem = phases(&["done".to_owned()]).unwrap_err().into_error(crate::error::fault);
        assert!(problem.detail.contains("succeeded"), "{}", problem.detail);
        assert!(phases(&["running,".to_owned()]).is_err());
    }
}
