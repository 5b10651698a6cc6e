//! What all pages of the wizard share: the draft, what is wrong with it, and the way back and forth.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use super::draft::Draft;
use super::field::{Field, Said, sentence};
use super::image::ImagePage;
use super::key::KeyPage;
use super::place::PlacePage;
use super::review::ReviewPage;
use super::step::Step;
use console::{Fields, Flaw, Shell, Visitor, path};

pub(crate) struct Wizard {
    pub(crate) step: Step,
    pub(crate) draft: Draft,
    pub(crate) flaws: Vec<Flaw>,
    /// What is wrong with no field in particular.
    pub(crate) note: Option<String>,
    /// What was typed beside the draft.
    pub(crate) typed: Fields,
}

/// A page in the line of all pages.
pub(crate) struct Stop {
    pub(crate) slug: &'static str,
    pub(crate) title: &'static str,
    pub(crate) is_here: bool,
    pub(crate) is_flawed: bool,
}

/// Where a page of a draft is.
pub(crate) fn place(step: Step, draft: &Draft) -> String {
    format!("/console/launch/{}{}", step.slug(), path::query([("draft", draft.id())]))
}

impl Wizard {
    pub(crate) fn at(step: Step, draft: Draft) -> Wizard {
        Wizard { step, draft, flaws: Vec::new(), note: None, typed: Fields::default() }
    }

    /// On the first page that has something wrong.
    pub(crate) fn corrected(draft: Draft, flaws: Vec<Flaw>, note: Option<String>) -> Wizard {
        let step = flaws.iter().map(|flaw| Step::of(&flaw.field)).min().unwrap_or(Step::Review);
        Wizard { flaws, note, ..Wizard::at(step, draft) }
    }

    pub(crate) fn said(&self, name: &str) -> Said {
        Said::from(self.flaws.iter().find(|flaw| flaw.field == name).cloned())
    }

    pub(crate) fn field(&self, name: &'static str, label: &'static str) -> Field {
        Field::new(name, label, self.draft.get(name), self.said(name))
    }

    pub(crate) fn stops(&self) -> Vec<Stop> {
        let is_flawed = |step| self.flaws.iter().any(|flaw| Step::of(&flaw.field) == step);
        let stop = |step: Step| Stop {
            slug: step.slug(),
            title: step.title(),
            is_here: step == self.step,
            is_flawed: is_flawed(step),
        };
        Step::ALL.map(stop).into()
    }

    pub(crate) fn number(&self) -> usize {
        Step::ALL.iter().position(|step| *step == self.step).unwrap_or(0) + 1
    }

    /// Where the button that goes on leads.
    pub(crate) fn onward(&self) -> &'static str {
        self.step.next().map_or("now", Step::slug)
    }

    /// What is wrong on other pages.
    pub(crate) fn elsewhere(&self) -> Vec<String> {
        let others = self.flaws.iter().filter(|flaw| Step::of(&flaw.field) != self.step);
        others.map(|flaw| format!("{}: {}", Step::of(&flaw.field).title(), sentence(&flaw.text))).collect()
    }

    /// The whole page. What was typed is on it, whatever was wrong.
    pub(crate) async fn draw(self, visitor: &Visitor) -> Response {
        let status = if self.note.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
        let title = format!("{}: build and launch", self.step.title());
        let shell = Shell::new(visitor, &super::SECTION, &title);
        let (csrf, api) = (visitor.csrf.clone(), &visitor.api);
        let drawn = match self.step {
            Step::Image => ImagePage::draw(csrf, self, api).await.map(|page| shown(shell, status, &page)),
            Step::Where => PlacePage::draw(csrf, self, api).await.map(|page| shown(shell, status, &page)),
            Step::Key => KeyPage::draw(csrf, self, api).await.map(|page| shown(shell, status, &page)),
            Step::Review => ReviewPage::draw(self, visitor).await.map(|page| shown(shell, status, &page)),
        };
        drawn.unwrap_or_else(|trouble| trouble.page(visitor))
    }
}

fn shown(shell: Shell, status: StatusCode, page: &impl Template) -> Response {
    if status == StatusCode::OK { shell.page(page) } else { shell.page_with(status, page) }
}
