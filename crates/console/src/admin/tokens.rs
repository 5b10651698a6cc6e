//! `GET /console/admin/tokens`

use api::types::{IssuedToken, NewToken, Token, TokenList, WireTime};
use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use engine::Timestamp;
use server::ToWire;

use super::{Tab, said};
use crate::confirm;
use crate::csrf::CsrfToken;
use crate::fields::Fields;
use crate::flash::Flash;
use crate::page_error::PageError;
use crate::parts::When;
use crate::path;
use crate::shell::Shell;
use crate::signed_in::SignedIn;

const AT: &str = "/console/admin/tokens";
const DAY: u64 = 24 * 60 * 60;
/// How long tokens may live, in days; nothing is for ever.
const LIVES: [(&str, &str); 5] =
    [("30", "30 days"), ("1", "a day"), ("90", "90 days"), ("365", "a year"), ("", "for ever")];

#[derive(Template)]
#[template(path = "admin/tokens.html")]
struct Tokens {
    csrf: CsrfToken,
    here: Tab,
    tokens: Vec<Token>,
    now: Timestamp,
    /// Shown this once.
    issued: Option<IssuedToken>,
    name: String,
    role: String,
    grants: String,
    lives: String,
    grants_error: Option<String>,
    name_error: Option<String>,
    page_error: Option<String>,
}

impl Tokens {
    async fn read(signed_in: &SignedIn) -> Result<Tokens, PageError> {
        let found: TokenList = signed_in.api.get("/tokens").await?;
        Ok(Tokens {
            csrf: signed_in.csrf.clone(),
            here: Tab::Tokens,
            tokens: found.items,
            now: signed_in.shared.inside.engine().now(),
            issued: None,
            name: String::new(),
            role: "reader".to_owned(),
            grants: String::new(),
            lives: "30".to_owned(),
            grants_error: None,
            name_error: None,
            page_error: None,
        })
    }
}

impl Tokens {
    fn is_over(&self, at: &WireTime) -> bool {
        *at <= self.now.to_wire()
    }
}

fn shell(signed_in: &SignedIn) -> Shell {
    Shell::new(signed_in, &crate::admin::SECTION, "Tokens")
}

pub(super) async fn list(signed_in: SignedIn) -> Response {
    match Tokens::read(&signed_in).await {
        Ok(tokens) => shell(&signed_in).page(&tokens),
        Err(page_error) => page_error.page(&signed_in),
    }
}

pub(super) async fn create(signed_in: SignedIn, fields: Fields) -> Response {
    let asked = ask_for(&signed_in, &fields).await;
    let drawn = Tokens::read(&signed_in).await;
    let (asked, drawn) = match (asked, drawn) {
        (asked, Ok(drawn)) => (asked, drawn),
        (_, Err(page_error)) => return page_error.page(&signed_in),
    };
    let shell = shell(&signed_in);
    match asked {
        Ok(issued) => shell.page_with(StatusCode::OK, &Tokens { issued: Some(issued), ..drawn }),
        Err(page_error) => {
            let is_name = page_error.status == StatusCode::CONFLICT
                || page_error.field_errors.iter().any(|field_error| field_error.field == "name");
            let is_grants = page_error.field_errors.iter().any(|field_error| field_error.field == "grants");
            let (name_error, grants_error, rest) = match (is_name, is_grants) {
                (true, _) => (Some(said(&page_error)), None, None),
                (_, true) => (None, Some(said(&page_error)), None),
                _ => (None, None, Some(page_error.line())),
            };
            let text = |name: &str| fields.text(name).to_owned();
            let (name, role, grants, lives) = (text("name"), text("role"), text("grants"), text("lives"));
            let content =
                Tokens { name, role, grants, lives, name_error, grants_error, page_error: rest, ..drawn };
            shell.page_with(page_error.status, &content)
        }
    }
}

async fn ask_for(signed_in: &SignedIn, fields: &Fields) -> Result<IssuedToken, PageError> {
    let unknown =
        |_| PageError::new(StatusCode::UNPROCESSABLE_ENTITY, "Not possible", "There is no such role.");
    let new = NewToken {
        name: fields.text("name").to_owned(),
        role: fields.text("role").parse().map_err(unknown)?,
        platform: None,
        grants: super::grants(fields),
        expires_in_seconds: fields
            .given("lives")
            .and_then(|days| days.parse::<u64>().ok())
            .map(|days| days * DAY),
    };
    signed_in.api.post("/tokens", &new).await?.json()
}

pub(super) async fn delete(signed_in: SignedIn, fields: Fields) -> Response {
    let name = fields.text("name");
    if !confirm::is_confirmed(&fields) {
        let question = format!("Delete the token {name}? Clients that use it are locked out at once.");
        return confirm::page(&signed_in, &crate::admin::SECTION, &question, "Delete", AT, &fields);
    }
    match signed_in.api.delete(&format!("/tokens/{}", path::part(name))).await {
        Ok(_) => Flash::good(format!("Token {name} deleted.")).at(AT),
        Err(page_error) => page_error.back(&signed_in, AT),
    }
}
