//! A launch as people read it.

use std::time::Duration;

use crate::api::launches::wire::{Instance, Launch, Step};
use cloud::ssh_command;
use serde_json::Value;
use api::types::{Moment, StepState};

use console::parts::{Chip, Icon, Tone, When, span};

/// No attempt brings this step on.
const WAITS_FOR_PEOPLE: &str = "wait_for_parameters";

/// A moment as the door for launches writes it.
pub(crate) fn moment(text: &str) -> Option<Moment> {
    serde_json::from_value(Value::from(text)).ok()
}

pub(crate) fn when(text: &str) -> Option<When> {
    moment(text).map(When::from)
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

/// The state of a machine.
pub(crate) fn machine(state: &str) -> Chip {
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
pub(crate) struct Line {
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

pub(crate) fn lines(launch: &Launch) -> Vec<Line> {
    launch.steps.iter().map(|step| line(step, launch)).collect()
}

fn line(step: &Step, launch: &Launch) -> Line {
    let is_here = ["running", "waiting", "retrying", "compensating"].contains(&step.state.as_str());
    let began = step.started_at.as_deref().and_then(moment);
    let ended = step.finished_at.as_deref().and_then(moment);
    let took =
        began.zip(ended).and_then(|(began, ended)| Duration::try_from(ended.0 - began.0).ok()).map(span);
    Line {
        name: step.name.clone(),
        title: step.title.clone(),
        chip: step_chip(&step.state),
        is_here,
        attempt: step.attempt,
        took,
        began: began.map(When::from),
        next: step
            .next_attempt_at
            .as_deref()
            .and_then(when)
            .filter(|_| is_here && step.name != WAITS_FOR_PEOPLE),
        percent: step.progress.filter(|progress| progress.total > 0).map(|it| it.done * 100 / it.total),
        error: step.error.clone(),
        waits_for: launch.waits_for.clone().filter(|_| is_here && step.state == "waiting"),
    }
}

/// A machine and how to log in.
pub(crate) struct Machine {
    pub(crate) id: String,
    pub(crate) chip: Chip,
    pub(crate) address: Option<String>,
    pub(crate) private: Option<String>,
    pub(crate) login: Option<String>,
}

pub(crate) fn machines(launch: &Launch) -> Vec<Machine> {
    launch.instances.iter().map(|one| of(one, &launch.provider)).collect()
}

fn of(one: &Instance, provider: &str) -> Machine {
    let address = one.detail.public_ipv4.clone().or_else(|| one.detail.public_dns.clone());
    let private = one.detail.private_ipv4.clone().or_else(|| one.detail.private_ipv6.clone());
    let login = address.as_deref().filter(|_| !is_gone(&one.state)).and_then(|to| ssh_command(provider, to));
    Machine { id: one.instance_id.clone(), chip: machine(&one.state), address, private, login }
}

/// What an image is called on these pages.
pub(crate) fn image(launch: &Launch) -> String {
    let text = |name: &str| launch.image.get(name).and_then(Value::as_str).unwrap_or_default();
    match text("kind") {
        "build" if text("image_name").is_empty() => format!("{}, built", text("distribution")),
        "build" => format!("{}, {}, built", text("image_name"), text("distribution")),
        "cloud" | "compose" => text("id").to_owned(),
        _ => "of the template".to_owned(),
    }
}

/// A value of the parameters as a text.
pub(crate) fn parameter(launch: &Launch, name: &str) -> Option<String> {
    match launch.parameters.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Object(key) => key.get("name").and_then(Value::as_str).map(str::to_owned),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    pub(crate) fn launch() -> Launch {
        serde_json::from_value(json!({
            "id": "01a1e3e8-1cb7-727d-8e65-c6824062041d", "reservation_id": 1, "operation_id": null,
            "provider": "aws", "state": "building", "is_over": false, "created_at": "2026-01-01T00:00:00Z",
            "finished_at": null, "waits_for": "the image", "build": {"status": "building"},
            "image": {"kind": "build", "distribution": "rhel-9", "image_name": "web"},
            "profile": {}, "parameters": {"amount": 2, "key": {"name": "mine"}}, "warnings": [], "leftovers": [],
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
        assert_eq!(machines(&launch())[0].login.as_deref(), Some("ssh ec2-user@10.0.0.1"));
        for bad in ["-oProxyCommand=x", "a b", "a;rm", "$(x)"] {
            assert_eq!(ssh_command("aws", bad), None, "{bad}");
        }
        let mut gone = launch();
        gone.instances[0].state = "terminated".to_owned();
        assert_eq!(machines(&gone)[0].login, None);
    }

    #[test]
    fn values_are_found_by_their_names() {
        let launch = launch();
        assert_eq!(image(&launch), "web, rhel-9, built");
        assert_eq!(parameter(&launch, "amount").as_deref(), Some("2"));
        assert_eq!(parameter(&launch, "key").as_deref(), Some("mine"));
        assert_eq!(parameter(&launch, "region"), None);
    }
}
