//! `/console/launches/{id}/parameters`: where and how, for a launch that was asked for without it.

use crate::api::types::LaunchImage;
use crate::api::wire::PublicKeyResponse;
use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;

use super::super::LAUNCH;
use super::super::new::draft::Draft;
use super::super::new::region::RegionChoices;
use super::super::new::step::WizardStep;
use super::super::new::wizard::Wizard;
use super::super::new::{check, key, request};
use super::show::find;
use console::{CsrfToken, Fields, Flash, FormError, PageError, Shell, SignedIn, path};

#[derive(Template)]
#[template(path = "launches/parameters.html")]
struct ParametersPage {
    csrf: CsrfToken,
    id: String,
    wizard: Wizard,
    choices: RegionChoices,
    keys: Vec<PublicKeyResponse>,
}

pub(super) async fn form(signed_in: SignedIn, Path(id): Path<String>) -> Response {
    let mut draft = Draft::new();
    match find(&signed_in.api, &id).await {
        Ok(launch) => {
            if let Ok(cloud) = launch.provider.parse() {
                draft.choose_cloud(cloud);
            }
            draft.set("image", "build");
            if let LaunchImage::Build { architecture, .. } = &launch.image {
                draft.set("architecture", architecture);
            }
        }
        Err(page_error) => return page_error.page(&signed_in),
    }
    draw(&signed_in, id, Wizard::at(WizardStep::Where, draft)).await
}

pub(super) async fn submit_parameters(
    signed_in: SignedIn,
    Path(id): Path<String>,
    fields: Fields,
) -> Response {
    let draft = Draft::read(&fields);
    let mut field_errors = check::step(WizardStep::Where, &draft);
    field_errors.extend(check::step(WizardStep::Key, &draft));
    if fields.text("search") == "yes" || !field_errors.is_empty() {
        let field_errors = if fields.text("search") == "yes" { Vec::new() } else { field_errors };
        let wizard = Wizard { field_errors, typed: fields, ..Wizard::at(WizardStep::Where, draft) };
        return draw(&signed_in, id, wizard).await;
    }
    let back = format!("/console/launches/{}", path::part(&id));
    let path = format!("{LAUNCH}/launches/{}/parameters", path::part(&id));
    match signed_in.api.post(&path, &request::parameters(&draft)).await {
        Ok(_) => Flash::good("Parameters submitted.").while_running().at(&back),
        Err(page_error) => {
            let note = page_error.field_errors.is_empty().then(|| page_error.line());
            let field_errors: Vec<FormError> = page_error
                .field_errors
                .into_iter()
                .map(|field_error| request::field_of_page(field_error, &draft))
                .collect();
            let wizard = Wizard { field_errors, note, typed: fields, ..Wizard::at(WizardStep::Where, draft) };
            draw(&signed_in, id, wizard).await
        }
    }
}

async fn draw(signed_in: &SignedIn, id: String, mut wizard: Wizard) -> Response {
    let is_good = wizard.field_errors.is_empty() && wizard.note.is_none();
    let status = if is_good { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let found = async {
        let mut choices = RegionChoices::find(&mut wizard, &signed_in.api).await?;
        choices.again = format!("/console/launches/{}/parameters", path::part(&id));
        let keys = key::keys(&mut wizard, &signed_in.api).await?;
        Ok::<_, PageError>((choices, keys))
    };
    match found.await {
        Ok((choices, keys)) => {
            let shell = Shell::new(signed_in, &super::SECTION, "Where to launch it");
            shell.page_with(
                status,
                &ParametersPage { csrf: signed_in.csrf.clone(), id, wizard, choices, keys },
            )
        }
        Err(page_error) => page_error.page(signed_in),
    }
}
