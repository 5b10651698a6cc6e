//! `GET /console/runtimes/{id}`

use crate::api::types::Level;
use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use engine::{Capability, OperationId};
use serde_json::Value;
use uuid::Uuid;

use super::look::{RuntimeLook, progress, runtime};
use super::state::{Can, can, has_kubeconfig, newest};
use console::live::{LiveTopic, OpenPage, Picture, stream};
use console::parts::{Chip, Icon, Prose, When};
use console::{CsrfToken, PageError, Shell, SignedIn, path};

#[derive(Template)]
#[template(path = "show.html")]
struct RuntimeView {
    now: RuntimePart,
}

/// The part of the page that changes.
#[derive(Template)]
#[template(path = "now.html")]
struct RuntimePart {
    look: RuntimeLook,
    id: String,
    csrf: CsrfToken,
    can: Can,
    has_kubeconfig: bool,
    done: usize,
    steps: usize,
    is_operator: bool,
    is_admin: bool,
}

impl RuntimePart {
    fn new(signed_in: &SignedIn, look: RuntimeLook) -> RuntimePart {
        let (done, steps) = look.newest.as_ref().map(progress).unwrap_or_default();
        RuntimePart {
            id: path::part(&look.runtime.instance_id),
            csrf: signed_in.csrf.clone(),
            can: can(look.runtime.status.state),
            has_kubeconfig: has_kubeconfig(look.runtime.status.state),
            done,
            steps,
            is_operator: signed_in.can(Capability::Operate),
            is_admin: signed_in.can(Capability::UseBroker),
            look,
        }
    }

    /// Whether there is anything that this visitor may do.
    fn has_actions(&self) -> bool {
        let of_operator = self.has_kubeconfig || self.can.be_repaired;
        (self.is_operator && of_operator) || (self.is_admin && self.can.be_removed)
    }

    fn name(&self) -> Option<&str> {
        let cluster = Some(self.look.runtime.shoot_name.as_str()).filter(|name| !name.is_empty());
        self.look.parameters.get("name").and_then(Value::as_str).or(cluster)
    }

    fn parameters(&self) -> Vec<(&str, String)> {
        let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        self.look.parameters.iter().map(|(key, value)| (key.as_str(), plain(value))).collect()
    }
}

pub(super) async fn show(signed_in: SignedIn, Path(id): Path<String>) -> Response {
    match RuntimeLook::at(&signed_in, &id, None).await {
        Ok(look) => {
            let now = RuntimePart::new(&signed_in, look);
            let title = format!("Runtime {}", now.name().unwrap_or(&now.look.runtime.instance_id));
            Shell::new(&signed_in, &super::SECTION, &title).page(&RuntimeView { now })
        }
        Err(page_error) => page_error.page(&signed_in),
    }
}

pub(super) async fn live(signed_in: SignedIn, Path(id): Path<String>) -> Response {
    let found = runtime(&signed_in.api, &id).await.ok();
    // Without an operation to watch, the stream looks once in a while.
    let about = found.as_ref().and_then(newest).unwrap_or(Uuid::nil());
    let page = RuntimeLive { signed_in: signed_in.clone(), id, look: None };
    stream(&signed_in, LiveTopic::Operation(OperationId(about)), page)
}

struct RuntimeLive {
    signed_in: SignedIn,
    id: String,
    look: Option<RuntimeLook>,
}

impl OpenPage for RuntimeLive {
    async fn draw(&mut self) -> Result<Picture, PageError> {
        let look = RuntimeLook::at(&self.signed_in, &self.id, self.look.as_ref()).await?;
        self.look = Some(look.clone());
        Ok(Picture::of(&RuntimePart::new(&self.signed_in, look)))
    }
}
