//! `GET /console/admin/tokens`

use api::types::{IssuedToken, Moment, NewToken, Token, TokenList};
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
use crate::parts::When;
use crate::path;
use crate::shell::Shell;
use crate::trouble::Trouble;
use crate::visitor::Visitor;

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
    lives: String,
    name_error: Option<String>,
    trouble: Option<String>,
}

impl Tokens {
    async fn read(visitor: &Visitor) -> Result<Tokens, Trouble> {
        let found: TokenList = visitor.api.get("/tokens").await?;
        Ok(Tokens {
            csrf: visitor.csrf.clone(),
            here: Tab::Tokens,
            tokens: found.items,
            now: visitor.desk.inside.engine().now(),
            issued: None,
            name: String::new(),
            role: "reader".to_owned(),
            lives: "30".to_owned(),
            name_error: None,
            trouble: None,
        })
    }
}

impl Tokens {
    fn is_over(&self, at: &Moment) -> bool {
        *at <= self.now.to_wire()
    }
}

fn shell(visitor: &Visitor) -> Shell {
    Shell::new(visitor, &crate::admin::SECTION, "Tokens")
}

pub(super) async fn list(visitor: Visitor) -> Response {
    match Tokens::read(&visitor).await {
        Ok(tokens) => shell(&visitor).page(&tokens),
        Err(trouble) => trouble.page(&visitor),
    }
}

pub(super) async fn create(visitor: Visitor, fields: Fields) -> Response {
    let asked = ask_for(&visitor, &fields).await;
    let drawn = Tokens::read(&visitor).await;
    let (asked, drawn) = match (asked, drawn) {
        (asked, Ok(drawn)) => (asked, drawn),
        (_, Err(trouble)) => return trouble.page(&visitor),
    };
    let shell = shell(&visitor);
    match asked {
        Ok(issued) => shell.page_with(StatusCode::OK, &Tokens { issued: Some(issued), ..drawn }),
        Err(trouble) => {
            let is_name = trouble.status == StatusCode::CONFLICT
                || trouble.flaws.iter().any(|flaw| flaw.field == "name");
            let (name_error, rest) =
                if is_name { (Some(said(&trouble)), None) } else { (None, Some(trouble.line())) };
            let text = |name: &str| fields.text(name).to_owned();
            let (name, role, lives) = (text("name"), text("role"), text("lives"));
            let content = Tokens { name, role, lives, name_error, trouble: rest, ..drawn };
            shell.page_with(trouble.status, &content)
        }
    }
}

async fn ask_for(visitor: &Visitor, fields: &Fields) -> Result<IssuedToken, Trouble> {
    let unknown =
        |_| Trouble::new(StatusCode::UNPROCESSABLE_ENTITY, "Not possible", "There is no such role.");
    let new = NewToken {
        name: fields.text("name").to_owned(),
        role: fields.text("role").parse().map_err(unknown)?,
        platform: None,
        expires_in_seconds: fields
            .given("lives")
            .and_then(|days| days.parse::<u64>().ok())
            .map(|days| days * DAY),
    };
    visitor.api.post("/tokens", &new).await?.json()
}

pub(super) async fn delete(visitor: Visitor, fields: Fields) -> Response {
    let name = fields.text("name");
    if !confirm::is_confirmed(&fields) {
        let question = format!("Delete the token {name}? Whoever uses it is locked out at once.");
        return confirm::page(&visitor, &crate::admin::SECTION, &question, "Delete", AT, &fields);
    }
    match visitor.api.delete(&format!("/tokens/{}", path::part(name))).await {
        Ok(_) => Flash::good(format!("The token {name} is gone.")).at(AT),
        Err(trouble) => trouble.back(&visitor, AT),
    }
}
