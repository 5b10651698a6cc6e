//! `POST /console/operations/bulk`: asks several operations for the same.

use api::types::Control;
use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use engine::Capability;
use uuid::Uuid;

use crate::csrf::CsrfToken;
use crate::fields::Fields;
use crate::flash::Flash;
use crate::page_error::PageError;
use crate::path;
use crate::shell::Shell;
use crate::signed_in::SignedIn;

/// As many as a page of a list can have.
const OPERATIONS_MAX: usize = 200;

/// The page that asks whether it is meant.
#[derive(Template)]
#[template(path = "operations/bulk.html")]
struct Bulk {
    csrf: CsrfToken,
    ids: Vec<Uuid>,
    verb: String,
    label: &'static str,
    is_harm: bool,
    back: String,
}

pub(super) async fn bulk(signed_in: SignedIn, fields: Fields) -> Response {
    if !signed_in.can_with_some(Capability::Operate) {
        return PageError::needs(Capability::Operate).page(&signed_in);
    }
    let back = path::back(fields.text("back")).to_owned();
    let verb = fields.text("verb").to_owned();
    let Some(label) = label(&verb) else {
        return PageError::missing("such thing to request").page(&signed_in);
    };
    let ids: Vec<Uuid> =
        fields.all("id").filter_map(|id| Uuid::try_parse(id).ok()).take(OPERATIONS_MAX).collect();
    if ids.is_empty() {
        return Flash::bad("Select one or more operations first.").at(&back);
    }
    if fields.text("confirmed") != "yes" {
        let is_harm = verb == "cancel";
        let page = Bulk { csrf: signed_in.csrf.clone(), ids, verb, label, is_harm, back };
        return Shell::new(&signed_in, &crate::operations::SECTION, &page.title()).page(&page);
    }
    let reason = Some(fields.text("reason").to_owned()).filter(|reason| !reason.is_empty());
    let mut refused: Vec<PageError> = Vec::new();
    for id in &ids {
        let control = Control { reason: reason.clone() };
        match signed_in.api.post(&format!("/operations/{id}/{verb}"), &control).await {
            Ok(_) => {}
            Err(page_error) if page_error.status == StatusCode::FORBIDDEN => {
                return page_error.page(&signed_in);
            }
            Err(page_error) => refused.push(page_error),
        }
    }
    told(label, ids.len(), &refused).at(&back)
}

impl Bulk {
    fn title(&self) -> String {
        format!("{} {}?", self.label, count(self.ids.len()))
    }
}

fn told(label: &str, all: usize, refused: &[PageError]) -> Flash {
    let accepted = all - refused.len();
    match refused.first() {
        None => Flash::good(format!("{label} requested for {}.", count(accepted))),
        Some(first) => Flash::bad(format!(
            "{label} requested for {}, and refused for {}. The first of those: {}",
            count(accepted),
            count(refused.len()),
            first.line()
        )),
    }
}

fn count(count: usize) -> String {
    if count == 1 { "1 operation".to_owned() } else { format!("{count} operations") }
}

fn label(verb: &str) -> Option<&'static str> {
    match verb {
        "retry" => Some("Retry"),
        "cancel" => Some("Cancel"),
        "pause" => Some("Pause"),
        "resume" => Some("Resume"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_refused_is_said_with_the_first_reason() {
        assert_eq!(told("Retry", 1, &[]).text, "Retry requested for 1 operation.");
        let refused = [PageError::new(StatusCode::CONFLICT, "Conflict", "it is running")];
        let flash = told("Retry", 3, &refused);
        assert!(
            !flash.is_good && flash.text.contains("2 operations, and refused for 1 operation"),
            "{}",
            flash.text
        );
        assert!(flash.text.ends_with("It is running."), "{}", flash.text);
    }
}
