//! `/console/launches/{id}/parameters`: where and how, for a launch that was asked for without it.

use ::launch::api::wire::Pubkey;
use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::Value;

use super::show::find;
use crate::api::LAUNCH;
use crate::desk::{Desk, Hub};
use crate::fields::Fields;
use crate::flash::Flash;
use crate::launch::draft::Draft;
use crate::launch::place::Place;
use crate::launch::step::Step;
use crate::launch::wizard::Wizard;
use crate::launch::{check, key, request};
use crate::path;
use crate::shell::Shell;
use crate::trouble::{Flaw, Trouble};
use crate::visitor::Visitor;

#[derive(Template)]
#[template(path = "launches/parameters.html")]
struct Give {
    csrf: String,
    id: String,
    wizard: Wizard,
    place: Place,
    keys: Vec<Pubkey>,
}

pub(super) async fn form(State(desk): State<Desk>, visitor: Visitor, Path(id): Path<String>) -> Response {
    let mut draft = Draft::new();
    match find(&visitor.api, &id).await {
        Ok(launch) => {
            draft.set("image", "build");
            let arch = launch.image.get("architecture").and_then(Value::as_str).unwrap_or_default();
            draft.set("architecture", arch);
        }
        Err(trouble) => return trouble.page(&desk, &visitor),
    }
    draw(&desk, &visitor, id, Wizard::at(Step::Where, draft)).await
}

pub(super) async fn give(
    State(desk): State<Desk>,
    visitor: Visitor,
    Path(id): Path<String>,
    fields: Fields,
) -> Response {
    let draft = Draft::read(&fields);
    let mut flaws = check::step(Step::Where, &draft);
    flaws.extend(check::step(Step::Key, &draft));
    if fields.text("search") == "yes" || !flaws.is_empty() {
        let flaws = if fields.text("search") == "yes" { Vec::new() } else { flaws };
        let wizard = Wizard { flaws, typed: fields, ..Wizard::at(Step::Where, draft) };
        return draw(&desk, &visitor, id, wizard).await;
    }
    let back = format!("/console/launches/{}", path::part(&id));
    let path = format!("{LAUNCH}/launches/{}/parameters", path::part(&id));
    match visitor.api.post(&path, &request::parameters(&draft)).await {
        Ok(_) => Flash::good("It knows where to launch now.").at(&back),
        Err(trouble) => {
            let note = trouble.flaws.is_empty().then(|| trouble.line());
            let flaws: Vec<Flaw> =
                trouble.flaws.into_iter().map(|flaw| request::place(flaw, &draft)).collect();
            let wizard = Wizard { flaws, note, typed: fields, ..Wizard::at(Step::Where, draft) };
            draw(&desk, &visitor, id, wizard).await
        }
    }
}

async fn draw(desk: &Hub, visitor: &Visitor, id: String, mut wizard: Wizard) -> Response {
    let is_good = wizard.flaws.is_empty() && wizard.note.is_none();
    let status = if is_good { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let found = async {
        let mut place = Place::find(&mut wizard, &visitor.api).await?;
        place.again = format!("/console/launches/{}/parameters", path::part(&id));
        let keys = key::keys(&mut wizard, &visitor.api).await?;
        Ok::<_, Trouble>((place, keys))
    };
    match found.await {
        Ok((place, keys)) => {
            let shell = Shell::new(desk, visitor, &crate::launches::SECTION, "Where to launch it");
            shell.page_with(status, &Give { csrf: visitor.word.clone(), id, wizard, place, keys })
        }
        Err(trouble) => trouble.page(desk, visitor),
    }
}
