//! `POST /console/launch/{step}`: from page to page, and in the end `POST /console/launch/now`.

use crate::api::types::Launch;
use crate::api::wire::{Source, UploadInfo};
use axum::extract::Path;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::response::Response;
use serde_json::{Map, Value};

use super::super::LAUNCH;
use super::begin::{learn, may};
use super::draft::Draft;
use super::field::Said;
use super::step::Step;
use super::types::Types;
use super::wizard::Wizard;
use super::{check, key, public_key, request, review};
use console::{Api, Fields, Flash, Flaw, Trouble, Visitor, html, path, see_other};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The fields of an account that is added on the way.
const ACCOUNT: [&str; 5] = ["name", "arn", "external_id", "access_key_id", "secret_access_key"];

/// Somebody came by the address, and so without a draft.
pub(super) async fn anew() -> Response {
    see_other("/console/launch")
}

pub(super) async fn go(visitor: Visitor, Path(slug): Path<String>, fields: Fields) -> Response {
    if let Err(trouble) = may(&visitor) {
        return trouble.page(&visitor);
    }
    let Some(to) = Step::named(&slug) else {
        return Trouble::missing("page at this address").page(&visitor);
    };
    let at = Step::named(fields.text("at")).unwrap_or(Step::Image);
    let mut draft = Draft::read(&fields);
    if fields.text("later").is_empty() && fields.text("defer") == "yes" {
        draft.set("later", "yes");
    }
    if at == Step::Image {
        learn(&mut draft, &visitor.api).await;
    }
    adopt(&mut draft, fields.text("type_search"), &visitor.api).await;
    let flaws = if to > at { review::flaws(&draft, to) } else { Vec::new() };
    let wizard = if flaws.is_empty() { Wizard::at(to, draft) } else { Wizard::corrected(draft, flaws, None) };
    Wizard { typed: fields, ..wizard }.draw(&visitor).await
}

/// Whoever typed the whole name of a type has chosen it.
async fn adopt(draft: &mut Draft, search: &str, api: &Api) {
    if !search.is_empty() && draft.get("instance_type").is_empty() && Types::has(api, draft, search).await {
        draft.set("instance_type", search);
    }
}

pub(super) async fn now(visitor: Visitor, fields: Fields) -> Response {
    let mut draft = Draft::read(&fields);
    let flaws = review::flaws(&draft, Step::Review);
    if !flaws.is_empty() {
        return Wizard::corrected(draft, flaws, None).draw(&visitor).await;
    }
    match send(&visitor.api, &draft).await {
        Ok(launch) => {
            Flash::good("Launch started.").while_running().at(&format!("/console/launches/{}", launch.id))
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
            Wizard::corrected(draft, flaws, note).draw(&visitor).await
        }
    }
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
    let mut draft = Draft::read(&fields);
    match add_account(&visitor.api, &fields, "new_").await {
        Ok(source) => {
            draft.set("source_id", &source.id);
            Wizard::at(Step::Where, draft).draw(&visitor).await
        }
        Err(trouble) => {
            let note = Some(format!("The account was not added. {}", trouble.line()));
            Wizard { note, typed: fields, ..Wizard::at(Step::Where, draft) }.draw(&visitor).await
        }
    }
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
pub(super) async fn check(Path(field): Path<String>, _: Visitor, fields: Fields) -> Response {
    let draft = Draft::read(&fields);
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
