//! `/console/launch/{step}`: from page to page, and in the end `POST /console/launch/now`.

use crate::api::types::Launch;
use crate::api::wire::{Source, UploadInfo};
use axum::extract::{Path, Query};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::response::Response;
use cloud::ProviderKind;
use serde::Deserialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::super::LAUNCH;
use super::begin::{learn, may};
use super::draft::Draft;
use super::field::FieldNote;
use super::step::WizardStep;
use super::types::Types;
use super::wizard::{Wizard, step_path};
use super::{check, key, preset, public_key, request, review};
use console::live::part;
use console::{ApiClient, Fields, Flash, FormError, PageError, SignedIn, html, path, see_other};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct DraftQuery {
    draft: String,
    /// A page to which the draft could not go on: everything before it is checked.
    checked: String,
}

/// `GET /console/launch/{step}`: a page of a draft, as it was left.
pub(super) async fn page(
    signed_in: SignedIn,
    Path(slug): Path<String>,
    Query(shown): Query<DraftQuery>,
) -> Response {
    if let Err(page_error) = may(&signed_in) {
        return page_error.page(&signed_in);
    }
    let Some(step) = WizardStep::named(&slug) else {
        return PageError::missing("page at this address").page(&signed_in);
    };
    let draft = match kept(&signed_in, &shown.draft).await {
        Ok(Some(draft)) => draft,
        Ok(None) if shown.draft.is_empty() => return see_other("/console/launch"),
        Ok(None) => return Flash::bad("This draft has expired. Here is a new one.").at("/console/launch"),
        Err(page_error) => return page_error.page(&signed_in),
    };
    let field_errors =
        WizardStep::named(&shown.checked).map(|to| review::field_errors(&draft, to)).unwrap_or_default();
    Wizard { field_errors, ..Wizard::at(step, draft) }.draw(&signed_in).await
}

/// The draft with this id, if this session has it.
pub(super) async fn kept(signed_in: &SignedIn, id: &str) -> Result<Option<Draft>, PageError> {
    let pairs: Option<Vec<(String, String)>> = signed_in.draft(id).await?;
    Ok(pairs.map(|pairs| Draft::read(&Fields::from(pairs))))
}

/// What is kept, with the fields of the page that sends them. A form without a draft holds everything itself.
pub(super) async fn current(signed_in: &SignedIn, fields: &Fields) -> Result<Draft, PageError> {
    let Some(mut draft) = kept(signed_in, fields.text("draft")).await? else {
        return Ok(Draft::read(fields));
    };
    if let Some(at) = WizardStep::named(fields.text("at")) {
        draft.take(fields, at);
    }
    Ok(draft)
}

/// Keeps the draft and leads to one of its pages.
async fn lead(signed_in: &SignedIn, draft: &Draft, to: WizardStep, checked: Option<WizardStep>) -> Response {
    if let Err(page_error) = signed_in.save_draft(draft.id(), &draft.pairs()).await {
        return page_error.page(signed_in);
    }
    let checked = checked.map(|step| format!("&checked={}", step.slug())).unwrap_or_default();
    see_other(&format!("{}{checked}", step_path(to, draft)))
}

pub(super) async fn go(signed_in: SignedIn, Path(slug): Path<String>, fields: Fields) -> Response {
    if let Err(page_error) = may(&signed_in) {
        return page_error.page(&signed_in);
    }
    let Some(to) = WizardStep::named(&slug) else {
        return PageError::missing("page at this address").page(&signed_in);
    };
    let at = WizardStep::named(fields.text("at")).unwrap_or(WizardStep::Image);
    let mut draft = match current(&signed_in, &fields).await {
        Ok(draft) => draft,
        Err(page_error) => return page_error.page(&signed_in),
    };
    let chosen = ProviderKind::clouds().find(|cloud| cloud.as_str() == fields.text("cloud"));
    if let Some(cloud) = chosen {
        draft.choose_cloud(cloud);
        preset::fill(&mut draft, &signed_in).await;
        return lead(&signed_in, &draft, to, None).await;
    }
    if fields.text("defer") == "yes" {
        draft.set("later", "yes");
    }
    if at == WizardStep::Image {
        learn(&mut draft, &signed_in.api).await;
    }
    adopt(&mut draft, fields.text("type_search"), &signed_in.api).await;
    if fields.text("search") == "yes" {
        // What is searched for is not a part of the draft.
        return match signed_in.save_draft(draft.id(), &draft.pairs()).await {
            Ok(()) => Wizard { typed: fields, ..Wizard::at(to, draft) }.draw(&signed_in).await,
            Err(page_error) => page_error.page(&signed_in),
        };
    }
    let field_errors = if to > at { review::field_errors(&draft, to) } else { Vec::new() };
    match field_errors.iter().map(|field_error| WizardStep::of(&field_error.field)).min() {
        Some(with_field_errors) => lead(&signed_in, &draft, with_field_errors, Some(to)).await,
        None => lead(&signed_in, &draft, to, None).await,
    }
}

/// A type whose whole name was typed is chosen.
async fn adopt(draft: &mut Draft, search: &str, api: &ApiClient) {
    if !search.is_empty() && !draft.is("instance_type", search) && Types::has(api, draft, search).await {
        draft.set("instance_type", search);
    }
}

pub(super) async fn now(signed_in: SignedIn, fields: Fields) -> Response {
    let mut draft = match current(&signed_in, &fields).await {
        Ok(draft) => draft,
        Err(page_error) => return page_error.page(&signed_in),
    };
    let field_errors = review::field_errors(&draft, WizardStep::Review);
    if !field_errors.is_empty() {
        return Wizard::corrected(draft, field_errors, None).draw(&signed_in).await;
    }
    match send(&signed_in.api, &draft).await {
        Ok(launch) => {
            // The user who corrects the launch later begins with it. Without it they begin with what the launch tells.
            let _ = signed_in.save_draft(&sent(&launch.id), &draft.pairs()).await;
            let at = format!("/console/launches/{}", launch.id);
            Flash::good("Launch started.").while_running().at(&at)
        }
        Err(page_error) => {
            let note = if page_error.status == StatusCode::CONFLICT {
                draft.renew();
                format!("{} Launch again if you want one more.", page_error.line())
            } else {
                page_error.line()
            };
            let field_errors: Vec<FormError> = page_error
                .field_errors
                .into_iter()
                .map(|field_error| request::field_of_page(field_error, &draft))
                .collect();
            let note = field_errors.is_empty().then_some(note);
            if let Err(page_error) = signed_in.save_draft(draft.id(), &draft.pairs()).await {
                return page_error.page(&signed_in);
            }
            Wizard::corrected(draft, field_errors, note).draw(&signed_in).await
        }
    }
}

/// Under which the draft of a launch is kept after it was sent.
pub(super) fn sent(launch: &Uuid) -> String {
    format!("sent-{launch}")
}

async fn send(api: &ApiClient, draft: &Draft) -> Result<Launch, PageError> {
    let upload = if draft.builds() { upload_options(api, draft).await? } else { Map::new() };
    let once = HeaderValue::from_str(draft.get("once")).unwrap_or(HeaderValue::from_static("none"));
    let body = request::launch(draft, &upload);
    let path = format!("{LAUNCH}/launches");
    api.send(Method::POST, &path, &[(IDEMPOTENCY_KEY, once)], Some(&body)).await?.json()
}

/// An image goes where the account that launches it can start it.
async fn upload_options(api: &ApiClient, draft: &Draft) -> Result<Map<String, Value>, PageError> {
    let source = draft.get("source_id");
    let info: UploadInfo = api
        .get(&format!("{LAUNCH}/sources/{}/upload_info", path::part(source)))
        .await
        .map_err(|page_error| {
            let text = page_error.line();
            let field_error = FormError { field: "source_id".to_owned(), text, hint: None };
            PageError { field_errors: vec![field_error], ..page_error }
        })?;
    let mut options = info.upload_options;
    let needed = draft.spec().build.upload_options;
    let group = draft.given("resource_group").filter(|_| needed.contains(&"resource_group"));
    options.extend(group.map(|group| ("resource_group".to_owned(), group.into())));
    Ok(options)
}

/// `POST /console/launch/account`: an account that is created on the way, and nothing of the draft is lost.
pub(super) async fn account(signed_in: SignedIn, fields: Fields) -> Response {
    let mut draft = match current(&signed_in, &fields).await {
        Ok(draft) => draft,
        Err(page_error) => return page_error.page(&signed_in),
    };
    match create_account(&signed_in.api, &fields, draft.provider(), "new_").await {
        Ok(source) => {
            draft.set("source_id", &source.id);
            lead(&signed_in, &draft, WizardStep::Where, None).await
        }
        Err(page_error) => {
            let note = Some(format!("The account was not created. {}", page_error.line()));
            Wizard { note, typed: fields, ..Wizard::at(WizardStep::Where, draft) }.draw(&signed_in).await
        }
    }
}

/// `POST /console/launch/summary`: what is chosen so far, while it is chosen.
pub(super) async fn summary(signed_in: SignedIn, fields: Fields) -> Response {
    let drawn = async { review::Summary::draw(&current(&signed_in, &fields).await?, &signed_in.api).await };
    part(drawn.await)
}

pub(super) async fn create_account(
    api: &ApiClient,
    fields: &Fields,
    cloud: ProviderKind,
    prefix: &str,
) -> Result<Source, PageError> {
    let names = cloud.spec().form.account_fields().map(|field| field.name);
    let given = std::iter::once("name").chain(names).filter_map(|name| {
        let value = fields.given(&format!("{prefix}{name}"))?;
        Some((name.to_owned(), Value::from(value)))
    });
    let mut body: Map<String, Value> = given.collect();
    body.insert("provider".to_owned(), cloud.as_str().into());
    api.post(&format!("{LAUNCH}/sources"), &body).await?.json()
}

/// `POST /console/launch/check/{field}`: one field, while a user types.
pub(super) async fn check(Path(field): Path<String>, signed_in: SignedIn, fields: Fields) -> Response {
    let draft = match current(&signed_in, &fields).await {
        Ok(draft) => draft,
        Err(page_error) => return page_error.page(&signed_in),
    };
    let said = match field.as_str() {
        "pubkey_body" => key::told(fields.text(&field), draft.spec().keys.accepts),
        // It is kept for all clouds, and each takes what it accepts.
        "body" => key::told(fields.text(&field), |_| true),
        "users" => users(&draft),
        name => FieldNote::from(check::field(name, &draft)),
    };
    html(StatusCode::OK, &said)
}

fn users(draft: &Draft) -> FieldNote {
    let field_error = check::field("users", draft);
    let known = draft.users.iter().filter_map(|user| public_key::look(&user.key, public_key::USUAL).ok());
    let known: Vec<String> = known.map(|known| format!("{} {}", known.kind, known.fingerprint)).collect();
    match field_error {
        None if !known.is_empty() => FieldNote::good(known.join(", ")),
        field_error => FieldNote::from(field_error),
    }
}
