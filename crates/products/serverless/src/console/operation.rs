//! `GET /console/serverless/operations/{id}`: what becomes of something that was asked for.

use crate::api::wire::Progress;
use api::types::OperationDetail;
use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use engine::OperationId;
use uuid::Uuid;

use console::live::{About, OpenPage, Picture, stream};
use console::parts::{Chip, Prose, When};
use console::{Api, Shell, Trouble, Visitor};

#[derive(Template)]
#[template(path = "operation.html")]
struct Page {
    id: Uuid,
    title: &'static str,
    now: Now,
}

/// The part of the page that changes.
#[derive(Template)]
#[template(path = "progress.html")]
struct Now {
    detail: OperationDetail,
    done: usize,
    /// Where the runtime is, once it is there.
    runtime: Option<String>,
    refusal: Option<String>,
}

impl Now {
    async fn at(api: &Api, id: Uuid) -> Result<Now, Trouble> {
        let detail: OperationDetail = api.get(&format!("/operations/{id}")).await?;
        let done = detail.steps.iter().filter(|step| step.state.is_passed()).count();
        let mut now = Now { detail, done, runtime: None, refusal: None };
        if now.detail.operation.phase.is_final() {
            // OpenNebula is asked once, when there is something to know.
            let ended: Option<Progress> =
                api.get(&format!("/serverless-runtimes/operations/{id}")).await.ok();
            let ended = ended.map(|progress| progress.operation);
            let location = ended.as_ref().and_then(|ended| ended.location.clone());
            now.runtime = location
                .map(|path| format!("/console{}", path.replace("/serverless-runtimes/", "/serverless/")));
            now.refusal =
                ended.and_then(|ended| ended.refusal).map(|refusal| match refusal.message.as_str() {
                    Some(message) if !message.is_empty() => format!("{}: {message}", refusal.error),
                    _ => refusal.error,
                });
        }
        Ok(now)
    }

    /// The page of the runtime that it worked on.
    fn page(&self) -> Option<String> {
        super::page(self.detail.operation.resource.as_deref()?.strip_prefix("serverless:")?)
    }

    fn is_delete(&self) -> bool {
        self.detail.operation.workflow.ends_with("delete")
    }
}

pub(super) async fn show(visitor: Visitor, Path(id): Path<Uuid>) -> Response {
    match Now::at(&visitor.api, id).await {
        Ok(now) => {
            let title = match now.detail.operation.workflow.rsplit('.').next() {
                Some("create") => "Creating a serverless runtime",
                Some("delete") => "Deleting a serverless runtime",
                _ => "Changing a serverless runtime",
            };
            Shell::new(&visitor, &super::SECTION, title).page(&Page { id, title, now })
        }
        Err(trouble) => trouble.page(&visitor),
    }
}

pub(super) async fn live(visitor: Visitor, Path(id): Path<Uuid>) -> Response {
    let page = Open { api: visitor.api.clone(), id };
    stream(&visitor, About::Operation(OperationId(id)), page)
}

struct Open {
    api: Api,
    id: Uuid,
}

impl OpenPage for Open {
    async fn draw(&mut self) -> Result<Picture, Trouble> {
        let now = Now::at(&self.api, self.id).await?;
        Ok(Picture { is_last: now.detail.operation.phase.is_final(), ..Picture::of(&now) })
    }
}
