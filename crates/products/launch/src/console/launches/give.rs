//! `/console/launches/{id}/parameters`: where and how, for a launch that was asked for without it.

use crate::api::types::LaunchImage;
use crate::api::wire::Pubkey;
use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;

use super::super::LAUNCH;
use super::super::new::draft::Draft;
use super::super::new::place::{Place, REGIONS};
use super::super::new::step::Step;
use super::super::new::wizard::Wizard;
use super::super::new::{check, key, request};
use super::show::find;
use console::{CsrfToken, Fields, Flash, Flaw, Shell, Trouble, Visitor, path};

#[derive(Template)]
#[template(path = "launches/parameters.html")]
struct Give {
    csrf: CsrfToken,
    id: String,
    wizard: Wizard,
    place: Place,
    keys: Vec<Pubkey>,
}

pub(super) async fn form(visitor: Visitor, Path(id): Path<String>) -> Response {
    let mut draft = Draft::new();
    match find(&visitor.api, &id).await {
        Ok(launch) => {
            draft.set("image", "build");
            if let LaunchImage::Build { architecture, .. } = &launch.image {
                draft.set("architecture", architecture);
            }
        }
        Err(trouble) => return trouble.page(&visitor),
    }
    draw(&visitor, id, Wizard::at(Step::Where, draft)).await
}

pub(super) async fn give(visitor: Visitor, Path(id): Path<String>, fields: Fields) -> Response {
    let draft = Draft::read(&fields);
    let mut flaws = check::step(Step::Where, &draft);
    flaws.extend(check::step(Step::Key, &draft));
    if fields.text("search") == "yes" || !flaws.is_empty() {
        let flaws = if fields.text("search") == "yes" { Vec::new() } else { flaws };
        let wizard = Wizard { flaws, typed: fields, ..Wizard::at(Step::Where, draft) };
        return draw(&visitor, id, wizard).await;
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
            draw(&visitor, id, wizard).await
        }
    }
}

async fn draw(visitor: &Visitor, id: String, mut wizard: Wizard) -> Response {
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
            let shell = Shell::new(visitor, &super::SECTION, "Where to launch it");
            shell.page_with(status, &Give { csrf: visitor.csrf.clone(), id, wizard, place, keys })
        }
        Err(trouble) => trouble.page(visitor),
    }
}
