//! `/console/launch/accounts`: the accounts in clouds that launches may use.

use crate::api::rights::Verb;
use crate::api::wire::{Source, SourceList, Validity};
use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;

use super::super::LAUNCH;
use super::field::{Field, Said, sentence};
use super::go::add_account;
use console::parts::{Chip, Icon, Tone};
use console::{Api, CsrfToken, Fields, Flash, Shell, Trouble, Visitor, confirm, path};

const AT: &str = "/console/launch/accounts";

#[derive(Template)]
#[template(path = "new/accounts.html")]
struct Accounts {
    csrf: CsrfToken,
    sources: Vec<Source>,
    may_change: bool,
    /// What was typed, except secrets.
    typed: Fields,
    trouble: Option<Trouble>,
}

impl Accounts {
    fn field(&self, name: &'static str, label: &'static str) -> Field {
        let flaw = self.trouble.iter().flat_map(|trouble| &trouble.flaws).find(|flaw| flaw.field == name);
        Field::new(name, label, self.typed.text(name), Said::from(flaw.cloned()))
    }

    /// What is wrong with no field in particular.
    fn note(&self) -> Option<String> {
        let trouble = self.trouble.as_ref()?;
        let is_shown =
            |name: &str| ["name", "arn", "external_id", "access_key_id", "secret_access_key"].contains(&name);
        let is_told = !trouble.flaws.is_empty() && trouble.flaws.iter().all(|flaw| is_shown(&flaw.field));
        (!is_told).then(|| sentence(&trouble.line()))
    }
}

fn shell(visitor: &Visitor) -> Shell {
    Shell::new(visitor, &super::super::launches::SECTION, "Accounts")
}

pub(super) async fn list(visitor: Visitor) -> Response {
    match draw(&visitor, Fields::default(), None).await {
        Ok(accounts) => shell(&visitor).page(&accounts),
        Err(trouble) => trouble.page(&visitor),
    }
}

async fn draw(visitor: &Visitor, typed: Fields, trouble: Option<Trouble>) -> Result<Accounts, Trouble> {
    let found: SourceList = visitor.api.get(&format!("{LAUNCH}/sources")).await?;
    Ok(Accounts {
        csrf: visitor.csrf.clone(),
        sources: found.data,
        may_change: visitor.may("source", Verb::Write),
        typed,
        trouble,
    })
}

pub(super) async fn add(visitor: Visitor, fields: Fields) -> Response {
    let trouble = match add_account(&visitor.api, &fields, "").await {
        Ok(source) => {
            return Flash::good(format!("{} is added. Check whether it lets us in.", source.name)).at(AT);
        }
        // Who may not add any has no form that could say it.
        Err(trouble) if trouble.status == StatusCode::FORBIDDEN => return trouble.page(&visitor),
        Err(trouble) => trouble,
    };
    match draw(&visitor, fields, Some(trouble)).await {
        Ok(accounts) => shell(&visitor).page_with(StatusCode::UNPROCESSABLE_ENTITY, &accounts),
        Err(trouble) => trouble.page(&visitor),
    }
}

pub(super) async fn check(visitor: Visitor, Path(id): Path<String>, _: Fields) -> Response {
    match validity(&visitor.api, &id).await {
        Ok(found) if found.valid => {
            let rest = match found.unproven_entities.as_slice() {
                [] => String::new(),
                some => format!(" It cannot be tried without doing it: {}.", some.join(", ")),
            };
            Flash::good(format!("{id} lets us in, and do all that was tried.{rest}")).at(AT)
        }
        Ok(found) => {
            let missing = found.missing_entities.join(", ");
            Flash::bad(format!("{id} lets us in, and does not allow {missing}. Add that to its role.")).at(AT)
        }
        Err(trouble) => Flash::bad(format!("{id}: {}", trouble.line())).at(AT),
    }
}

async fn validity(api: &Api, id: &str) -> Result<Validity, Trouble> {
    api.get(&format!("{LAUNCH}/sources/{}/validate_permissions", path::part(id))).await
}

pub(super) async fn delete(visitor: Visitor, Path(id): Path<String>, fields: Fields) -> Response {
    if !confirm::is_confirmed(&fields) {
        let question = format!("Forget the account {id}? Launches that still need it will fail.");
        return confirm::page(
            &visitor,
            &super::super::launches::SECTION,
            &question,
            "Forget it",
            AT,
            &fields,
        );
    }
    match visitor.api.delete(&format!("{LAUNCH}/sources/{}", path::part(&id))).await {
        Ok(_) => Flash::good(format!("{id} is forgotten.")).at(AT),
        Err(trouble) => Flash::bad(trouble.line()).at(AT),
    }
}

fn chip(status: &str) -> Chip {
    match status {
        "" => Chip::new(Tone::Quiet, Icon::Clock, "not checked"),
        "available" => Chip::new(Tone::Good, Icon::Check, "available"),
        other => Chip::new(Tone::Bad, Icon::Alert, other),
    }
}
