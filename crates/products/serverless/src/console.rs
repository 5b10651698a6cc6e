//! The pages of serverless runtimes. They act with the configured account of OpenNebula.

mod form;
mod list;
mod new;
mod operation;
mod remove;
mod resize;
mod show;
mod try_it;

use crate::api::wire::{RuntimeProgress, ServerlessRuntime, State};
use api::client::ErrorFormat;
use api::types::OperationDetail;
use axum::Router;
use axum::http::{HeaderName, HeaderValue};
use axum::routing::{get, post};
use engine::Capability;
use uuid::Uuid;

use console::list::now;
use console::parts::{Chip, Icon, Tone};
use console::{ApiResponse, ConsoleState, PageError, Pages, ProductApi, QuickStart, Section, SignedIn};

static SECTION: Section =
    Section { title: "Serverless", path: AT, icon: Icon::Function, position: 60, is_for: SignedIn::may_look };

const AT: &str = "/console/serverless";
/// The answer comes before the work is done.
const AT_ONCE: (HeaderName, HeaderValue) =
    (HeaderName::from_static("prefer"), HeaderValue::from_static("respond-async"));

/// Adds the pages of serverless runtimes.
pub fn pages(pages: &mut Pages) {
    pages.section(&SECTION);
    pages.routes(routes());
    pages.offer(QuickStart {
        section: &SECTION,
        name: "serverless",
        title: "A serverless runtime",
        about: "Asks OpenNebula for a VM that runs functions, as a device does.",
        button: "Start a serverless runtime",
        is_for: |signed_in| signed_in.can(Capability::Administer),
        start: |signed_in, name| Box::pin(try_it::start(signed_in, name)),
    });
    pages.api(ProductApi {
        title: "the serverless API",
        base: "/serverless-runtimes",
        errors: ErrorFormat::Cognit,
        headers: Vec::new(),
    });
    pages.resource("serverless", page);
    pages.audited("serverless", |path| page(path.strip_prefix("/serverless-runtimes/")?));
    pages.made(made);
}

fn page(id: &str) -> Option<String> {
    let id: u32 = id.parse().ok()?;
    Some(format!("{AT}/{id}"))
}

/// A serverless runtime gets its number while it is made.
fn made(detail: &OperationDetail) -> Option<String> {
    let is_new = detail.operation.resource.as_deref()?.starts_with("serverless:new:");
    let document = detail.state.get("document")?.as_u64()?;
    is_new.then(|| format!("serverless:{document}"))
}

fn routes() -> Router<ConsoleState> {
    Router::new()
        .route("/console/serverless", get(list::list))
        // OpenNebula sends no events.
        .route("/console/serverless/rows", get(now::<list::Filters>))
        .route("/console/serverless/new", get(new::form).post(new::create))
        .route("/console/serverless/operations/{id}", get(operation::show))
        .route("/console/serverless/operations/{id}/live", get(operation::live))
        .route("/console/serverless/{id}", get(show::show))
        .route("/console/serverless/{id}/now", get(show::now))
        .route("/console/serverless/{id}/resize", get(resize::form).post(resize::resize))
        .route("/console/serverless/{id}/delete", post(remove::remove))
}

fn chip(state: Option<&State>) -> Chip {
    match state {
        Some(State::Running) => Chip::new(Tone::Good, Icon::Check, "running"),
        Some(State::Pending) => Chip::new(Tone::Waits, Icon::Clock, "pending"),
        Some(State::Updating) => Chip::new(Tone::Busy, Icon::Play, "updating"),
        Some(State::Error) => Chip::new(Tone::Bad, Icon::Cross, "error"),
        None => Chip::new(Tone::Quiet, Icon::Slash, "unknown"),
    }
}

/// A name for people.
fn name(runtime: &ServerlessRuntime) -> String {
    match (&runtime.name, runtime.id) {
        (Some(name), _) if !name.is_empty() => name.clone(),
        (_, Some(id)) => format!("Runtime {id}"),
        _ => "Runtime".to_owned(),
    }
}

/// Megabytes as people read them.
fn size(megabytes: Option<&u32>) -> String {
    match megabytes {
        None => "–".to_owned(),
        Some(size) if *size >= 1024 && size.is_multiple_of(1024) => format!("{} GB", size / 1024),
        Some(size) => format!("{size} MB"),
    }
}

/// The operation that was begun.
fn begun(answer: &ApiResponse) -> Result<Uuid, PageError> {
    Ok(answer.json::<RuntimeProgress>()?.operation.id)
}

#[cfg(test)]
mod tests {
    #[test]
    fn sizes_are_short() {
        for (size, text) in
            [(None, "–"), (Some(768), "768 MB"), (Some(1024), "1 GB"), (Some(1500), "1500 MB")]
        {
            assert_eq!(super::size(size.as_ref()), text);
        }
    }
}
