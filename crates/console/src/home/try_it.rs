//! `GET /console/try` and `POST /console/try/{what}`: starts something in the sandbox, to see how it looks.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use crate::csrf::CsrfToken;
use crate::desk::Desk;
use crate::fields::Fields;
use crate::flash::Flash;
use crate::pages::{Offer, Pages};
use crate::shell::{Section, Shell};
use crate::trouble::Trouble;
use crate::visitor::{Visitor, hex};

/// What can be started here by whoever looks; nothing outside of a sandbox.
pub(super) struct Offers {
    pub(super) csrf: CsrfToken,
    pub(super) all: Vec<Offer>,
    /// Somebody with another role may start something.
    pub(super) is_sandbox: bool,
    pub(super) apis: String,
    pub(super) actions: Vec<&'static Section>,
}

impl Offers {
    pub(super) fn new(visitor: &Visitor) -> Offers {
        let is_sandbox = visitor.desk.settings.is_sandbox;
        let offers = visitor.desk.pages.offers.iter().filter(|offer| is_sandbox && (offer.is_for)(visitor));
        Offers {
            csrf: visitor.csrf.clone(),
            all: offers.copied().collect(),
            is_sandbox,
            apis: apis(&visitor.desk.pages),
            actions: visitor.desk.pages.actions.clone(),
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
    offers: Offers,
}

pub(super) async fn show(visitor: Visitor) -> Response {
    let offers = Offers::new(&visitor);
    Shell::new(&visitor, &crate::home::SECTION, "Try it").page(&Try { offers })
}

pub(super) async fn start(
    State(desk): State<Desk>,
    visitor: Visitor,
    Path(what): Path<String>,
    _fields: Fields,
) -> Response {
    if !desk.settings.is_sandbox {
        let detail = "This server works with real systems, so nothing is started just to see how it looks.";
        return Trouble::new(StatusCode::CONFLICT, "Not here", detail)
            .hint("Start a server with --sandbox to try things.")
            .page(&visitor);
    }
    let Some(offer) = desk.pages.offers.iter().find(|offer| offer.name == what) else {
        return Trouble::missing("such thing to try").page(&visitor);
    };
    let name = format!("try-{}", hex(&rand::random::<[u8; 3]>()));
    match (offer.start)(&visitor, name).await {
        Ok(place) => Flash::good("Started. This page updates live.").while_running().at(&place),
        Err(trouble) => Flash::bad(trouble.line()).at("/console/try"),
    }
}
