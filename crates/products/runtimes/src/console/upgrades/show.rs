//! `GET /console/upgrades/{id}`: progress, the grid of runtimes, and what an operator can do.

use std::fmt::Write as _;
use std::time::Duration;

use askama::Template;
use axum::extract::Path;
use axum::http::Method;
use axum::response::Response;
use engine::Capability;

use super::change;
use crate::api::orchestrations::wire::{OrchestrationStatus, UpgradeOperation, UpgradeOperationPage};
use crate::model::orchestration::decide::{OrchestrationVerb, asked};
use crate::model::orchestration::{OrchestrationState, TargetState};
use console::live::{LiveTopic, OpenPage, Picture, stream};
use console::parts::{When, span};
use console::{CsrfToken, Fields, Flash, PageError, Shell, SignedIn, confirm, path};

/// As many as the API gives at once.
const CELLS_MAX: &str = "1000";
/// Failures that are listed with their reasons.
const FAILURES_MAX: &str = "50";

#[derive(Template)]
#[template(path = "upgrades/show.html")]
struct UpgradeView {
    now: UpgradePart,
}

/// The part of the page that changes.
#[derive(Template)]
#[template(path = "upgrades/now.html")]
struct UpgradePart {
    id: String,
    csrf: CsrfToken,
    status: OrchestrationStatus,
    cells: Vec<UpgradeOperation>,
    total: u64,
    failures: Vec<UpgradeOperation>,
    is_operator: bool,
}

impl UpgradePart {
    async fn read(signed_in: &SignedIn, id: &str) -> Result<UpgradePart, PageError> {
        let at = format!("/orchestrations/{}", path::part(id));
        let status: OrchestrationStatus = signed_in.api.get(&at).await?;
        let query = path::query([("page_size", CELLS_MAX)]);
        let page: UpgradeOperationPage = signed_in.api.get(&format!("{at}/operations{query}")).await?;
        let failures = if status.operation_stats.get("failed").copied().unwrap_or_default() == 0 {
            Vec::new()
        } else {
            let query = path::query([("page_size", FAILURES_MAX), ("state", "failed")]);
            let page: UpgradeOperationPage = signed_in.api.get(&format!("{at}/operations{query}")).await?;
            page.data
        };
        Ok(UpgradePart {
            id: path::part(id),
            csrf: signed_in.csrf.clone(),
            total: page.total_count.unwrap_or_default(),
            cells: page.data,
            status,
            failures,
            is_operator: signed_in.can(Capability::Operate),
        })
    }

    fn count(&self, state: TargetState) -> u64 {
        self.status.operation_stats.get(state.as_str()).copied().unwrap_or_default()
    }

    fn done(&self) -> u64 {
        TargetState::ALL.into_iter().filter(|state| state.is_final()).map(|state| self.count(state)).sum()
    }

    /// Whether a button is there.
    fn can(&self, verb: OrchestrationVerb) -> bool {
        let is_other = |next| next != self.status.state;
        match (verb, asked(self.status.state, verb)) {
            (OrchestrationVerb::Retry, Ok(_)) => self.status.state == OrchestrationState::Failed,
            (_, Ok(next)) => next.is_some_and(is_other),
            (_, Err(_)) => false,
        }
    }

    fn left(&self) -> Option<String> {
        self.status.remaining_seconds.map(|seconds| span(Duration::from_secs(seconds)))
    }

    fn strategy(&self) -> String {
        let strategy = &self.status.parameters.strategy;
        let mut words = format!("{} at a time", strategy.parallel.workers);
        if strategy.schedule == "maintenanceWindow" {
            words.push_str(", in maintenance windows");
        }
        if let Some(at) = &strategy.schedule_time {
            let _ = write!(words, ", from {at}");
        }
        if let Some(canary) = strategy.canary {
            let _ = write!(words, ", canary of {canary}");
        }
        if let Some(most) = strategy.max_failures {
            let _ = write!(words, ", stops after {most} failed");
        }
        words
    }
}

pub(super) async fn show(signed_in: SignedIn, Path(id): Path<String>) -> Response {
    match UpgradePart::read(&signed_in, &id).await {
        Ok(now) => {
            let title = format!("Upgrade {}", change(&now.status));
            Shell::new(&signed_in, &super::SECTION, &title).page(&UpgradeView { now })
        }
        Err(page_error) => page_error.page(&signed_in),
    }
}

pub(super) async fn live(signed_in: SignedIn, Path(id): Path<String>) -> Response {
    stream(&signed_in, LiveTopic::Everything, UpgradeLive { signed_in: signed_in.clone(), id })
}

struct UpgradeLive {
    signed_in: SignedIn,
    id: String,
}

impl OpenPage for UpgradeLive {
    async fn draw(&mut self) -> Result<Picture, PageError> {
        Ok(Picture::of(&UpgradePart::read(&self.signed_in, &self.id).await?))
    }
}

/// `POST /console/upgrades/{id}`: pause, resume, cancel or retry.
pub(super) async fn ask(signed_in: SignedIn, Path(id): Path<String>, fields: Fields) -> Response {
    let place = super::page(&id);
    let (method, verb, done) = match fields.text("action") {
        "pause" => (Method::PUT, "pause", "Paused. Running upgrades continue."),
        "resume" => (Method::PUT, "resume", "Resumed."),
        "cancel" => (Method::PUT, "cancel", "Canceling. What runs is waited for."),
        "retry" => (Method::POST, "retry", "What failed is tried again."),
        _ => return PageError::missing("such request").page(&signed_in),
    };
    if verb == "cancel" && !confirm::is_confirmed(&fields) {
        let question = "Cancel this upgrade? Runtimes that have not begun stay as they are.";
        return confirm::page(&signed_in, &super::SECTION, question, "Cancel the upgrade", &place, &fields);
    }
    let at = format!("/orchestrations/{}/{verb}", path::part(&id));
    match signed_in.api.send(method, &at, &[], None::<&()>).await {
        Ok(_) => Flash::good(done).at(&place),
        Err(page_error) => page_error.back(&signed_in, &place),
    }
}
