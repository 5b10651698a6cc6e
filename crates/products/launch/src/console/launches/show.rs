//! `GET /console/launches/{id}`

use crate::api::types::Launch;
use askama::Template;
use axum::extract::Path;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use cloud::{ProviderKind, ProviderSpec};
use engine::OperationId;
use uuid::Uuid;

use super::super::inventory::sheet;
use super::super::new::field::sentence;
use super::super::{LAUNCH, may_control, may_launch};
use super::view::{self, InstanceRow, StepLine, short_id, stage, when};
use console::live::{LiveTopic, OpenPage, Picture, stream};
use console::{ApiClient, CsrfToken, PageError, Shell, SignedIn, path};

#[derive(Template)]
#[template(path = "launches/show.html")]
struct LaunchView {
    title: String,
    now: LaunchPart,
}

/// The part of the page that changes.
#[derive(Template)]
#[template(path = "launches/now.html")]
struct LaunchPart {
    launch: Launch,
    lines: Vec<StepLine>,
    instances: Vec<InstanceRow>,
    rights: Rights,
    csrf: CsrfToken,
}

/// What a user may do with it.
#[derive(Clone, Copy)]
struct Rights {
    controls: bool,
    launches: bool,
    looks: bool,
}

pub(super) async fn show(signed_in: SignedIn, Path(id): Path<String>) -> Response {
    match now(&signed_in, &id).await {
        Ok(now) => {
            let title = view::title(&now.launch);
            Shell::new(&signed_in, &super::SECTION, &title).page(&LaunchView { title: title.clone(), now })
        }
        Err(page_error) => page_error.page(&signed_in),
    }
}

pub(super) async fn live(signed_in: SignedIn, Path(id): Path<String>) -> Response {
    let about = match find(&signed_in.api, &id).await {
        Ok(launch) => launch.operation_id.and_then(|operation| Uuid::try_parse(&operation).ok()),
        Err(page_error) => return page_error.page(&signed_in),
    };
    let about = about.map_or(LiveTopic::Everything, |operation| LiveTopic::Operation(OperationId(operation)));
    let page = LaunchLive { signed_in: signed_in.clone(), id };
    stream(&signed_in, about, page)
}

struct LaunchLive {
    signed_in: SignedIn,
    id: String,
}

impl OpenPage for LaunchLive {
    /// None is the last: it may begin again at any time, in another window.
    async fn draw(&mut self) -> Result<Picture, PageError> {
        Ok(Picture::of(&now(&self.signed_in, &self.id).await?))
    }
}

/// `GET /console/launches/{id}/instances.csv`
pub(super) async fn instances(signed_in: SignedIn, Path(id): Path<String>) -> Response {
    let launch = match find(&signed_in.api, &id).await {
        Ok(launch) => launch,
        Err(page_error) => return page_error.page(&signed_in),
    };
    let name = format!("attachment; filename=\"launch-{}.csv\"", launch.reservation_id);
    let text = sheet::of_launch(&launch);
    ([(CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()), (CONTENT_DISPOSITION, name)], text)
        .into_response()
}

pub(super) async fn find(api: &ApiClient, id: &str) -> Result<Launch, PageError> {
    api.get(&format!("{LAUNCH}/launches/{}", path::part(id))).await
}

async fn now(signed_in: &SignedIn, id: &str) -> Result<LaunchPart, PageError> {
    let launch = find(&signed_in.api, id).await?;
    let rights = Rights {
        controls: may_control(signed_in),
        launches: may_launch(signed_in),
        looks: signed_in.may_look(),
    };
    Ok(LaunchPart {
        lines: view::lines(&launch),
        instances: view::instances(&launch),
        rights,
        csrf: signed_in.csrf.clone(),
        launch,
    })
}

impl LaunchPart {
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

    /// A user chose that leaving means to cancel.
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
        self.rights.launches && self.is_bad() && self.spec().is_some_and(|spec| spec.source.is_some())
    }

    fn can_terminate(&self) -> bool {
        let lives = self.launch.instances.iter().any(|one| !view::is_gone(&one.state));
        self.rights.controls && self.launch.is_over && lives
    }

    /// It was requested without a region, and none was given since.
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

    /// The words of the cloud.
    fn spec(&self) -> Option<&'static ProviderSpec> {
        Some(self.launch.provider.parse::<ProviderKind>().ok()?.spec())
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let spec = self.spec().unwrap_or(ProviderKind::Noop.spec());
        let form = &spec.form;
        let of = |label: &'static str, name: &str| Some((label, self.launch.parameter(name)?));
        let all = [
            Some(("Cloud", spec.title.to_owned())),
            Some(("Image", view::image(&self.launch))),
            of("Account", "source_id"),
            of(form.region.label, "region"),
            of(form.instance_type.label, "instance_type"),
            of("Launch template", "launch_template_id"),
            of("Count", "amount"),
            of("Name", "name"),
            of("Public key", "key"),
        ];
        let parameters = spec.parameters.iter().map(|one| of(one.label, one.name));
        all.into_iter()
            .chain(parameters)
            .flatten()
            .filter(|(label, value)| !label.is_empty() && !value.is_empty())
            .collect()
    }
}
