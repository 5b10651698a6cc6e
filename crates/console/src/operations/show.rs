//! `GET /console/operations/{id}`, and the stream that keeps it true.

use api::types::OperationDetail;
use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use engine::{OperationId, Timestamp};
use serde::Deserialize;
use uuid::Uuid;

use super::about::OperationAbout;
use super::journal::{Journal, JournalLines, JournalQuery};
use super::knows::Knows;
use super::look::{StatusLook, Story, id_of};
use super::waterfall::Waterfall;
use super::why::Why;
use crate::live::{LiveTopic as Watched, OpenPage, Picture, stream};
use crate::page_error::PageError;
use crate::parts::{Patches, ShortId, appended};
use crate::shared::ConsoleState;
use crate::shell::Shell;
use crate::signed_in::SignedIn;

#[derive(Template)]
#[template(path = "operations/show.html")]
struct OperationView {
    id: Uuid,
    workflow: String,
    /// What people call it: the name that was given, or what it works on.
    name: Option<String>,
    pieces: Pieces,
    journal: Journal,
}

/// What changes while an operation goes on, each under an id of its own.
struct Pieces {
    why: Why,
    about: OperationAbout,
    waterfall: Waterfall,
    knows: Knows,
}

impl Pieces {
    fn new(look: &StatusLook, story: &Story, signed_in: &SignedIn, now: Timestamp) -> Pieces {
        Pieces {
            why: Why::new(look, signed_in),
            about: OperationAbout::new(
                ConsoleState::clone(&signed_in.shared),
                &look.detail,
                story.by.clone(),
            ),
            waterfall: Waterfall::new(&look.detail, &story.timeline, now),
            knows: Knows::new(&look.detail),
        }
    }

    fn parts(&self) -> Result<[(&'static str, String); 4], askama::Error> {
        Ok([
            ("now-why", self.why.render()?),
            ("now-steps", self.waterfall.render()?),
            ("now-about", self.about.render()?),
            ("now-knows", self.knows.render()?),
        ])
    }
}

pub(super) async fn show(
    signed_in: SignedIn,
    Path(id): Path<String>,
    Query(wanted): Query<JournalQuery>,
) -> Response {
    match draw(&signed_in, &id, wanted).await {
        Ok(show) => {
            let title = match &show.name {
                Some(name) => format!("{name} · {}", show.workflow),
                None => show.workflow.clone(),
            };
            Shell::new(&signed_in, &crate::operations::SECTION, &title).page(&show)
        }
        Err(page_error) => page_error.page(&signed_in),
    }
}

async fn draw(signed_in: &SignedIn, id: &str, wanted: JournalQuery) -> Result<OperationView, PageError> {
    let id = id_of(id)?;
    let look = StatusLook::at(&signed_in.api, id).await?;
    let mut story = Story::default();
    story.read_on(&signed_in.api, id).await?;
    let workflow = look.detail.operation.workflow.clone();
    let name = name(&look.detail);
    let pieces = Pieces::new(&look, &story, signed_in, signed_in.shared.inside.engine().now());
    let journal = Journal::new(id, &story, wanted, look.detail.operation.phase.is_final());
    Ok(OperationView { id, workflow, name, pieces, journal })
}

/// Where workflows have the name of what they make, for operations of releases that saved no name.
const NAMES: [&str; 3] = ["/parameters/name", "/name", "/instance_name"];

fn name(detail: &OperationDetail) -> Option<String> {
    if let Some(name) = &detail.operation.name {
        return Some(name.clone());
    }
    let given = NAMES.iter().find_map(|pointer| detail.params.pointer(pointer)?.as_str());
    let given = given.filter(|name| !name.trim().is_empty()).map(str::to_owned);
    given.or_else(|| detail.operation.resource.clone())
}

/// What the page has already, and what of the journal it wants.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Followed {
    after: u32,
    kind: String,
    step: String,
    q: String,
}

pub(super) async fn live(
    State(shared): State<ConsoleState>,
    signed_in: SignedIn,
    Path(id): Path<String>,
    Query(followed): Query<Followed>,
) -> Response {
    let Ok(id) = id_of(&id) else { return StatusCode::NOT_FOUND.into_response() };
    let Followed { after, kind, step, q } = followed;
    let wanted = JournalQuery { kind, step, q, before: None };
    let follower = Follower {
        shared: ConsoleState::clone(&shared),
        signed_in: signed_in.clone(),
        id,
        after,
        wanted,
        story: Story::default(),
        patches: Patches::default(),
    };
    stream(&signed_in, Watched::Operation(OperationId(id)), follower)
}

/// One open page.
struct Follower {
    shared: ConsoleState,
    signed_in: SignedIn,
    id: Uuid,
    after: u32,
    wanted: JournalQuery,
    story: Story,
    patches: Patches,
}

impl OpenPage for Follower {
    async fn draw(&mut self) -> Result<Picture, PageError> {
        let look = StatusLook::at(&self.signed_in.api, self.id).await?;
        let is_first = self.story.last == 0;
        self.story.read_on(&self.signed_in.api, self.id).await?;
        let entries = std::mem::take(&mut self.story.entries);
        let fresh = entries.iter().filter(|entry| entry.seq > self.after);
        let fresh = JournalLines::of(fresh, &self.wanted, self.story.timeline.begun);
        let pieces = Pieces::new(&look, &self.story, &self.signed_in, self.shared.inside.engine().now());
        let broken = |error: askama::Error| {
            PageError::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal error", error.to_string())
        };
        let mut html = self.patches.of(&pieces.parts().map_err(broken)?);
        let lines = fresh.render().map_err(broken)?;
        if is_first {
            // The user who lost the connection may have some of these lines already.
            html += &self.patches.of(&[("fresh", lines)]);
        } else if !fresh.is_empty() {
            html += &appended("fresh", &lines);
        }
        Ok(Picture { html, is_last: look.detail.operation.phase.is_final() })
    }
}
