//! Error pages: what is wrong, and what to do about it.

use api::client::ErrorFormat;
use api::{Error, FieldError};
use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use crate::flash::Flash;
use crate::shared::ConsoleShared;
use crate::shell::{Section, Shell, html};
use crate::signed_in::SignedIn;

/// A refusal of the API, or one of our own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageError {
    pub status: StatusCode,
    pub title: String,
    pub detail: String,
    pub hint: Option<String>,
    /// What is wrong with which field.
    pub field_errors: Vec<FormError>,
    /// Under which it is in the log.
    pub request: Option<Box<str>>,
}

/// What is wrong with one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormError {
    pub field: String,
    pub text: String,
    pub hint: Option<String>,
}

impl PageError {
    /// An error of a page itself.
    pub fn new(status: StatusCode, title: impl Into<String>, detail: impl Into<String>) -> PageError {
        let (title, detail) = (title.into(), detail.into());
        PageError { status, title, detail, hint: None, field_errors: Vec::new(), request: None }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, text: impl Into<String>) -> PageError {
        self.hint = Some(text.into());
        self
    }

    /// Something does not exist.
    pub fn missing(what: &str) -> PageError {
        PageError::new(StatusCode::NOT_FOUND, "Not found", format!("There is no {what}."))
            .hint("It may have been removed, or the address may be incomplete.")
    }

    /// The visitor may not do this.
    pub fn needs(capability: engine::Capability) -> PageError {
        let role = capability.role();
        PageError::new(StatusCode::FORBIDDEN, "Not allowed", format!("This needs the role {role}."))
            .hint("Ask an admin for it.")
    }

    /// An error of an API, each of which has other parts; nothing where the answer was none of its own.
    pub(crate) fn read(
        status: StatusCode,
        format: ErrorFormat,
        error: Option<Error>,
        request: Option<String>,
    ) -> PageError {
        let usual = status.canonical_reason().unwrap_or("Internal error");
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
        let field_error = |it: &FieldError| FormError {
            field: it.field.clone(),
            text: it.message.clone(),
            hint: it.hint.clone(),
        };
        let mut field_errors: Vec<FormError> = error.fields.iter().map(field_error).collect();
        if let (true, Some(field)) = (field_errors.is_empty(), error.field.clone()) {
            field_errors.push(FormError { field, text: detail.clone(), hint: hint.clone() });
        }
        let title = title.unwrap_or_else(|| usual.to_owned());
        PageError { status, title, detail, hint, field_errors, request: request.map(String::into_boxed_str) }
    }

    /// The sentence that says it in one line.
    pub fn line(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{} {}", sentence(&self.detail), sentence(hint)),
            None => sentence(&self.detail),
        }
    }

    /// Leads back to where the form was, which says what is wrong. Who may not do this at all is told so here.
    pub fn back(self, signed_in: &SignedIn, location: &str) -> Response {
        if self.status == StatusCode::FORBIDDEN {
            return self.page(signed_in);
        }
        Flash::bad(self.line()).at(location)
    }

    /// A page for a user who is signed in.
    pub fn page(self, signed_in: &SignedIn) -> Response {
        let status = self.status;
        Shell::new(signed_in, &Section::NONE, &self.title).page_with(status, &ErrorPage { page_error: self })
    }

    /// In the place of a part that a page asks for once in a while. What does not answer at the moment is no news:
    /// with an answer that browsers do not show, the page stays as it is and asks again.
    pub(crate) fn part(self) -> Response {
        if self.status.is_server_error() {
            return StatusCode::NO_CONTENT.into_response();
        }
        html(self.status, &ErrorPart { page_error: self })
    }

    /// A page for any user.
    pub(crate) fn bare(self, shared: &ConsoleShared) -> Response {
        let status = self.status;
        html(status, &BareErrorPage { page_error: self, program: shared.settings.program })
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
#[template(path = "error.html")]
struct ErrorPage {
    page_error: PageError,
}

#[derive(Template)]
#[template(path = "error_body.html")]
struct ErrorPart {
    page_error: PageError,
}

#[derive(Template)]
#[template(path = "error_bare.html")]
struct BareErrorPage {
    page_error: PageError,
    program: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_api_says_is_told_in_sentences() {
        let said = |detail: &str| PageError::new(StatusCode::FORBIDDEN, "No", detail);
        let line = said("this needs the role admin").hint("an administrator can grant it").line();
        assert_eq!(line, "This needs the role admin. An administrator can grant it.");
        assert_eq!(said("name: it is too long").line(), "name: it is too long.");
        assert_eq!(said("a-reader is not known!").line(), "a-reader is not known!");
    }

    #[test]
    fn a_part_says_what_is_gone_and_nothing_about_who_does_not_answer() {
        let silent = PageError::new(StatusCode::SERVICE_UNAVAILABLE, "Please wait", "It does not answer.");
        assert_eq!(silent.part().status(), StatusCode::NO_CONTENT);
        assert_eq!(PageError::missing("runtime").part().status(), StatusCode::NOT_FOUND);
    }

    #[test]
    fn an_error_of_each_api_is_told_by_its_parts() {
        let read = |format: ErrorFormat, body: &str| {
            let status = StatusCode::BAD_REQUEST;
            let page_error = PageError::read(status, format, format.read(status, body.as_bytes()), None);
            let field_errors: Vec<String> =
                page_error.field_errors.into_iter().map(|it| format!("{}={}", it.field, it.text)).collect();
            [page_error.title, page_error.detail, page_error.hint.unwrap_or_default(), field_errors.join(" ")]
                .join("|")
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
        let field_errors = r#", "flaws": [{"field": "a", "message": "1"}, {"field": "b", "message": "2"}]"#;
        assert_eq!(insights(field_errors), "Bad Request|e|h|a=1 b=2");
        assert_eq!(read(ErrorFormat::Problem, "<html>"), "Bad Request|The server answered 400.||");
    }
}
