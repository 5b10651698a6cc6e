//! `/console/launch/{step}`: from page to page, and in the end `POST /console/launch/now`.

use crate::api::types::Launch;
use crate::api::wire::{Source, UploadInfo};
use axum::extract::{Path, Query};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::super::LAUNCH;
use super::begin::{learn, may};
use super::draft::Draft;
use super::field::Said;
use super::step::Step;
use super::types::Types;
use super::wizard::{Wizard, place};
use super::{check, key, public_key, request, review};
use console::live::part;
use console::{Api, Fields, Flash, Flaw, Trouble, Visitor, html, path, see_other};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The fields of an account that is added on the way.
const ACCOUNT: [&str; 5] = ["name", "arn", "external_id", "access_key_id", "secret_access_key"];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Shown {
    draft: String,
    /// A page to which the draft could not go on: everything before it is checked.
    checked: String,
}

/// `GET /console/launch/{step}`: a page of a draft, as it was left.
pub(super) async fn page(visitor: Visitor, Path(slug): Path<String>, Query(shown): Query<Shown>) -> Response {
    if let Err(trouble) = may(&visitor) {
        return trouble.page(&visitor);
    }
    let Some(step) = Step::named(&slug) else {
        return Trouble::missing("page at this address").page(&visitor);
    };
    let draft = match kept(&visitor, &shown.draft).await {
        Ok(Some(draft)) => draft,
        Ok(None) if shown.draft.is_empty() => return see_other("/console/launch"),
        Ok(None) => return Flash::bad("This draft has expired. Here is a new one.").at("/console/launch"),
        Err(trouble) => return trouble.page(&visitor),
    };
    let flaws = Step::named(&shown.checked).map(|to| review::flaws(&draft, to)).unwrap_or_default();
    Wizard { flaws, ..Wizard::at(step, draft) }.draw(&visitor).await
}

/// The draft with this id, if this session has it.
pub(super) async fn kept(visitor: &Visitor, id: &str) -> Result<Option<Draft>, Trouble> {
    let pairs: Option<Vec<(String, String)>> = visitor.draft(id).await?;
    Ok(pairs.map(|pairs| Draft::read(&Fields::from(pairs))))
}

/// What is kept, with the fields of the page that sends them. A form without a draft holds everything itself.
pub(super) async fn current(visitor: &Visitor, fields: &Fields) -> Result<Draft, Trouble> {
    let Some(mut draft) = kept(visitor, fields.text("draft")).await? else { return Ok(Draft::read(fields)) };
    if let Some(at) = Step::named(fields.text("at")) {
        draft.take(fields, at);
    }
    Ok(draft)
}

/// Keeps the draft and leads to one of its pages.
async fn lead(visitor: &Visitor, draft: &Draft, to: Step, checked: Option<Step>) -> Response {
    if let Err(trouble) = visitor.save_draft(draft.id(), &draft.pairs()).await {
        return trouble.page(visitor);
    }
    let checked = checked.map(|step| format!("&checked={}", step.slug())).unwrap_or_default();
    see_other(&format!("{}{checked}", place(to, draft)))
}

pub(super) async fn go(visitor: Visitor, Path(slug): Path<String>, fields: Fields) -> Response {
    if let Err(trouble) = may(&visitor) {
        return trouble.page(&visitor);
    }
    let Some(to) = Step::named(&slug) else {
        return Trouble::missing("page at this address").page(&visitor);
    };
    let at = Step::named(fields.text("at")).unwrap_or(Step::Image);
    let mut draft = match current(&visitor, &fields).await {
        Ok(draft) => draft,
        Err(trouble) => return trouble.page(&visitor),
    };
    if fields.text("defer") == "yes" {
        draft.set("later", "yes");
    }
    if at == Step::Image {
        learn(&mut draft, &visitor.api).await;
    }
    adopt(&mut draft, fields.text("type_search"), &visitor.api).await;
    if fields.text("search") == "yes" {
        // What is searched for is not a part of the draft.
        return match visitor.save_draft(draft.id(), &draft.pairs()).await {
            Ok(()) => Wizard { typed: fields, ..Wizard::at(to, draft) }.draw(&visitor).await,
            Err(trouble) => trouble.page(&visitor),
        };
    }
    let flaws = if to > at { review::flaws(&draft, to) } else { Vec::new() };
    match flaws.iter().map(|flaw| Step::of(&flaw.field)).min() {
        Some(flawed) => lead(&visitor, &draft, flawed, Some(to)).await,
        None => lead(&visitor, &draft, to, None).await,
    }
}

/// A type whose whole name was typed is chosen.
async fn adopt(draft: &mut Draft, search: &str, api: &Api) {
    if !search.is_empty() && !draft.is("instance_type", search) && Types::has(api, draft, search).await {
        draft.set("instance_type", search);
    }
}

pub(super) async fn now(visitor: Visitor, fields: Fields) -> Response {
    let mut draft = match current(&visitor, &fields).await {
        Ok(draft) => draft,
        Err(trouble) => return trouble.page(&visitor),
    };
    let flaws = review::flaws(&draft, Step::Review);
    if !flaws.is_empty() {
        return Wizard::corrected(draft, flaws, None).draw(&visitor).await;
    }
    match send(&visitor.api, &draft).await {
        Ok(launch) => {
            // Whoever corrects the launch later begins with it. Without it they begin with what the launch tells.
            let _ = visitor.save_draft(&sent(&launch.id), &draft.pairs()).await;
            let at = format!("/console/launches/{}", launch.id);
            Flash::good("Launch started.").while_running().at(&at)
        }
        Err(trouble) => {
            let note = if trouble.status == StatusCode::CONFLICT {
                draft.renew();
                format!("{} Launch again if you want one more.", trouble.line())
            } else {
                trouble.line()
            };
            let flaws: Vec<Flaw> =
                trouble.flaws.into_iter().map(|flaw| request::place(flaw, &draft)).collect();
            let note = flaws.is_empty().then_some(note);
            if let Err(trouble) = visitor.save_draft(draft.id(), &draft.pairs()).await {
                return trouble.page(&visitor);
            }
            Wizard::corrected(draft, flaws, note).draw(&visitor).await
        }
    }
}

/// Under which the draft of a launch is kept after it was sent.
pub(super) fn sent(launch: &Uuid) -> String {
    format!("sent-{launch}")
}

async fn send(api: &Api, draft: &Draft) -> Result<Launch, Trouble> {
    let accounts = if draft.builds() { accounts(api, draft.get("source_id")).await? } else { Vec::new() };
    let once = HeaderValue::from_str(draft.get("once")).unwrap_or(HeaderValue::from_static("none"));
    let body = request::launch(draft, &accounts);
    let path = format!("{LAUNCH}/launches");
    api.send(Method::POST, &path, &[(IDEMPOTENCY_KEY, once)], Some(&body)).await?.json()
}

/// An image is shared with the account that launches it.
async fn accounts(api: &Api, source: &str) -> Result<Vec<String>, Trouble> {
    let info: UploadInfo = api
        .get(&format!("{LAUNCH}/sources/{}/upload_info", path::part(source)))
        .await
        .map_err(|trouble| {
            let text = trouble.line();
            let flaw = Flaw { field: "source_id".to_owned(), text, hint: None };
            Trouble { flaws: vec![flaw], ..trouble }
        })?;
    Ok(info.aws.map(|aws| aws.account_id).into_iter().filter(|id| !id.is_empty()).collect())
}

/// `POST /console/launch/account`: an account that is added on the way, and nothing of the draft is lost.
pub(super) async fn account(visitor: Visitor, fields: Fields) -> Response {
    let mut draft = match current(&visitor, &fields).await {
        Ok(draft) => draft,
        Err(trouble) => return trouble.page(&visitor),
    };
    match add_account(&visitor.api, &fields, "new_").await {
        Ok(source) => {
            draft.set("source_id", &source.id);
            lead(&visitor, &draft, Step::Where, None).await
        }
        Err(trouble) => {
            let note = Some(format!("The account was not added. {}", trouble.line()));
            Wizard { note, typed: fields, ..Wizard::at(Step::Where, draft) }.draw(&visitor).await
        }
    }
}

/// `POST /console/launch/summary`: what is chosen so far, while it is chosen.
pub(super) async fn summary(visitor: Visitor, fields: Fields) -> Response {
    let drawn = async { review::Summary::draw(&current(&visitor, &fields).await?, &visitor.api).await };
    part(drawn.await)
}

pub(super) async fn add_account(api: &Api, fields: &Fields, prefix: &str) -> Result<Source, Trouble> {
    let given = ACCOUNT.into_iter().filter_map(|name| {
        let value = fields.given(&format!("{prefix}{name}"))?;
        Some((name.to_owned(), Value::from(value)))
    });
    let mut body: Map<String, Value> = given.collect();
    body.insert("provider".to_owned(), "aws".into());
    api.post(&format!("{LAUNCH}/sources"), &body).await?.json()
}

/// `POST /console/launch/check/{field}`: one field, while somebody types.
pub(super) async fn check(Path(field): Path<String>, visitor: Visitor, fields: Fields) -> Response {
    let draft = match current(&visitor, &fields).await {
        Ok(draft) => draft,
        Err(trouble) => return trouble.page(&visitor),
    };
    let said = match field.as_str() {
        "pubkey_body" | "body" => key::told(fields.text(&field)),
        "users" => users(&draft),
        name => Said::from(check::field(name, &draft)),
    };
    html(StatusCode::OK, &said)
}

fn users(draft: &Draft) -> Said {
    let flaw = check::field("users", draft);
    let known = draft.users.iter().filter_map(|user| public_key::look(&user.key).ok());
    let known: Vec<String> = known.map(|known| format!("{} {}", known.kind, known.fingerprint)).collect();
    match flaw {
        None if !known.is_empty() => Said::good(known.join(", ")),
        flaw => Said::from(flaw),
    }
}
