//! `GET /console/launches/{id}`

use crate::api::types::Launch;
use askama::Template;
use axum::extract::Path;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use engine::OperationId;
use uuid::Uuid;

use super::super::inventory::sheet;
use super::super::new::field::sentence;
use super::super::{LAUNCH, may_control, may_launch};
use super::view::{self, Line, Machine, stage, when};
use console::live::{About, OpenPage, Picture, stream};
use console::{Api, CsrfToken, Shell, Trouble, Visitor, path};

#[derive(Template)]
#[template(path = "launches/show.html")]
struct Show {
    title: String,
    now: Now,
}

/// The part of the page that changes.
#[derive(Template)]
#[template(path = "launches/now.html")]
struct Now {
    launch: Launch,
    lines: Vec<Line>,
    machines: Vec<Machine>,
    rights: Rights,
    csrf: CsrfToken,
}

/// What somebody may do with it.
#[derive(Clone, Copy)]
struct Rights {
    controls: bool,
    launches: bool,
    looks: bool,
}

pub(super) async fn show(visitor: Visitor, Path(id): Path<String>) -> Response {
    match now(&visitor, &id).await {
        Ok(now) => {
            let title = view::title(&now.launch);
            Shell::new(&visitor, &super::SECTION, &title).page(&Show { title: title.clone(), now })
        }
        Err(trouble) => trouble.page(&visitor),
    }
}

pub(super) async fn live(visitor: Visitor, Path(id): Path<String>) -> Response {
    let about = match find(&visitor.api, &id).await {
        Ok(launch) => launch.operation_id.and_then(|operation| Uuid::try_parse(&operation).ok()),
        Err(trouble) => return trouble.page(&visitor),
    };
    let about = about.map_or(About::Everything, |operation| About::Operation(OperationId(operation)));
    let page = Open { visitor: visitor.clone(), id };
    stream(&visitor, about, page)
}

struct Open {
    visitor: Visitor,
    id: String,
}

impl OpenPage for Open {
    /// None is the last: it may begin again at any time, in another window.
    async fn draw(&mut self) -> Result<Picture, Trouble> {
        Ok(Picture::of(&now(&self.visitor, &self.id).await?))
    }
}

/// `GET /console/launches/{id}/machines.csv`
pub(super) async fn machines(visitor: Visitor, Path(id): Path<String>) -> Response {
    let launch = match find(&visitor.api, &id).await {
        Ok(launch) => launch,
        Err(trouble) => return trouble.page(&visitor),
    };
    let name = format!("attachment; filename=\"launch-{}.csv\"", launch.reservation_id);
    let text = sheet::of_launch(&launch);
    ([(CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()), (CONTENT_DISPOSITION, name)], text)
        .into_response()
}

pub(super) async fn find(api: &Api, id: &str) -> Result<Launch, Trouble> {
    api.get(&format!("{LAUNCH}/launches/{}", path::part(id))).await
}

async fn now(visitor: &Visitor, id: &str) -> Result<Now, Trouble> {
    let launch = find(&visitor.api, id).await?;
    let rights =
        Rights { controls: may_control(visitor), launches: may_launch(visitor), looks: visitor.may_look() };
    Ok(Now {
        lines: view::lines(&launch),
        machines: view::machines(&launch),
        rights,
        csrf: visitor.csrf.clone(),
        launch,
    })
}

impl Now {
    fn is(&self, states: &[&str]) -> bool {
        states.contains(&self.launch.state.as_str())
    }

    fn is_good(&self) -> bool {
        self.is(&["succeeded", "succeeded_with_warnings"])
    }

    fn is_bad(&self) -> bool {
        self.is(&["failed", "failed_dirty", "cancelled", "abandoned"])
    }

    fn goes_back(&self) -> bool {
        self.is(&["compensating", "cancelling"])
    }

    fn can_cancel(&self) -> bool {
        self.rights.controls && !self.launch.is_over && !self.goes_back()
    }

    /// Somebody chose that leaving means to cancel.
    fn can_leave(&self) -> bool {
        self.can_cancel() && self.launch.ends_with_its_window()
    }

    fn can_hurry(&self) -> bool {
        self.rights.controls && !self.launch.is_over && self.lines.iter().any(|line| line.next.is_some())
    }

    fn can_retry(&self) -> bool {
        self.rights.controls && self.is(&["failed", "cancelled"])
    }

    fn can_clean(&self) -> bool {
        self.rights.controls && self.is(&["failed_dirty"])
    }

    fn can_edit(&self) -> bool {
        self.rights.launches && self.is_bad() && self.launch.provider == "aws"
    }

    fn can_terminate(&self) -> bool {
        let lives = self.launch.instances.iter().any(|one| !view::is_gone(&one.state));
        self.rights.controls && self.launch.is_over && lives
    }

    /// It was asked for without saying where, and nobody has said it since.
    fn needs_parameters(&self) -> bool {
        let waits = self.launch.steps.iter().any(|step| {
            step.name == "wait_for_parameters"
                && !["succeeded", "skipped", "failed"].contains(&step.state.as_str())
        });
        self.rights.launches && self.launch.parameters.is_none() && waits && !self.launch.is_over
    }

    fn taken_back(&self) -> Vec<&str> {
        let is_back = |step: &&crate::api::types::Step| step.state == "compensated";
        self.launch.steps.iter().filter(is_back).map(|step| step.title.as_str()).collect()
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let of = |label: &'static str, name: &str| Some((label, self.launch.parameter(name)?));
        let all = [
            Some(("Image", view::image(&self.launch))),
            of("Account", "source_id"),
            of("Region", "region"),
            of("Instance type", "instance_type"),
            of("Launch template", "launch_template_id"),
            of("Count", "amount"),
            of("Name", "name"),
            of("Public key", "key"),
        ];
        all.into_iter().flatten().collect()
    }
}
