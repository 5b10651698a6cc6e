//! Texts and chips for the pages of launches.

use crate::api::types::{Instance, Launch, LaunchImage, Step};
use api::types::StepState;
use cloud::ssh_command;
use engine::Timestamp;

use console::parts::{Chip, Icon, Since, Tone, When, span};

/// No attempt brings this step on.
const WAITS_FOR_PEOPLE: &str = "wait_for_parameters";

pub(crate) fn when(at: Timestamp) -> When {
    When::from(at)
}

/// The state of a launch.
pub(crate) fn stage(state: &str) -> Chip {
    let (tone, icon) = match state {
        "succeeded" => (Tone::Good, Icon::Check),
        "succeeded_with_warnings" => (Tone::Waits, Icon::Alert),
        "failed" => (Tone::Bad, Icon::Cross),
        "failed_dirty" => (Tone::Bad, Icon::Hand),
        "cancelled" | "abandoned" => (Tone::Quiet, Icon::Slash),
        "compensating" | "cancelling" => (Tone::Busy, Icon::Undo),
        "waiting_parameters" => (Tone::Waits, Icon::Hand),
        "accepted" => (Tone::Waits, Icon::Clock),
        _ => (Tone::Busy, Icon::Play),
    };
    Chip::new(tone, icon, word(state))
}

/// In the words of the pages, where those of the API are not theirs.
fn word(state: &str) -> String {
    match state {
        "compensating" => "undoing".to_owned(),
        "failed_dirty" => "failed, not clean".to_owned(),
        "waiting_parameters" => "waits for you".to_owned(),
        other => other.replace('_', " "),
    }
}

/// In the words of all operations. In the API of launches a step is skipped when its turn never came.
fn step_chip(state: &str) -> Chip {
    match state {
        "succeeded" => StepState::Done,
        "running" => StepState::Running,
        "waiting" => StepState::Waiting,
        "retrying" => StepState::Retrying,
        "failed" => StepState::Failed,
        "compensation_failed" => StepState::UndoFailed,
        "compensating" => return Chip::new(Tone::Busy, Icon::Undo, "undoing"),
        "compensated" => StepState::Undone,
        "skipped" => StepState::NotRun,
        _ => StepState::Pending,
    }
    .into()
}

/// The state of an instance.
pub(crate) fn instance_chip(state: &str) -> Chip {
    let (tone, icon) = match state {
        "running" => (Tone::Good, Icon::Check),
        "pending" => (Tone::Busy, Icon::Play),
        "stopping" | "shutting_down" => (Tone::Busy, Icon::Hourglass),
        "stopped" => (Tone::Quiet, Icon::Pause),
        _ => (Tone::Quiet, Icon::Slash),
    };
    Chip::new(tone, icon, state.replace('_', " "))
}

pub(crate) fn is_gone(state: &str) -> bool {
    ["shutting_down", "terminated"].contains(&state)
}

/// One step, ready to be shown.
pub(crate) struct StepLine {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) chip: Chip,
    pub(crate) is_here: bool,
    pub(crate) attempt: u32,
    pub(crate) took: Option<String>,
    pub(crate) began: Option<When>,
    pub(crate) next: Option<When>,
    pub(crate) percent: Option<u32>,
    pub(crate) error: Option<String>,
    pub(crate) waits_for: Option<String>,
}

pub(crate) fn lines(launch: &Launch) -> Vec<StepLine> {
    launch.steps.iter().map(|step| line(step, launch)).collect()
}

fn line(step: &Step, launch: &Launch) -> StepLine {
    let is_here = ["running", "waiting", "retrying", "compensating"].contains(&step.state.as_str());
    let took = step.started_at.zip(step.finished_at).map(|(began, ended)| span(ended.since(began)));
    StepLine {
        name: step.name.clone(),
        title: step.title.clone(),
        chip: step_chip(&step.state),
        is_here,
        attempt: step.attempt,
        took,
        began: step.started_at.map(When::from),
        next: step.next_attempt_at.map(When::from).filter(|_| is_here && step.name != WAITS_FOR_PEOPLE),
        percent: step.progress.filter(|progress| progress.total > 0).map(|it| it.done * 100 / it.total),
        error: step.error.clone(),
        waits_for: launch.waits_for.clone().filter(|_| is_here && step.state == "waiting"),
    }
}

/// An instance and how to log in.
pub(crate) struct InstanceRow {
    pub(crate) id: String,
    pub(crate) chip: Chip,
    pub(crate) address: Option<String>,
    pub(crate) private: Option<String>,
    pub(crate) login: Option<String>,
}

pub(crate) fn instances(launch: &Launch) -> Vec<InstanceRow> {
    launch.instances.iter().map(|one| of(one, &launch.provider)).collect()
}

fn of(one: &Instance, provider: &str) -> InstanceRow {
    let address = one.detail.public().map(str::to_owned);
    let private = one.detail.private_ipv4.clone().or_else(|| one.detail.private_ipv6.clone());
    let login = address.as_deref().filter(|_| !is_gone(&one.state)).and_then(|to| ssh_command(provider, to));
    InstanceRow { id: one.instance_id.clone(), chip: instance_chip(&one.state), address, private, login }
}

/// How long it took, or since when it goes on.
pub(crate) fn duration(launch: &Launch) -> Option<Result<String, Since>> {
    let Some(ended) = launch.finished_at else {
        return (!launch.is_over).then(|| Err(Since::from(launch.created_at)));
    };
    Some(Ok(span(ended.since(launch.created_at))))
}

/// What a launch is called: by its name, where it has one.
pub(crate) fn title(launch: &Launch) -> String {
    launch.parameter("name").unwrap_or_else(|| format!("Launch {}", launch.reservation_id))
}

/// The end of an id that is a path, as those of Azure are.
pub(crate) fn short_id(id: &str) -> &str {
    id.rsplit('/').next().unwrap_or(id)
}

/// What an image is called on these pages.
pub(crate) fn image(launch: &Launch) -> String {
    match &launch.image {
        LaunchImage::None => "of the template".to_owned(),
        LaunchImage::Cloud { id } => short_id(id).to_owned(),
        LaunchImage::Compose { id } => id.to_string(),
        LaunchImage::Build { distribution, image_name, .. } => {
            let names =
                [image_name.as_deref(), Some(distribution.as_deref().unwrap_or_default()), Some("built")];
            names.into_iter().flatten().collect::<Vec<_>>().join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::profile::ProfileName;

    pub(crate) fn launch() -> Launch {
        serde_json::from_value(json!({
            "id": "01a1e3e8-1cb7-727d-8e65-c6824062041d", "reservation_id": 1, "operation_id": null,
            "provider": "aws", "state": "building", "is_over": false, "created_at": "2026-01-01T00:00:00Z",
            "finished_at": null, "waits_for": "the image", "build": null,
            "image": {"kind": "build", "distribution": "rhel-9", "image_name": "web", "architecture": "x86_64",
                      "image_type": "aws"},
            "profile": ProfileName::Wizard.profile(), "warnings": [], "leftovers": [],
            "parameters": {"source_id": "7", "region": "r", "amount": 2, "key": {"pubkey_id": 1, "name": "mine"}},
            "error": null,
            "steps": [
                {"index": 0, "name": "validate", "title": "V", "state": "succeeded", "attempt": 0,
                 "next_attempt_at": null, "started_at": "2026-01-01T00:00:00Z",
                 "finished_at": "2026-01-01T00:00:02Z", "outputs": null, "error": null},
                {"index": 1, "name": "build_image", "title": "B", "state": "waiting", "attempt": 0,
                 "next_attempt_at": "2026-01-01T00:00:09Z", "started_at": "2026-01-01T00:00:02Z",
                 "finished_at": null, "progress": {"done": 1, "total": 4}, "outputs": null, "error": null},
            ],
            "instances": [{"instance_id": "i-1", "state": "running",
                           "detail": {"public_ipv4": "10.0.0.1", "public_dns": "a.example"}}],
        }))
        .unwrap()
    }

    #[test]
    fn a_step_shows_how_far_it_is_and_what_it_waits_for() {
        let lines = lines(&launch());
        assert_eq!((lines[0].took.as_deref(), lines[0].waits_for.as_deref()), (Some("2.0 s"), None));
        assert_eq!((lines[1].percent, lines[1].waits_for.as_deref()), (Some(25), Some("the image")));
        assert!(lines[1].is_here && lines[1].next.is_some() && lines[0].next.is_none());
    }

    #[test]
    fn a_login_is_an_address_and_nothing_else() {
        assert_eq!(instances(&launch())[0].login.as_deref(), Some("ssh ec2-user@10.0.0.1"));
        for bad in ["-oProxyCommand=x", "a b", "a;rm", "$(x)"] {
            assert_eq!(ssh_command("aws", bad), None, "{bad}");
        }
        let mut gone = launch();
        gone.instances[0].state = "terminated".to_owned();
        assert_eq!(instances(&gone)[0].login, None);
    }

    #[test]
    fn values_are_found_by_their_names() {
        let launch = launch();
        assert_eq!(image(&launch), "web, rhel-9, built");
        assert_eq!(launch.parameter("amount").as_deref(), Some("2"));
        assert_eq!(launch.parameter("key").as_deref(), Some("mine"));
        assert_eq!(launch.parameter("name"), None);
    }
}
