//! `/console/launch/accounts`: the accounts in clouds that launches may use.

use crate::api::rights::Verb;
use crate::api::wire::{Source, SourceList, Validity};
use askama::Template;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::Response;
use cloud::ProviderKind;
use cloud::spec::{AccountField, title};
use serde::Deserialize;

use super::super::LAUNCH;
use super::field::{FormField, sentence};
use super::go::create_account;
use console::parts::{Chip, Icon, Tone};
use console::{ApiClient, CsrfToken, Fields, Flash, PageError, Shell, SignedIn, confirm, path};

const AT: &str = "/console/launch/accounts";

#[derive(Template)]
#[template(path = "new/accounts.html")]
struct SourcesPage {
    csrf: CsrfToken,
    /// The cloud of an account that is created.
    cloud: ProviderKind,
    sources: Vec<Source>,
    may_change: bool,
    /// What was typed, except secrets.
    typed: Fields,
    page_error: Option<PageError>,
}

impl SourcesPage {
    fn field(&self, name: &'static str, label: &'static str) -> FormField {
        FormField::typed(name, label, &self.typed, self.page_error.as_ref())
    }

    fn account_field(&self, field: &'static AccountField) -> FormField {
        let drawn = self.field(field.name, field.label).hint(field.hint);
        if field.is_secret { drawn.secret() } else { drawn }
    }

    /// What is wrong with no field in particular.
    fn note(&self) -> Option<String> {
        let page_error = self.page_error.as_ref()?;
        let mut fields = self.cloud.spec().form.account_fields();
        let mut is_shown = |name: &str| name == "name" || fields.any(|field| field.name == name);
        let is_told = !page_error.field_errors.is_empty()
            && page_error.field_errors.iter().all(|field_error| is_shown(&field_error.field));
        (!is_told).then(|| sentence(&page_error.line()))
    }
}

fn shell(signed_in: &SignedIn) -> Shell {
    Shell::new(signed_in, &super::super::launches::SECTION, "Accounts")
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CloudQuery {
    provider: String,
}

/// The cloud of this name, or the first one.
fn cloud_named(name: &str) -> ProviderKind {
    let mut clouds = ProviderKind::clouds();
    let named = ProviderKind::clouds().find(|cloud| cloud.as_str() == name);
    named.or(clouds.next()).unwrap_or(ProviderKind::Noop)
}

pub(super) async fn list(signed_in: SignedIn, Query(asked): Query<CloudQuery>) -> Response {
    match draw(&signed_in, cloud_named(&asked.provider), Fields::default(), None).await {
        Ok(accounts) => shell(&signed_in).page(&accounts),
        Err(page_error) => page_error.page(&signed_in),
    }
}

async fn draw(
    signed_in: &SignedIn,
    cloud: ProviderKind,
    typed: Fields,
    page_error: Option<PageError>,
) -> Result<SourcesPage, PageError> {
    let found: SourceList = signed_in.api.get(&format!("{LAUNCH}/sources")).await?;
    Ok(SourcesPage {
        csrf: signed_in.csrf.clone(),
        cloud,
        sources: found.data,
        may_change: signed_in.may("source", Verb::Write),
        typed,
        page_error,
    })
}

pub(super) async fn create(signed_in: SignedIn, fields: Fields) -> Response {
    let cloud = cloud_named(fields.text("provider"));
    let page_error = match create_account(&signed_in.api, &fields, cloud, "").await {
        Ok(source) => {
            return Flash::good(format!("Account {} created. Check its permissions next.", source.name))
                .at(AT);
        }
        // Who may not create any has no form that could say it.
        Err(page_error) if page_error.status == StatusCode::FORBIDDEN => return page_error.page(&signed_in),
        Err(page_error) => page_error,
    };
    match draw(&signed_in, cloud, fields, Some(page_error)).await {
        Ok(accounts) => shell(&signed_in).page_with(StatusCode::UNPROCESSABLE_ENTITY, &accounts),
        Err(page_error) => page_error.page(&signed_in),
    }
}

pub(super) async fn check(signed_in: SignedIn, Path(id): Path<String>, _: Fields) -> Response {
    match validity(&signed_in.api, &id).await {
        Ok(found) if found.valid => {
            let rest = match found.unproven_entities.as_slice() {
                [] => String::new(),
                some => format!(" It cannot be tried without doing it: {}.", some.join(", ")),
            };
            Flash::good(format!("Account {id} allows everything that was tried.{rest}")).at(AT)
        }
        Ok(found) => {
            let missing = found.missing_entities.join(", ");
            Flash::bad(format!("Account {id} does not allow {missing}. Allow that in the account.")).at(AT)
        }
        Err(page_error) => Flash::bad(format!("{id}: {}", page_error.line())).at(AT),
    }
}

async fn validity(api: &ApiClient, id: &str) -> Result<Validity, PageError> {
    api.get(&format!("{LAUNCH}/sources/{}/validate_permissions", path::part(id))).await
}

pub(super) async fn delete(signed_in: SignedIn, Path(id): Path<String>, fields: Fields) -> Response {
    if !confirm::is_confirmed(&fields) {
        let question = format!("Delete the account {id}? Launches that still need it will fail.");
        return confirm::page(&signed_in, &super::super::launches::SECTION, &question, "Delete", AT, &fields);
    }
    match signed_in.api.delete(&format!("{LAUNCH}/sources/{}", path::part(&id))).await {
        Ok(_) => Flash::good(format!("Account {id} deleted.")).at(AT),
        Err(page_error) => Flash::bad(page_error.line()).at(AT),
    }
}

fn chip(status: &str) -> Chip {
    match status {
        "" => Chip::new(Tone::Quiet, Icon::Clock, "not checked"),
        "available" => Chip::new(Tone::Good, Icon::Check, "available"),
        other => Chip::new(Tone::Bad, Icon::Alert, other),
    }
}
