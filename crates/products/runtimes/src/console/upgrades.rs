//! Upgrades: many runtimes at a time, watched and controlled.

mod list;
mod new;
mod show;

use axum::Router;
use axum::routing::get;

use crate::api::orchestrations::wire::OrchestrationStatus;
use crate::model::orchestration::{OrchestrationState, TargetState, UpgradeKind};
use console::list::live;
use console::parts::{Chip, Icon, Tone};
use console::{ConsoleState, Section, SignedIn, path};

pub(super) static SECTION: Section = Section {
    title: "Upgrades",
    path: "/console/upgrades",
    icon: Icon::Play,
    position: 51,
    is_for: SignedIn::may_look,
};

pub(super) fn routes() -> Router<ConsoleState> {
    Router::new()
        .route("/console/upgrades", get(list::list))
        .route("/console/upgrades/live", get(live::<list::Filters>))
        .route("/console/upgrades/new", get(new::form).post(new::create))
        .route("/console/upgrades/{id}", get(show::show).post(show::ask))
        .route("/console/upgrades/{id}/live", get(show::live))
}

pub(super) fn page(id: &str) -> String {
    format!("{}/{}", SECTION.path, path::part(id))
}

fn chip(state: OrchestrationState) -> Chip {
    let (tone, icon) = match state {
        OrchestrationState::Pending => (Tone::Quiet, Icon::Clock),
        OrchestrationState::InProgress | OrchestrationState::Retrying => (Tone::Busy, Icon::Play),
        OrchestrationState::Paused => (Tone::Waits, Icon::Pause),
        OrchestrationState::Canceling => (Tone::Waits, Icon::Slash),
        OrchestrationState::Canceled => (Tone::Quiet, Icon::Slash),
        OrchestrationState::Succeeded => (Tone::Good, Icon::Check),
        OrchestrationState::Failed => (Tone::Bad, Icon::Cross),
    };
    Chip::new(tone, icon, state.as_str())
}

/// The class of a cell and the sign in it: the colour is never alone.
fn cell(state: TargetState) -> (&'static str, &'static str) {
    match state {
        TargetState::Pending => ("quiet", "·"),
        TargetState::InProgress => ("busy", "▸"),
        TargetState::Succeeded => ("good", "✓"),
        TargetState::Failed => ("bad", "✗"),
        TargetState::Canceled => ("canceled", "–"),
        TargetState::Skipped => ("waits", "»"),
    }
}

/// `Kubernetes 1.22.9`.
fn change(status: &OrchestrationStatus) -> String {
    let request = &status.parameters;
    let mut words = Vec::new();
    if let Some(versions) = &request.kubernetes {
        let named = [("Kubernetes", &versions.kubernetes_version), ("image", &versions.machine_image)];
        words.extend(
            named.iter().filter(|(_, text)| !text.is_empty()).map(|(word, text)| format!("{word} {text}")),
        );
        if !versions.machine_image_version.is_empty() {
            words.push(format!("image version {}", versions.machine_image_version));
        }
    }
    words.extend(request.kyma.as_ref().map(|kyma| format!("Kyma {}", kyma.version)));
    if words.is_empty() { kind(status.kind).to_owned() } else { words.join(", ") }
}

fn kind(kind: UpgradeKind) -> &'static str {
    match kind {
        UpgradeKind::Cluster => "clusters",
        UpgradeKind::Kyma => "Kyma",
    }
}
