//! `GET /console/runtimes/{id}`

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use doors::wire::Level;
use engine::{OperationId, Role};
use serde_json::Value;
use uuid::Uuid;

use super::look::{Look, parameters, progress};
use super::state::{Can, can, has_kubeconfig, newest};
use crate::api::Api;
use crate::desk::{Desk, Hub};
use crate::frame::{Frame, Section, page};
use crate::live::{About, Picture, stream};
use crate::parts::{Chip, Icon, Prose, When};
use crate::path;
use crate::trouble::Trouble;
use crate::visitor::Visitor;

#[derive(Template)]
#[template(path = "runtimes/show.html")]
struct Show {
    frame: Frame,
    id: String,
    name: Option<String>,
    parameters: Vec<(String, String)>,
    now: Now,
}

/// The part of the page that changes.
#[derive(Template)]
#[template(path = "runtimes/now.html")]
struct Now {
    look: Look,
    id: String,
    word: String,
    can: Can,
    has_kubeconfig: bool,
    done: usize,
    steps: usize,
    is_operator: bool,
    is_admin: bool,
}

impl Now {
    async fn at(visitor: &Asker, id: &str) -> Result<Now, Trouble> {
        let look = Look::at(&visitor.api, id).await?;
        let (done, steps) = look.newest.as_ref().map(progress).unwrap_or_default();
        Ok(Now {
            id: path::part(&look.runtime.instance_id),
            word: visitor.word.clone(),
            can: can(look.runtime.status.state),
            has_kubeconfig: has_kubeconfig(look.runtime.status.state),
            done,
            steps,
            is_operator: visitor.role >= Role::Operator,
            is_admin: visitor.role >= Role::Admin,
            look,
        })
    }

    /// Whether there is anything that this visitor may do.
    fn has_actions(&self) -> bool {
        let of_operator = self.has_kubeconfig || self.can.be_repaired;
        (self.is_operator && of_operator) || (self.is_admin && self.can.be_removed)
    }
}

/// What a stream needs of a visitor.
#[derive(Clone)]
struct Asker {
    api: Api,
    word: String,
    role: Role,
}

impl From<&Visitor> for Asker {
    fn from(visitor: &Visitor) -> Asker {
        Asker { api: visitor.api.clone(), word: visitor.word.clone(), role: visitor.role }
    }
}

pub(super) async fn show(State(desk): State<Desk>, visitor: Visitor, Path(id): Path<String>) -> Response {
    match draw(&desk, &visitor, &id).await {
        Ok(show) => page(&visitor, &show),
        Err(trouble) => trouble.page(&desk, &visitor),
    }
}

async fn draw(desk: &Hub, visitor: &Visitor, id: &str) -> Result<Show, Trouble> {
    let now = Now::at(&Asker::from(visitor), id).await?;
    let asked =
        if visitor.is(Role::Admin) { parameters(&visitor.api, &now.look.runtime).await } else { None };
    let name = asked.as_ref().and_then(|asked| asked.get("name")?.as_str().map(str::to_owned));
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let parameters =
        asked.unwrap_or_default().iter().map(|(key, value)| (key.clone(), plain(value))).collect();
    let title = format!("Runtime {}", name.as_deref().unwrap_or(&now.look.runtime.instance_id));
    let frame = Frame::new(desk, visitor, Section::Runtimes, &title);
    Ok(Show { frame, id: now.id.clone(), name, parameters, now })
}

pub(super) async fn live(State(desk): State<Desk>, visitor: Visitor, Path(id): Path<String>) -> Response {
    let asker = Asker::from(&visitor);
    let found = super::look::runtime(&visitor.api, &id).await.ok();
    // Without an operation to watch, the stream looks once in a while.
    let about = found.as_ref().and_then(newest).unwrap_or(Uuid::nil());
    let draw = move || {
        let (asker, id) = (asker.clone(), id.clone());
        async move {
            let html = Now::at(&asker, &id).await?.render().unwrap_or_default();
            Ok(Picture { html, is_last: false })
        }
    };
    stream(&desk, &visitor, About::Operation(OperationId(about)), draw)
}
