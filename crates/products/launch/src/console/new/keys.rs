//! `/console/launch/keys`: the public keys that let people in.

use crate::api::rights::Verb;
use crate::api::wire::{NewPubkey, Pubkey, PubkeyList, Warnings};
use askama::Template;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::super::LAUNCH;
use super::field::{Field, Said, sentence};
use console::list::Place;
use console::parts::{NEWEST_FIRST, Pager};
use console::{CsrfToken, Fields, Flash, Shell, Trouble, Visitor, confirm};

const AT: &str = "/console/launch/keys";
const SHOWN: u64 = 50;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    cursor: String,
}

#[derive(Template)]
#[template(path = "new/keys.html")]
struct Keys {
    csrf: CsrfToken,
    keys: Vec<Pubkey>,
    pager: Pager,
    may_change: bool,
    typed: Fields,
    trouble: Option<Trouble>,
}

impl Keys {
    fn field(&self, name: &'static str, label: &'static str) -> Field {
        let flaw = self.trouble.iter().flat_map(|trouble| &trouble.flaws).find(|flaw| flaw.field == name);
        Field::new(name, label, self.typed.text(name), Said::from(flaw.cloned()))
    }

    fn note(&self) -> Option<String> {
        self.trouble
            .as_ref()
            .filter(|trouble| trouble.flaws.is_empty())
            .map(|trouble| sentence(&trouble.line()))
    }
}

fn shell(visitor: &Visitor) -> Shell {
    Shell::new(visitor, &super::super::launches::SECTION, "Public keys")
}

pub(super) async fn list(visitor: Visitor, Query(asked): Query<Asked>) -> Response {
    match draw(&visitor, &asked.cursor, Fields::default(), None).await {
        Ok(keys) => shell(&visitor).page(&keys),
        Err(trouble) => trouble.page(&visitor),
    }
}

async fn draw(
    visitor: &Visitor,
    cursor: &str,
    typed: Fields,
    trouble: Option<Trouble>,
) -> Result<Keys, Trouble> {
    let place = Place::new(cursor, SHOWN);
    let at = format!("{LAUNCH}/pubkeys?limit={SHOWN}&offset={}", place.offset);
    let found: PubkeyList = visitor.api.get(&at).await?;
    let first = (!cursor.is_empty()).then(|| AT.to_owned());
    let next = place.next(found.metadata.total).map(|next| format!("{AT}?cursor={next}"));
    let pager = Pager::new(NEWEST_FIRST, first, next);
    Ok(Keys {
        csrf: visitor.csrf.clone(),
        keys: found.data,
        pager,
        may_change: visitor.may("pubkey", Verb::Write),
        typed,
        trouble,
    })
}

pub(super) async fn add(visitor: Visitor, fields: Fields) -> Response {
    let new = NewPubkey { name: fields.text("name").to_owned(), body: fields.text("body").to_owned() };
    let trouble = match visitor.api.post(&format!("{LAUNCH}/pubkeys"), &new).await {
        Ok(_) => return Flash::good(format!("{} is kept.", new.name)).at(AT),
        // Who may not add any has no form that could say it.
        Err(trouble) if trouble.status == StatusCode::FORBIDDEN => return trouble.page(&visitor),
        Err(trouble) => trouble,
    };
    match draw(&visitor, "", fields, Some(trouble)).await {
        Ok(keys) => shell(&visitor).page_with(StatusCode::UNPROCESSABLE_ENTITY, &keys),
        Err(trouble) => trouble.page(&visitor),
    }
}

pub(super) async fn delete(visitor: Visitor, Path(id): Path<i64>, fields: Fields) -> Response {
    if !confirm::is_confirmed(&fields) {
        let question = "Forget this key? It is also deleted in the accounts to which launches uploaded it.";
        return confirm::page(&visitor, &super::super::launches::SECTION, question, "Forget it", AT, &fields);
    }
    match visitor.api.delete(&format!("{LAUNCH}/pubkeys/{id}")).await {
        Ok(answer) => match answer.json::<Option<Warnings>>() {
            Ok(Some(left)) => Flash::bad(format!("The key is forgotten. {}", left.warnings.join(" "))).at(AT),
            _ => Flash::good("The key is forgotten.").at(AT),
        },
        Err(trouble) => Flash::bad(trouble.line()).at(AT),
    }
}
