//! `GET /console/runtimes/{id}`

use crate::api::types::Level;
use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use engine::{Capability, OperationId};
use serde_json::Value;
use uuid::Uuid;

use super::look::{Look, progress, runtime};
use super::state::{Can, can, has_kubeconfig, newest};
use console::live::{About, OpenPage, Picture, stream};
use console::parts::{Chip, Icon, Prose, When};
use console::{CsrfToken, Shell, Trouble, Visitor, path};

#[derive(Template)]
#[template(path = "show.html")]
struct Show {
    now: Now,
}

/// The part of the page that changes.
#[derive(Template)]
#[template(path = "now.html")]
struct Now {
    look: Look,
    id: String,
    csrf: CsrfToken,
    can: Can,
    has_kubeconfig: bool,
    done: usize,
    steps: usize,
    is_operator: bool,
    is_admin: bool,
}

impl Now {
    fn new(visitor: &Visitor, look: Look) -> Now {
        let (done, steps) = look.newest.as_ref().map(progress).unwrap_or_default();
        Now {
            id: path::part(&look.runtime.instance_id),
            csrf: visitor.csrf.clone(),
            can: can(look.runtime.status.state),
            has_kubeconfig: has_kubeconfig(look.runtime.status.state),
            done,
            steps,
            is_operator: visitor.can(Capability::Operate),
            is_admin: visitor.can(Capability::UseBroker),
            look,
        }
    }

    /// Whether there is anything that this visitor may do.
    fn has_actions(&self) -> bool {
        let of_operator = self.has_kubeconfig || self.can.be_repaired;
        (self.is_operator && of_operator) || (self.is_admin && self.can.be_removed)
    }

    fn name(&self) -> Option<&str> {
        self.look.parameters.get("name")?.as_str()
    }

    fn parameters(&self) -> Vec<(&str, String)> {
        let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        self.look.parameters.iter().map(|(key, value)| (key.as_str(), plain(value))).collect()
    }
}

pub(super) async fn show(visitor: Visitor, Path(id): Path<String>) -> Response {
    match Look::at(&visitor, &id, None).await {
        Ok(look) => {
            let now = Now::new(&visitor, look);
            let title = format!("Runtime {}", now.name().unwrap_or(&now.look.runtime.instance_id));
            Shell::new(&visitor, &super::SECTION, &title).page(&Show { now })
        }
        Err(trouble) => trouble.page(&visitor),
    }
}

pub(super) async fn live(visitor: Visitor, Path(id): Path<String>) -> Response {
    let found = runtime(&visitor.api, &id).await.ok();
    // Without an operation to watch, the stream looks once in a while.
    let about = found.as_ref().and_then(newest).unwrap_or(Uuid::nil());
    let page = Open { visitor: visitor.clone(), id, look: None };
    stream(&visitor, About::Operation(OperationId(about)), page)
}

struct Open {
    visitor: Visitor,
    id: String,
    look: Option<Look>,
}

impl OpenPage for Open {
    async fn draw(&mut self) -> Result<Picture, Trouble> {
        let look = Look::at(&self.visitor, &self.id, self.look.as_ref()).await?;
        self.look = Some(look.clone());
        Ok(Picture::of(&Now::new(&self.visitor, look)))
    }
}
