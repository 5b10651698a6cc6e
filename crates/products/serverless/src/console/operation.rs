//! `GET /console/serverless/operations/{id}`: what becomes of something that was asked for.

use crate::api::wire::RuntimeProgress;
use api::types::OperationDetail;
use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use engine::OperationId;
use uuid::Uuid;

use console::live::{LiveTopic, OpenPage, Picture, stream};
use console::parts::{Chip, Prose, When};
use console::{ApiClient, PageError, Shell, SignedIn};

#[derive(Template)]
#[template(path = "operation.html")]
struct OperationPage {
    id: Uuid,
    title: &'static str,
    now: OperationPart,
}

/// The part of the page that changes.
#[derive(Template)]
#[template(path = "progress.html")]
struct OperationPart {
    detail: OperationDetail,
    done: usize,
    /// Where the runtime is, once it is there.
    runtime: Option<String>,
    runtime_error: Option<String>,
}

impl OperationPart {
    async fn at(api: &ApiClient, id: Uuid) -> Result<OperationPart, PageError> {
        let detail: OperationDetail = api.get(&format!("/operations/{id}")).await?;
        let done = detail.steps.iter().filter(|step| step.state.is_passed()).count();
        let mut now = OperationPart { detail, done, runtime: None, runtime_error: None };
        if now.detail.operation.phase.is_final() {
            // OpenNebula is asked once, when there is something to know.
            let ended: Option<RuntimeProgress> =
                api.get(&format!("/serverless-runtimes/operations/{id}")).await.ok();
            let ended = ended.map(|progress| progress.operation);
            let location = ended.as_ref().and_then(|ended| ended.location.clone());
            now.runtime = location
                .map(|path| format!("/console{}", path.replace("/serverless-runtimes/", "/serverless/")));
            now.runtime_error = ended.and_then(|ended| ended.runtime_error).map(|runtime_error| {
                match runtime_error.message.as_str() {
                    Some(message) if !message.is_empty() => format!("{}: {message}", runtime_error.error),
                    _ => runtime_error.error,
                }
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

pub(super) async fn show(signed_in: SignedIn, Path(id): Path<Uuid>) -> Response {
    match OperationPart::at(&signed_in.api, id).await {
        Ok(now) => {
            let title = match now.detail.operation.workflow.rsplit('.').next() {
                Some("create") => "Creating a serverless runtime",
                Some("delete") => "Deleting a serverless runtime",
                _ => "Changing a serverless runtime",
            };
            Shell::new(&signed_in, &super::SECTION, title).page(&OperationPage { id, title, now })
        }
        Err(page_error) => page_error.page(&signed_in),
    }
}

pub(super) async fn live(signed_in: SignedIn, Path(id): Path<Uuid>) -> Response {
    let page = OperationLive { api: signed_in.api.clone(), id };
    stream(&signed_in, LiveTopic::Operation(OperationId(id)), page)
}

struct OperationLive {
    api: ApiClient,
    id: Uuid,
}

impl OpenPage for OperationLive {
    async fn draw(&mut self) -> Result<Picture, PageError> {
        let now = OperationPart::at(&self.api, self.id).await?;
        Ok(Picture { is_last: now.detail.operation.phase.is_final(), ..Picture::of(&now) })
    }
}
