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
use crate::fields::Fields;
use crate::flash::Flash;
use crate::page_error::PageError;
use crate::parts::When;
use crate::shared::{ConsoleShared, ConsoleState};
use crate::shell::{Section, Shell};
use crate::signed_in::SignedIn;

const AT: &str = "/console/me";
/// More than any user has.
const SESSIONS_MAX: usize = 100;

pub(crate) fn routes() -> Router<ConsoleState> {
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
    async fn read(signed_in: &SignedIn) -> Result<Me, PageError> {
        let rows = signed_in
            .shared
            .people
            .sessions(Some(signed_in.name()), SESSIONS_MAX)
            .await
            .map_err(|error| not_now(&error))?;
        let now = signed_in.shared.inside.engine().now();
        // A user and a token may have the same name.
        let mine = rows
            .into_iter()
            .filter(|row| row.proof.kind() == signed_in.principal.proof.kind() && row.expires_at > now);
        Ok(Me {
            csrf: signed_in.csrf.clone(),
            name: signed_in.name().to_owned(),
            role: signed_in.role(),
            proof: match signed_in.principal.proof.kind() {
                ProofKind::Password => "with your password",
                ProofKind::Token => "with an API token",
                ProofKind::Oidc => "at your identity provider",
            },
            has_password: signed_in.principal.proof.kind() == ProofKind::Password,
            sessions: mine.map(ToWire::to_wire).collect(),
            mine: signed_in.digest.clone(),
            current_error: None,
            new_error: None,
        })
    }
}

fn not_now(error: &StoreError) -> PageError {
    tracing::warn!(%error, "reading the console's sessions failed");
    PageError::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "Please wait",
        "The database does not answer at the moment.",
    )
}

fn shell(signed_in: &SignedIn) -> Shell {
    Shell::new(signed_in, &Section::NONE, "Your account")
}

async fn show(signed_in: SignedIn) -> Response {
    match Me::read(&signed_in).await {
        Ok(me) => shell(&signed_in).page(&me),
        Err(page_error) => page_error.page(&signed_in),
    }
}

async fn change_password(
    State(shared): State<ConsoleState>,
    signed_in: SignedIn,
    fields: Fields,
) -> Response {
    let typed = |name: &str| Password::from(&SecretString::from(fields.raw(name)));
    let refused = if fields.raw("new") == fields.raw("again") {
        let change = ChangePassword { current: typed("current"), new: typed("new") };
        match signed_in.api.put("/me/password", &change).await {
            Ok(_) => {
                let text = "Your password is changed. Sign in with the new one.";
                return signed_out(&shared, Flash::good(text));
            }
            Err(page_error) => page_error,
        }
    } else {
        PageError::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "Not the same",
            "The two new passwords are not the same.",
        )
    };
    match Me::read(&signed_in).await {
        Ok(mut me) => {
            let is_current = [StatusCode::FORBIDDEN, StatusCode::TOO_MANY_REQUESTS].contains(&refused.status);
            let error_of_field = if is_current { &mut me.current_error } else { &mut me.new_error };
            *error_of_field = Some(refused.line());
            shell(&signed_in).page_with(refused.status, &me)
        }
        Err(page_error) => page_error.page(&signed_in),
    }
}

async fn sign_out_everywhere(
    State(shared): State<ConsoleState>,
    signed_in: SignedIn,
    _fields: Fields,
) -> Response {
    match shared.people.remove_sessions(signed_in.name(), signed_in.principal.proof.kind()).await {
        Ok(count) => signed_out(
            &shared,
            Flash::good(format!("You are signed out everywhere. Sessions ended: {count}.")),
        ),
        Err(error) => not_now(&error).page(&signed_in),
    }
}

fn signed_out(shared: &ConsoleShared, flash: Flash) -> Response {
    let mut response = flash.at("/console/sign-in");
    response.headers_mut().append(SET_COOKIE, cookie::forget(cookie::SESSION, shared.is_https()));
    response
}

/// Ends one of your own sessions, such as that of a browser that is lost.
async fn end(State(shared): State<ConsoleState>, signed_in: SignedIn, fields: Fields) -> Response {
    let ended = async {
        let rows = shared.people.sessions(Some(signed_in.name()), SESSIONS_MAX).await?;
        let id = fields.text("id");
        let found = rows
            .into_iter()
            .filter(|row| row.proof.kind() == signed_in.principal.proof.kind())
            .find(|row| !id.is_empty() && row.clone().to_wire().id == id);
        match found {
            Some(row) => shared.people.remove_session(&row.digest).await,
            None => Ok(false),
        }
    };
    match ended.await {
        Ok(true) => Flash::good("The session is ended.").at(AT),
        Ok(false) => Flash::bad("There is no such session any more.").at(AT),
        Err(error) => not_now(&error).page(&signed_in),
    }
}
