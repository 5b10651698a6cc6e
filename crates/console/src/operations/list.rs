//! `GET /console/operations`

use api::types::{Operation, OperationPage, OperationTotals};
use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use engine::Capability;

use super::filters::{AT, Column, Filters, PHASES, Quick};
use crate::api::ApiClient;
use crate::csrf::CsrfToken;
use crate::list::Filtered;
use crate::page_error::{FormError, PageError};
use crate::parts::{Chip, Icon, Pager, Prose, ShortId, Since, When, span};
use crate::shared::ConsoleState;
use crate::shell::Shell;
use crate::signed_in::SignedIn;

#[derive(Template)]
#[template(path = "operations/list.html")]
struct OperationListPage {
    quick: Vec<Quick>,
    workflows: Vec<String>,
    rows: Rows,
    pager: Pager,
    filters: Filters,
    error: Option<String>,
    /// The field that cannot be read.
    wrong: String,
}

#[derive(Template)]
#[template(path = "operations/rows.html")]
pub(super) struct Rows {
    shared: ConsoleState,
    csrf: CsrfToken,
    operations: Vec<Operation>,
    columns: Vec<Column>,
    /// What it all adds up to, on the first page.
    summary: Option<String>,
    /// Not everything was looked at.
    note: Option<String>,
    is_filtered: bool,
    may_operate: bool,
    /// Where this page is, to come back to.
    here: String,
}

pub(super) async fn list(
    State(shared): State<ConsoleState>,
    signed_in: SignedIn,
    Query(filters): Query<Filters>,
) -> Response {
    let (found, refused) = match find(&signed_in.api, &filters).await {
        Ok(found) => (found, None),
        Err(page_error) if page_error.status == StatusCode::BAD_REQUEST => {
            (OperationPage::default(), Some(page_error))
        }
        Err(page_error) => return page_error.page(&signed_in),
    };
    let field_error = refused.as_ref().and_then(|page_error| page_error.field_errors.first());
    let pager = filters.pager(found.next.as_deref());
    let all = shared.inside.engine().workflows().into_iter().map(|one| one.workflow);
    let workflows = all.filter(|name| signed_in.sees(name)).collect();
    let list = OperationListPage {
        quick: filters.quick(),
        workflows,
        pager,
        rows: Rows::new(&signed_in, &filters, found).await,
        wrong: field_error.map(|field_error| field_error.field.clone()).unwrap_or_default(),
        error: refused.as_ref().map(PageError::line),
        filters,
    };
    let shell = Shell::new(&signed_in, &crate::operations::SECTION, "Operations").without_search();
    if refused.is_some() { shell.page_with(StatusCode::BAD_REQUEST, &list) } else { shell.page(&list) }
}

impl Filtered for Filters {
    const AT: &'static str = AT;
    type Rows = Rows;

    fn kept(&self) -> Vec<(&'static str, &str)> {
        vec![
            ("phase", &self.phase),
            ("workflow", &self.workflow),
            ("tenant", &self.tenant),
            ("resource", &self.resource),
            ("after", &self.after),
            ("before", &self.before),
            ("q", &self.q),
            ("sort", &self.sort),
            ("housekeeping", &self.housekeeping),
        ]
    }

    fn cursor(&self) -> (&'static str, &str) {
        ("cursor", &self.cursor)
    }

    fn trail(&self) -> Option<&str> {
        Some(&self.trail)
    }

    async fn rows(&self, signed_in: &SignedIn) -> Result<Rows, PageError> {
        let found = find(&signed_in.api, self).await?;
        Ok(Rows::new(signed_in, self, found).await)
    }
}

impl Rows {
    async fn new(signed_in: &SignedIn, filters: &Filters, found: OperationPage) -> Rows {
        let summary = match (filters.cursor.as_str(), filters.q.as_str()) {
            ("", "") => totals(&signed_in.api, filters).await.map(|totals| told(&totals)),
            ("", _) if found.next.is_none() => Some(format!("{} found", found.items.len())),
            _ => None,
        };
        Rows {
            shared: ConsoleState::clone(&signed_in.shared),
            csrf: signed_in.csrf.clone(),
            columns: filters.columns(),
            summary,
            note: found.looked_at.map(|count| cut(filters, count)),
            is_filtered: !filters.is_none(),
            may_operate: signed_in.can_with_some(Capability::Operate),
            here: format!("{AT}{}", filters.with(&[filters.cursor(), ("trail", &filters.trail)])),
            operations: found.items,
        }
    }
}

fn cut(filters: &Filters, count: u64) -> String {
    if filters.sort.is_empty() {
        format!("Searched {count} operations. Older ones are on the next page.")
    } else {
        format!("Sorted among the newest {count} operations that fit. Filter by time to reach older ones.")
    }
}

/// All, and each phase in which there are some.
fn told(totals: &OperationTotals) -> String {
    let all: u64 = totals.phases.values().sum();
    let more = if totals.is_complete { "" } else { "+" };
    let noun = if all == 1 { "operation" } else { "operations" };
    let parts = totals.phases.iter().filter(|(_, count)| **count > 0);
    let parts: Vec<String> = parts.map(|(phase, count)| format!("{count} {phase}")).collect();
    match parts.as_slice() {
        [] => String::new(),
        [_] => format!("{all}{more} {noun}"),
        parts => format!("{all}{more} {noun}: {}", parts.join(", ")),
    }
}

async fn totals(api: &ApiClient, filters: &Filters) -> Option<OperationTotals> {
    api.get(&format!("/operations/totals{}", filters.counted().ok()?)).await.ok()
}

async fn find(api: &ApiClient, filters: &Filters) -> Result<OperationPage, PageError> {
    let query = filters.asked().map_err(|wrong| {
        let detail = "This is not a day and a time.";
        let page_error = PageError::new(StatusCode::BAD_REQUEST, "Unreadable", detail)
            .hint("Write it like 2026-01-31T12:00, in UTC.");
        let field_error = FormError { field: wrong.to_owned(), text: String::new(), hint: None };
        PageError { field_errors: vec![field_error], ..page_error }
    })?;
    api.get(&format!("/operations{query}")).await
}

/// How long it has taken so far, or took.
fn duration(operation: &Operation) -> Result<String, Since> {
    let Some(end) = operation.finished_at else { return Err(Since(operation.created_at)) };
    Ok(span((end.0 - operation.created_at.0).try_into().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use api::types::Phase;

    use super::*;

    #[test]
    fn totals_are_told_as_one_line() {
        let totals = |phases: &[(Phase, u64)], is_complete| {
            told(&OperationTotals { phases: phases.iter().copied().collect::<BTreeMap<_, _>>(), is_complete })
        };
        assert_eq!(totals(&[], true), "");
        assert_eq!(totals(&[(Phase::Stuck, 1)], true), "1 operation");
        let two = [(Phase::Succeeded, 9_998), (Phase::Running, 2)];
        assert_eq!(totals(&two, false), "10000+ operations: 2 running, 9998 succeeded");
    }
}
