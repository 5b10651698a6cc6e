//! What all pages of the wizard share: the draft, what is wrong with it, and the way back and forth.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use cloud::ProviderSpec;
use cloud::spec::{FieldSpec, ParameterSpec};

use super::draft::Draft;
use super::field::{FieldNote, FormField, sentence};
use super::image::ImagePage;
use super::key::KeyPage;
use super::region::RegionPage;
use super::review::ReviewPage;
use super::step::WizardStep;
use console::{Fields, FormError, Shell, SignedIn, path};

pub(crate) struct Wizard {
    pub(crate) step: WizardStep,
    pub(crate) draft: Draft,
    pub(crate) field_errors: Vec<FormError>,
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
    pub(crate) has_field_errors: bool,
}

/// Where a page of a draft is.
pub(crate) fn step_path(step: WizardStep, draft: &Draft) -> String {
    format!("/console/launch/{}{}", step.slug(), path::query([("draft", draft.id())]))
}

impl Wizard {
    pub(crate) fn at(step: WizardStep, draft: Draft) -> Wizard {
        Wizard { step, draft, field_errors: Vec::new(), note: None, typed: Fields::default() }
    }

    /// On the first page that has something wrong.
    pub(crate) fn corrected(draft: Draft, field_errors: Vec<FormError>, note: Option<String>) -> Wizard {
        let step = field_errors
            .iter()
            .map(|field_error| WizardStep::of(&field_error.field))
            .min()
            .unwrap_or(WizardStep::Review);
        Wizard { field_errors, note, ..Wizard::at(step, draft) }
    }

    /// The words and rules of the cloud.
    pub(crate) fn spec(&self) -> &'static ProviderSpec {
        self.draft.spec()
    }

    /// A field that the cloud has its own words for.
    pub(crate) fn field_of(&self, name: &'static str, field: &'static FieldSpec) -> FormField {
        self.field(name, field.label).hint(field.hint)
    }

    /// What the cloud has beside what all clouds have.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = FormField> {
        self.spec().parameters.iter().map(|one| self.field(one.name, one.label).hint(one.hint))
    }

    /// Whether something was said, or is wrong, in the part of the page that is closed else.
    pub(crate) fn has_network(&self) -> bool {
        let counts =
            |one: &ParameterSpec| !self.draft.values(one).is_empty() || self.said(one.name).bad.is_some();
        self.draft.given("user_data").is_some() || self.spec().parameters.iter().any(counts)
    }

    pub(crate) fn said(&self, name: &str) -> FieldNote {
        FieldNote::from(self.field_errors.iter().find(|field_error| field_error.field == name).cloned())
    }

    pub(crate) fn field(&self, name: &'static str, label: &'static str) -> FormField {
        FormField::new(name, label, self.draft.get(name), self.said(name))
    }

    pub(crate) fn stops(&self) -> Vec<Stop> {
        let has_field_errors =
            |step| self.field_errors.iter().any(|field_error| WizardStep::of(&field_error.field) == step);
        let stop = |step: WizardStep| Stop {
            slug: step.slug(),
            title: step.title(),
            is_here: step == self.step,
            has_field_errors: has_field_errors(step),
        };
        WizardStep::ALL.map(stop).into()
    }

    pub(crate) fn number(&self) -> usize {
        WizardStep::ALL.iter().position(|step| *step == self.step).unwrap_or(0) + 1
    }

    /// Where the button that goes on leads.
    pub(crate) fn onward(&self) -> &'static str {
        self.step.next().map_or("now", WizardStep::slug)
    }

    /// What is wrong on other pages.
    pub(crate) fn elsewhere(&self) -> Vec<String> {
        let others =
            self.field_errors.iter().filter(|field_error| WizardStep::of(&field_error.field) != self.step);
        others
            .map(|field_error| {
                format!("{}: {}", WizardStep::of(&field_error.field).title(), sentence(&field_error.text))
            })
            .collect()
    }

    /// The whole page. What was typed is on it, whatever was wrong.
    pub(crate) async fn draw(self, signed_in: &SignedIn) -> Response {
        let status = if self.note.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
        let title = format!("{}: build and launch", self.step.title());
        let shell = Shell::new(signed_in, &super::SECTION, &title);
        let (csrf, api) = (signed_in.csrf.clone(), &signed_in.api);
        let drawn = match self.step {
            WizardStep::Image => {
                ImagePage::draw(csrf, self, api).await.map(|page| shown(shell, status, &page))
            }
            WizardStep::Where => {
                RegionPage::draw(csrf, self, api).await.map(|page| shown(shell, status, &page))
            }
            WizardStep::Key => KeyPage::draw(csrf, self, api).await.map(|page| shown(shell, status, &page)),
            WizardStep::Review => {
                ReviewPage::draw(self, signed_in).await.map(|page| shown(shell, status, &page))
            }
        };
        drawn.unwrap_or_else(|page_error| page_error.page(signed_in))
    }
}

fn shown(shell: Shell, status: StatusCode, page: &impl Template) -> Response {
    if status == StatusCode::OK { shell.page(page) } else { shell.page_with(status, page) }
}
