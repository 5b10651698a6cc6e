//! What a user sent with a form, after it was proved that the form was ours.

use axum::extract::{Form, FromRequest, Request};
use axum::http::StatusCode;
use axum::response::Response;

use crate::cookie;
use crate::csrf::{self, CSRF_FIELD};
use crate::page_error::PageError;
use crate::shared::ConsoleState;

const FIELDS_MAX: usize = 500;

/// The fields of a form, as a handler extracts them.
#[derive(Debug, Clone, Default)]
pub struct Fields(Vec<(String, String)>);

impl Fields {
    /// The value of a field without the blanks around it; empty when it is not there.
    pub fn text(&self, name: &str) -> &str {
        self.raw(name).trim()
    }

    /// The value as it was typed, for passwords.
    pub fn raw(&self, name: &str) -> &str {
        self.0.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    /// The value of a field, unless it is empty.
    pub fn given(&self, name: &str) -> Option<&str> {
        Some(self.text(name)).filter(|text| !text.is_empty())
    }

    /// All values of fields with one name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.trim())
    }

    /// All fields but the token.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let is_ours = |(key, _): &&(String, String)| key == CSRF_FIELD;
        self.0.iter().filter(move |pair| !is_ours(pair)).map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

impl From<Vec<(String, String)>> for Fields {
    fn from(pairs: Vec<(String, String)>) -> Fields {
        Fields(pairs)
    }
}

impl FromRequest<ConsoleState> for Fields {
    type Rejection = Response;

    async fn from_request(request: Request, shared: &ConsoleState) -> Result<Fields, Response> {
        let headers = request.headers();
        let is_from_here = csrf::is_from_here(headers);
        // A user who is signed in may still have an older form to sign in.
        let secrets =
            [cookie::SESSION, cookie::VISIT].map(|name| cookie::read(headers, name).map(str::to_owned));
        let refuse = |why: &str, fix: &str| {
            PageError::new(StatusCode::FORBIDDEN, "This form was not accepted", why).hint(fix).bare(shared)
        };
        let Form(pairs) =
            Form::<Vec<(String, String)>>::from_request(request, shared).await.map_err(|error| {
                let is_slow = server::is_slow_body(&error);
                let status = if is_slow { StatusCode::REQUEST_TIMEOUT } else { error.status() };
                PageError::new(status, "This form cannot be read", error.body_text()).bare(shared)
            })?;
        if pairs.len() > FIELDS_MAX {
            return Err(refuse("It has too many fields.", "Send fewer at a time."));
        }
        let fields = Fields(pairs);
        let is_good = secrets.iter().flatten().any(|secret| csrf::is_good(secret, fields.raw(CSRF_FIELD)));
        if !is_good || !is_from_here {
            let why =
                "It is not from a page that was made for this browser, or you have signed in again since.";
            return Err(refuse(why, "Go back, reload the page and send it again."));
        }
        Ok(fields)
    }
}
