//! `/console/launch/keys`: public keys.

use crate::api::rights::Verb;
use crate::api::wire::{NewPublicKey, PublicKeyList, PublicKeyResponse, Warnings};
use askama::Template;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::super::LAUNCH;
use super::field::{FormField, sentence};
use console::list::ListPosition;
use console::parts::{NEWEST_FIRST, Pager};
use console::{CsrfToken, Fields, Flash, PageError, Shell, SignedIn, confirm};

const AT: &str = "/console/launch/keys";
const SHOWN: u64 = 50;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct KeySearch {
    cursor: String,
}

#[derive(Template)]
#[template(path = "new/keys.html")]
struct KeyResults {
    csrf: CsrfToken,
    keys: Vec<PublicKeyResponse>,
    pager: Pager,
    may_change: bool,
    typed: Fields,
    page_error: Option<PageError>,
}

impl KeyResults {
    fn field(&self, name: &'static str, label: &'static str) -> FormField {
        FormField::typed(name, label, &self.typed, self.page_error.as_ref())
    }

    fn note(&self) -> Option<String> {
        self.page_error
            .as_ref()
            .filter(|page_error| page_error.field_errors.is_empty())
            .map(|page_error| sentence(&page_error.line()))
    }
}

fn shell(signed_in: &SignedIn) -> Shell {
    Shell::new(signed_in, &super::super::launches::SECTION, "Public keys")
}

pub(super) async fn list(signed_in: SignedIn, Query(asked): Query<KeySearch>) -> Response {
    match draw(&signed_in, &asked.cursor, Fields::default(), None).await {
        Ok(keys) => shell(&signed_in).page(&keys),
        Err(page_error) => page_error.page(&signed_in),
    }
}

async fn draw(
    signed_in: &SignedIn,
    cursor: &str,
    typed: Fields,
    page_error: Option<PageError>,
) -> Result<KeyResults, PageError> {
    let position = ListPosition::new(cursor, SHOWN);
    let at = format!("{LAUNCH}/pubkeys?sort=-id&limit={SHOWN}&offset={}", position.offset);
    let found: PublicKeyList = signed_in.api.get(&at).await?;
    let first = (!cursor.is_empty()).then(|| AT.to_owned());
    let next = position.next(found.metadata.total).map(|next| format!("{AT}?cursor={next}"));
    let pager = Pager::new(NEWEST_FIRST, first, next);
    Ok(KeyResults {
        csrf: signed_in.csrf.clone(),
        keys: found.data,
        pager,
        may_change: signed_in.may("pubkey", Verb::Write),
        typed,
        page_error,
    })
}

pub(super) async fn create(signed_in: SignedIn, fields: Fields) -> Response {
    let new = NewPublicKey { name: fields.text("name").to_owned(), body: fields.text("body").to_owned() };
    let page_error = match signed_in.api.post(&format!("{LAUNCH}/pubkeys"), &new).await {
        Ok(_) => return Flash::good(format!("Public key {} created.", new.name)).at(AT),
        // Who may not create any has no form that could say it.
        Err(page_error) if page_error.status == StatusCode::FORBIDDEN => return page_error.page(&signed_in),
        Err(page_error) => page_error,
    };
    match draw(&signed_in, "", fields, Some(page_error)).await {
        Ok(keys) => shell(&signed_in).page_with(StatusCode::UNPROCESSABLE_ENTITY, &keys),
        Err(page_error) => page_error.page(&signed_in),
    }
}

pub(super) async fn delete(signed_in: SignedIn, Path(id): Path<i64>, fields: Fields) -> Response {
    if !confirm::is_confirmed(&fields) {
        let question = "Delete this key? It is also deleted in the accounts to which launches uploaded it.";
        return confirm::page(&signed_in, &super::super::launches::SECTION, question, "Delete", AT, &fields);
    }
    match signed_in.api.delete(&format!("{LAUNCH}/pubkeys/{id}")).await {
        Ok(answer) => match answer.json::<Option<Warnings>>() {
            Ok(Some(left)) => Flash::bad(format!("Public key deleted. {}", left.warnings.join(" "))).at(AT),
            _ => Flash::good("Public key deleted.").at(AT),
        },
        Err(page_error) => Flash::bad(page_error.line()).at(AT),
    }
}
