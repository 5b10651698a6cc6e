//! `GET /console/serverless/{id}`

use crate::api::wire::{Envelope, Function, ServerlessRuntime};
use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use engine::Capability;

use console::live::part;
use console::{Api, CsrfToken, Shell, Trouble, Visitor};

#[derive(Template)]
#[template(path = "show.html")]
struct Show {
    csrf: CsrfToken,
    id: i32,
    name: String,
    now: Now,
    is_admin: bool,
}

/// The part of the page that changes.
#[derive(Template)]
#[template(path = "now.html")]
struct Now {
    runtime: ServerlessRuntime,
}

impl Now {
    fn machines(&self) -> Vec<(&'static str, &Function)> {
        let data = self.runtime.daas.as_ref().map(|daas| ("Data", daas));
        [("Functions", &self.runtime.faas)].into_iter().chain(data).collect()
    }
}

pub(super) async fn show(visitor: Visitor, Path(id): Path<i32>) -> Response {
    match find(&visitor.api, id).await {
        Ok(runtime) => {
            let name = super::name(&runtime);
            let shell = Shell::new(&visitor, &super::SECTION, &name);
            let is_admin = visitor.can(Capability::Administer);
            shell.page(&Show { csrf: visitor.csrf.clone(), id, name, now: Now { runtime }, is_admin })
        }
        Err(trouble) => trouble.page(&visitor),
    }
}

/// The changing part alone: OpenNebula tells nobody when something changes, so the page asks once in a while.
pub(super) async fn now(visitor: Visitor, Path(id): Path<i32>) -> Response {
    part(find(&visitor.api, id).await.map(|runtime| Now { runtime }))
}

pub(super) async fn find(api: &Api, id: i32) -> Result<ServerlessRuntime, Trouble> {
    let found: Result<Envelope, Trouble> = api.get(&format!("/serverless-runtimes/{id}")).await;
    found.map(|found| found.serverless_runtime).map_err(|trouble| match trouble.status {
        StatusCode::NOT_FOUND => Trouble::missing(&format!("serverless runtime {id}"))
            .hint("It may have been deleted. The list of operations shows what was done to it."),
        _ => trouble,
    })
}
