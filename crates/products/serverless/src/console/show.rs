//! `GET /console/serverless/{id}`

use crate::api::wire::{Envelope, Function, ServerlessRuntime};
use crate::model::fields::{AMOUNTS, BLOCK_FIELDS};
use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use engine::Capability;

use console::live::part;
use console::{ApiClient, CsrfToken, PageError, Shell, SignedIn};

#[derive(Template)]
#[template(path = "show.html")]
struct ServerlessView {
    csrf: CsrfToken,
    id: i32,
    name: String,
    now: ServerlessPart,
    is_admin: bool,
}

/// The part of the page that changes.
#[derive(Template)]
#[template(path = "now.html")]
struct ServerlessPart {
    runtime: ServerlessRuntime,
}

impl ServerlessPart {
    fn machines(&self) -> Vec<(&'static str, &Function)> {
        let data = self.runtime.daas.as_ref().map(|daas| ("Data", daas));
        [("Functions", &self.runtime.faas)].into_iter().chain(data).collect()
    }

    /// Where the VMs should be, and what is known about the device.
    fn facts(&self) -> impl Iterator<Item = (&'static str, String)> {
        BLOCK_FIELDS.iter().filter_map(|field| {
            let text = self.runtime.text(field.block, field.member);
            (!text.is_empty()).then(|| (field.label, format!("{text}{}", field.unit)))
        })
    }
}

fn amounts(machine: &Function) -> impl Iterator<Item = (&'static str, String)> {
    AMOUNTS.iter().map(|field| {
        let text = match machine.text(field.member) {
            text if field.is_megabytes => super::size(text.parse().ok().as_ref()),
            text if text.is_empty() => "–".to_owned(),
            text => text,
        };
        (field.label, text)
    })
}

pub(super) async fn show(signed_in: SignedIn, Path(id): Path<i32>) -> Response {
    match find(&signed_in.api, id).await {
        Ok(runtime) => {
            let name = super::name(&runtime);
            let shell = Shell::new(&signed_in, &super::SECTION, &name);
            let is_admin = signed_in.can(Capability::Administer);
            shell.page(&ServerlessView {
                csrf: signed_in.csrf.clone(),
                id,
                name,
                now: ServerlessPart { runtime },
                is_admin,
            })
        }
        Err(page_error) => page_error.page(&signed_in),
    }
}

/// The changing part alone: OpenNebula sends no events, so the page polls.
pub(super) async fn now(signed_in: SignedIn, Path(id): Path<i32>) -> Response {
    part(find(&signed_in.api, id).await.map(|runtime| ServerlessPart { runtime }))
}

pub(super) async fn find(api: &ApiClient, id: i32) -> Result<ServerlessRuntime, PageError> {
    let found: Result<Envelope, PageError> = api.get(&format!("/serverless-runtimes/{id}")).await;
    found.map(|found| found.serverless_runtime).map_err(|page_error| match page_error.status {
        StatusCode::NOT_FOUND => PageError::missing(&format!("serverless runtime {id}"))
            .hint("It may have been deleted. The list of operations shows what was done to it."),
        _ => page_error,
    })
}
