//! What went wrong, as a person is told: what it is, and what to do about it.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use crate::desk::Hub;
use crate::flash::Flash;
use crate::shell::{Section, Shell, html};
use crate::visitor::Visitor;

/// A refusal of the API, or one of our own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) status: StatusCode,
    pub(crate) title: String,
    pub(crate) detail: String,
    pub(crate) hint: Option<String>,
    /// What is wrong with which field.
    pub(crate) flaws: Vec<Flaw>,
    /// Under which it is in the log.
    pub(crate) request: Option<Box<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flaw {
    pub(crate) field: String,
    pub(crate) text: String,
    pub(crate) hint: Option<String>,
}

impl Trouble {
    pub(crate) fn new(status: StatusCode, title: impl Into<String>, detail: impl Into<String>) -> Trouble {
        let (title, detail) = (title.into(), detail.into());
        Trouble { status, title, detail, hint: None, flaws: Vec::new(), request: None }
    }

    pub(crate) fn hint(mut self, text: impl Into<String>) -> Trouble {
        self.hint = Some(text.into());
        self
    }

    pub(crate) fn missing(what: &str) -> Trouble {
        Trouble::new(StatusCode::NOT_FOUND, "Not found", format!("There is no {what}."))
            .hint("It may have been removed, or the address may be incomplete.")
    }

    pub(crate) fn needs(role: engine::Role) -> Trouble {
        Trouble::new(StatusCode::FORBIDDEN, "Not allowed", format!("This needs the role {role}."))
            .hint("Ask somebody who has it.")
    }

    /// What the four doors say, each in its own words.
    pub(crate) fn read(status: StatusCode, body: &Value, request: Option<String>) -> Trouble {
        let text = |names: &[&str]| {
            let mut found = names.iter().filter_map(|name| body.get(*name)?.as_str());
            found.find(|text| !text.is_empty()).map(str::to_owned)
        };
        let usual = status.canonical_reason().unwrap_or("It did not work");
        let title = text(&["title", "error_title"]).unwrap_or_else(|| usual.to_owned());
        let detail = text(&["detail", "description", "error", "message", "msg"]);
        let detail = detail.unwrap_or_else(|| format!("The server answered {}.", status.as_u16()));
        let more = body.get("message").and_then(Value::as_str).filter(|more| **more != *detail);
        let hint = text(&["hint", "instance_usable_hint"]).or_else(|| more.map(str::to_owned));
        Trouble {
            status,
            title,
            detail,
            hint,
            flaws: flaws(body),
            request: request.map(String::into_boxed_str),
        }
    }

    /// The sentence that says it in one line.
    pub(crate) fn line(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{} {}", sentence(&self.detail), sentence(hint)),
            None => sentence(&self.detail),
        }
    }

    /// Leads back to where the form was, which says what is wrong. Who may not do this at all is told so here.
    pub(crate) fn back(self, desk: &Hub, visitor: &Visitor, place: &str) -> Response {
        if self.status == StatusCode::FORBIDDEN {
            return self.page(desk, visitor);
        }
        Flash::bad(self.line()).at(place)
    }

    /// A page for somebody who is signed in.
    pub(crate) fn page(self, desk: &Hub, visitor: &Visitor) -> Response {
        let status = self.status;
        Shell::new(desk, visitor, &Section::NONE, &self.title)
            .page_with(status, &TroublePage { trouble: self })
    }

    /// In the place of a part that a page asks for once in a while. What does not answer at the moment is no news:
    /// with an answer that browsers do not show, the page stays as it is and asks again.
    pub(crate) fn part(self) -> Response {
        if self.status.is_server_error() {
            return StatusCode::NO_CONTENT.into_response();
        }
        html(self.status, &TroublePart { trouble: self })
    }

    /// A page for anybody.
    pub(crate) fn bare(self) -> Response {
        let status = self.status;
        html(status, &BareTrouble { trouble: self })
    }
}

fn flaws(body: &Value) -> Vec<Flaw> {
    let one = |flaw: &Value| {
        let text = |name: &str| flaw.get(name).and_then(Value::as_str).map(str::to_owned);
        let field = text("field").or_else(|| text("pointer"))?;
        let said =
            text("error").or_else(|| text("cause")).or_else(|| text("detail")).or_else(|| text("message"));
        Some(Flaw { field, text: said.unwrap_or_default(), hint: text("hint") })
    };
    let lists = ["errors", "flaws"].iter().filter_map(|name| body.get(*name)?.as_array());
    let all: Vec<Flaw> = lists.flatten().filter_map(one).collect();
    if all.is_empty() { one(body).into_iter().collect() } else { all }
}

/// As a sentence begins and ends. A name in front, such as that of a field, stays as it is.
fn sentence(text: &str) -> String {
    let text = text.trim();
    let first = text.split(' ').next().unwrap_or_default();
    let is_word = first.chars().all(|c| c.is_ascii_lowercase());
    let mut chars = text.chars();
    let begun: String = match chars.next() {
        Some(letter) if is_word => letter.to_uppercase().chain(chars).collect(),
        _ => text.to_owned(),
    };
    if begun.ends_with(['.', '!', '?']) { begun } else { format!("{begun}.") }
}

#[derive(Template)]
#[template(path = "trouble.html")]
struct TroublePage {
    trouble: Trouble,
}

#[derive(Template)]
#[template(path = "trouble_body.html")]
struct TroublePart {
    trouble: Trouble,
}

#[derive(Template)]
#[template(path = "trouble_bare.html")]
struct BareTrouble {
    trouble: Trouble,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_api_says_is_told_in_sentences() {
        let said = |detail: &str| Trouble::new(StatusCode::FORBIDDEN, "No", detail);
        let line = said("this needs the role admin").hint("an administrator can grant it").line();
        assert_eq!(line, "This needs the role admin. An administrator can grant it.");
        assert_eq!(said("name: it is too long").line(), "name: it is too long.");
        assert_eq!(said("a-reader is not known!").line(), "a-reader is not known!");
    }

    #[test]
    fn a_part_says_what_is_gone_and_nothing_about_who_does_not_answer() {
        let silent = Trouble::new(StatusCode::SERVICE_UNAVAILABLE, "Please wait", "It does not answer.");
        assert_eq!(silent.part().status(), StatusCode::NO_CONTENT);
        assert_eq!(Trouble::missing("runtime").part().status(), StatusCode::NOT_FOUND);
    }
}
