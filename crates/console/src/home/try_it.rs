//! `GET /console/try` and `POST /console/try/{what}`: starts something in the sandbox, to see how it looks.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use crate::csrf::CsrfToken;
use crate::fields::Fields;
use crate::flash::Flash;
use crate::page_error::PageError;
use crate::pages::{Pages, QuickStart};
use crate::shared::ConsoleState;
use crate::shell::{Section, Shell};
use crate::signed_in::{SignedIn, hex};

/// What can be started here by the user who looks; nothing outside of a sandbox.
pub(super) struct QuickStarts {
    pub(super) csrf: CsrfToken,
    pub(super) all: Vec<QuickStart>,
    /// A user with another role may start something.
    pub(super) is_sandbox: bool,
    pub(super) apis: String,
    pub(super) actions: Vec<&'static Section>,
}

impl QuickStarts {
    pub(super) fn new(signed_in: &SignedIn) -> QuickStarts {
        let is_sandbox = signed_in.shared.settings.is_sandbox;
        let offers =
            signed_in.shared.pages.offers.iter().filter(|offer| is_sandbox && (offer.is_for)(signed_in));
        QuickStarts {
            csrf: signed_in.csrf.clone(),
            all: offers.copied().collect(),
            is_sandbox,
            apis: apis(&signed_in.shared.pages),
            actions: signed_in.shared.pages.actions.clone(),
        }
    }
}

/// Such as `the one API, the other or the third`.
fn apis(pages: &Pages) -> String {
    let titles: Vec<&str> = pages.apis.iter().map(|api| api.title).collect();
    match titles.split_last() {
        None => "the API".to_owned(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
    }
}

#[derive(Template)]
#[template(path = "home_try.html")]
struct Try {
    offers: QuickStarts,
}

pub(super) async fn show(signed_in: SignedIn) -> Response {
    let offers = QuickStarts::new(&signed_in);
    Shell::new(&signed_in, &crate::home::SECTION, "Try it").page(&Try { offers })
}

pub(super) async fn start(
    State(shared): State<ConsoleState>,
    signed_in: SignedIn,
    Path(what): Path<String>,
    _fields: Fields,
) -> Response {
    if !shared.settings.is_sandbox {
        let detail = "This server works with real systems, so nothing is started just to see how it looks.";
        return PageError::new(StatusCode::CONFLICT, "Not in the sandbox", detail)
            .hint("Start a server with --sandbox to try things.")
            .page(&signed_in);
    }
    let Some(offer) = shared.pages.offers.iter().find(|offer| offer.name == what) else {
        return PageError::missing("such thing to try").page(&signed_in);
    };
    let name = format!("try-{}", hex(&rand::random::<[u8; 3]>()));
    match (offer.start)(&signed_in, name).await {
        Ok(place) => Flash::good("Started. This page updates live.").while_running().at(&place),
        Err(page_error) => Flash::bad(page_error.line()).at("/console/try"),
    }
}
