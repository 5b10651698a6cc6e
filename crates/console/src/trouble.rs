//! What went wrong, as a person is told: what it is, and what to do about it.

use api::client::ErrorFormat;
use api::{Error, FieldError};
use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use crate::desk::Hub;
use crate::flash::Flash;
use crate::shell::{Section, Shell, html};
use crate::visitor::Visitor;

/// A refusal of the API, or one of our own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    pub status: StatusCode,
    pub title: String,
    pub detail: String,
    pub hint: Option<String>,
    /// What is wrong with which field.
    pub flaws: Vec<Flaw>,
    /// Under which it is in the log.
    pub request: Option<Box<str>>,
}

/// What is wrong with one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    pub field: String,
    pub text: String,
    pub hint: Option<String>,
}

impl Trouble {
    /// An error of a page itself.
    pub fn new(status: StatusCode, title: impl Into<String>, detail: impl Into<String>) -> Trouble {
        let (title, detail) = (title.into(), detail.into());
        Trouble { status, title, detail, hint: None, flaws: Vec::new(), request: None }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, text: impl Into<String>) -> Trouble {
        self.hint = Some(text.into());
        self
    }

    /// Something does not exist.
    pub fn missing(what: &str) -> Trouble {
        Trouble::new(StatusCode::NOT_FOUND, "Not found", format!("There is no {what}."))
            .hint("It may have been removed, or the address may be incomplete.")
    }

    /// The visitor may not do this.
    pub fn needs(capability: engine::Capability) -> Trouble {
        let role = capability.role();
        Trouble::new(StatusCode::FORBIDDEN, "Not allowed", format!("This needs the role {role}."))
            .hint("Ask somebody who has it.")
    }

    /// An error of an API, each of which has other parts; nothing where the answer was none of its own.
    pub(crate) fn read(
        status: StatusCode,
        format: ErrorFormat,
        error: Option<Error>,
        request: Option<String>,
    ) -> Trouble {
        let usual = status.canonical_reason().unwrap_or("It did not work");
        let error = error.unwrap_or_else(|| Error::of_status(status, ""));
        let (code, title) = (error.code.to_string(), error.title.to_string());
        let given = |text: String| Some(text).filter(|text| !text.trim().is_empty());
        let (title, detail, hint) = match format {
            ErrorFormat::Problem => (given(title), error.detail.clone(), None),
            ErrorFormat::Osb => (None, given(error.detail.clone()).unwrap_or(code), None),
            ErrorFormat::Insights => (None, error.detail.clone(), error.hint.clone()),
            ErrorFormat::Cognit => {
                (None, title, given(error.detail.clone()).filter(|_| !error.detail_is_json))
            }
        };
        let detail = given(detail).unwrap_or_else(|| format!("The server answered {}.", status.as_u16()));
        let flaw = |it: &FieldError| Flaw {
            field: it.field.clone(),
            text: it.message.clone(),
            hint: it.hint.clone(),
        };
        let mut flaws: Vec<Flaw> = error.fields.iter().map(flaw).collect();
        if let (true, Some(field)) = (flaws.is_empty(), error.field.clone()) {
            flaws.push(Flaw { field, text: detail.clone(), hint: hint.clone() });
        }
        let title = title.unwrap_or_else(|| usual.to_owned());
        Trouble { status, title, detail, hint, flaws, request: request.map(String::into_boxed_str) }
    }

    /// The sentence that says it in one line.
    pub fn line(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{} {}", sentence(&self.detail), sentence(hint)),
            None => sentence(&self.detail),
        }
    }

    /// Leads back to where the form was, which says what is wrong. Who may not do this at all is told so here.
    pub fn back(self, visitor: &Visitor, place: &str) -> Response {
        if self.status == StatusCode::FORBIDDEN {
            return self.page(visitor);
        }
        Flash::bad(self.line()).at(place)
    }

    /// A page for somebody who is signed in.
    pub fn page(self, visitor: &Visitor) -> Response {
        let status = self.status;
        Shell::new(visitor, &Section::NONE, &self.title).page_with(status, &TroublePage { trouble: self })
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
    pub(crate) fn bare(self, desk: &Hub) -> Response {
        let status = self.status;
        html(status, &BareTrouble { trouble: self, program: desk.settings.program })
    }
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
    program: &'static str,
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

    #[test]
    fn an_error_of_each_api_is_told_by_its_parts() {
        let read = |format: ErrorFormat, body: &str| {
            let status = StatusCode::BAD_REQUEST;
            let trouble = Trouble::read(status, format, format.read(status, body.as_bytes()), None);
            let flaws: Vec<String> =
                trouble.flaws.into_iter().map(|it| format!("{}={}", it.field, it.text)).collect();
            [trouble.title, trouble.detail, trouble.hint.unwrap_or_default(), flaws.join(" ")].join("|")
        };
        let problem =
            r#"{"type": "/errors/x", "title": "T", "status": 400, "detail": "d", "code": "x", "field": "f"}"#;
        assert_eq!(read(ErrorFormat::Problem, problem), "T|d||f=d");
        assert_eq!(read(ErrorFormat::Osb, r#"{"error": "Odd", "description": "d"}"#), "Bad Request|d||");
        assert_eq!(read(ErrorFormat::Osb, r#"{"error": "Odd"}"#), "Bad Request|Odd||");
        assert_eq!(read(ErrorFormat::Cognit, r#"{"error": "e", "message": "m"}"#), "Bad Request|e|m|");
        assert_eq!(read(ErrorFormat::Cognit, r#"{"error": "e", "message": ["m"]}"#), "Bad Request|e||");
        let insights = |more: &str| {
            let rest = r#""trace_id": "", "edge_id": "", "version": "", "build_time": "", "environment": "", "code": "c""#;
            read(
                ErrorFormat::Insights,
                &format!(r#"{{"msg": "m", "error": "e", "hint": "h", {rest}{more}}}"#),
            )
        };
        assert_eq!(insights(r#", "field": "f""#), "Bad Request|e|h|f=e");
        let flaws = r#", "flaws": [{"field": "a", "message": "1"}, {"field": "b", "message": "2"}]"#;
        assert_eq!(insights(flaws), "Bad Request|e|h|a=1 b=2");
        assert_eq!(read(ErrorFormat::Problem, "<html>"), "Bad Request|The server answered 400.||");
    }
}
