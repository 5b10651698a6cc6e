//! `GET /console/operations`

use api::types::{Operation, OperationPage};
use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::filters::{AT, Filters, PHASES, Quick};
use crate::api::Api;
use crate::desk::Desk;
use crate::list::Filtered;
use crate::parts::{Chip, Icon, Pager, Prose, When};
use crate::shell::Shell;
use crate::trouble::{Flaw, Trouble};
use crate::visitor::Visitor;

#[derive(Template)]
#[template(path = "operations/list.html")]
struct List {
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
    desk: Desk,
    operations: Vec<Operation>,
}

pub(super) async fn list(
    State(desk): State<Desk>,
    visitor: Visitor,
    Query(filters): Query<Filters>,
) -> Response {
    let (found, refused) = match find(&visitor.api, &filters).await {
        Ok(found) => (found, None),
        Err(trouble) if trouble.status == StatusCode::BAD_REQUEST => {
            (OperationPage { items: Vec::new(), next: None }, Some(trouble))
        }
        Err(trouble) => return trouble.page(&visitor),
    };
    let flaw = refused.as_ref().and_then(|trouble| trouble.flaws.first());
    let list = List {
        quick: filters.quick(),
        workflows: desk.inside.engine().workflows().into_iter().map(|one| one.workflow).collect(),
        pager: filters.pager(found.next.as_deref()),
        rows: Rows { desk: Desk::clone(&desk), operations: found.items },
        wrong: flaw.map(|flaw| flaw.field.clone()).unwrap_or_default(),
        error: refused.as_ref().map(Trouble::line),
        filters,
    };
    let shell = Shell::new(&visitor, &crate::operations::SECTION, "Operations");
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
        ]
    }

    fn cursor(&self) -> (&'static str, &str) {
        ("cursor", &self.cursor)
    }

    async fn rows(&self, visitor: &Visitor) -> Result<Rows, Trouble> {
        let operations = find(&visitor.api, self).await?.items;
        Ok(Rows { desk: Desk::clone(&visitor.desk), operations })
    }
}

async fn find(api: &Api, filters: &Filters) -> Result<OperationPage, Trouble> {
    let query = filters.asked().map_err(|wrong| {
        let detail = "This is not a day and a time.";
        let trouble = Trouble::new(StatusCode::BAD_REQUEST, "Unreadable", detail)
            .hint("Write it like 2026-01-31T12:00, in UTC.");
        let flaw = Flaw { field: wrong.to_owned(), text: String::new(), hint: None };
        Trouble { flaws: vec![flaw], ..trouble }
    })?;
    api.get(&format!("/operations{query}")).await
}
