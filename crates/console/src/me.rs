//! `GET /console/me`: who you are here, your sessions, and your password.

use api::types::{ChangePassword, Password, Session};
use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use axum::response::Response;
use axum::routing::{get, post};
use engine::ProofKind;
use engine::secret::SecretString;
use engine::store::StoreError;
use server::ToWire;

use crate::cookie;
use crate::csrf::CsrfToken;
use crate::desk::{Desk, Hub};
use crate::fields::Fields;
use crate::flash::Flash;
use crate::parts::When;
use crate::shell::{Section, Shell};
use crate::trouble::Trouble;
use crate::visitor::Visitor;

const AT: &str = "/console/me";
/// More than anybody has.
const SESSIONS_MAX: usize = 100;

pub(crate) fn routes() -> Router<Desk> {
    Router::new()
        .route("/console/me", get(show))
        .route("/console/me/password", post(change_password))
        .route("/console/me/sign-out", post(sign_out_everywhere))
        .route("/console/me/end", post(end))
}

#[derive(Template)]
#[template(path = "me/show.html")]
struct Me {
    csrf: CsrfToken,
    name: String,
    role: &'static str,
    proof: &'static str,
    has_password: bool,
    sessions: Vec<Session>,
    mine: String,
    current_error: Option<String>,
    new_error: Option<String>,
}

impl Me {
    async fn read(visitor: &Visitor) -> Result<Me, Trouble> {
        let rows = visitor
            .desk
            .people
            .sessions(Some(visitor.name()), SESSIONS_MAX)
            .await
            .map_err(|error| not_now(&error))?;
        let now = visitor.desk.inside.engine().now();
        // A user and a token may have the same name.
        let mine = rows
            .into_iter()
            .filter(|row| row.proof.kind() == visitor.principal.proof.kind() && row.expires_at > now);
        Ok(Me {
            csrf: visitor.csrf.clone(),
            name: visitor.name().to_owned(),
            role: visitor.role(),
            proof: match visitor.principal.proof.kind() {
                ProofKind::Password => "with your password",
                ProofKind::Token => "with an API token",
                ProofKind::Oidc => "at your identity provider",
            },
            has_password: visitor.principal.proof.kind() == ProofKind::Password,
            sessions: mine.map(ToWire::to_wire).collect(),
            mine: visitor.digest.clone(),
            current_error: None,
            new_error: None,
        })
    }
}

fn not_now(error: &StoreError) -> Trouble {
    tracing::warn!(%error, "the console cannot read its sessions");
    Trouble::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "Please wait",
        "The database does not answer at the moment.",
    )
}

fn shell(visitor: &Visitor) -> Shell {
    Shell::new(visitor, &Section::NONE, "You")
}

async fn show(visitor: Visitor) -> Response {
    match Me::read(&visitor).await {
        Ok(me) => shell(&visitor).page(&me),
        Err(trouble) => trouble.page(&visitor),
    }
}

async fn change_password(State(desk): State<Desk>, visitor: Visitor, fields: Fields) -> Response {
    let typed = |name: &str| Password::from(&SecretString::from(fields.raw(name)));
    let refused = if fields.raw("new") == fields.raw("again") {
        let change = ChangePassword { current: typed("current"), new: typed("new") };
        match visitor.api.put("/me/password", &change).await {
            Ok(_) => {
                let text = "Your password is changed. Sign in with the new one.";
                return signed_out(&desk, Flash::good(text));
            }
            Err(trouble) => trouble,
        }
    } else {
        Trouble::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "Not the same",
            "The two new passwords are not the same.",
        )
    };
    match Me::read(&visitor).await {
        Ok(mut me) => {
            let is_current = [StatusCode::FORBIDDEN, StatusCode::TOO_MANY_REQUESTS].contains(&refused.status);
            let place = if is_current { &mut me.current_error } else { &mut me.new_error };
            *place = Some(refused.line());
            shell(&visitor).page_with(refused.status, &me)
        }
        Err(trouble) => trouble.page(&visitor),
    }
}

async fn sign_out_everywhere(State(desk): State<Desk>, visitor: Visitor, _fields: Fields) -> Response {
    match desk.people.remove_sessions(visitor.name(), visitor.principal.proof.kind()).await {
        Ok(count) => {
            signed_out(&desk, Flash::good(format!("You are signed out everywhere. Sessions ended: {count}.")))
        }
        Err(error) => not_now(&error).page(&visitor),
    }
}

fn signed_out(desk: &Hub, flash: Flash) -> Response {
    let mut response = flash.at("/console/sign-in");
    response.headers_mut().append(SET_COOKIE, cookie::forget(cookie::SESSION, desk.is_https()));
    response
}

/// Ends one of your own sessions, such as that of a browser that is lost.
async fn end(State(desk): State<Desk>, visitor: Visitor, fields: Fields) -> Response {
    let ended = async {
        let rows = desk.people.sessions(Some(visitor.name()), SESSIONS_MAX).await?;
        let id = fields.text("id");
        let found = rows
            .into_iter()
            .filter(|row| row.proof.kind() == visitor.principal.proof.kind())
            .find(|row| !id.is_empty() && row.clone().to_wire().id == id);
        match found {
            Some(row) => desk.people.remove_session(&row.digest).await,
            None => Ok(false),
        }
    };
    match ended.await {
        Ok(true) => Flash::good("The session is ended.").at(AT),
        Ok(false) => Flash::bad("There is no such session any more.").at(AT),
        Err(error) => not_now(&error).page(&visitor),
    }
}
