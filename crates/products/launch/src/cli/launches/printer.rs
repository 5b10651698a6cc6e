//! Prints the progress of a launch: one line for each step, and on a terminal a last line that changes.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Result;
use api::client::WaitEvent;

use crate::api::types::Step;
use crate::client::LaunchDetails;
use app::hint;
use app::output::{self, Format, ProgressPrinter, lasted, printable};

const BAR_CHARS: u64 = 20;

pub(crate) struct LaunchPrinter {
    progress: ProgressPrinter,
    /// The last line of each step.
    printed: HashMap<String, String>,
    /// Whether people know that something is expected of them.
    has_asked: bool,
    /// Every change is data, in this form.
    stream: Option<Format>,
}

impl LaunchPrinter {
    pub(crate) fn new() -> LaunchPrinter {
        LaunchPrinter::with(ProgressPrinter::to_stderr(), None)
    }

    /// For scripts that want to see every change.
    pub(crate) fn streaming(format: Format) -> LaunchPrinter {
        LaunchPrinter::with(ProgressPrinter::on(false), Some(format))
    }

    fn with(progress: ProgressPrinter, stream: Option<Format>) -> LaunchPrinter {
        LaunchPrinter { progress, printed: HashMap::new(), has_asked: false, stream }
    }

    pub(crate) fn show(&mut self, launch: &LaunchDetails) -> Result<()> {
        if let Some(format) = self.stream {
            return output::print_item(format, launch);
        }
        for line in self.changed(launch) {
            self.progress.permanent(&line);
        }
        if launch.state == "waiting_parameters" && !self.has_asked {
            self.has_asked = true;
            let id = launch.id;
            let submit_parameters = format!("launches parameters {id} --source ID --type TYPE --key KEY");
            self.progress
                .permanent(&format!("it waits for its parameters: {}", hint::command(&submit_parameters)));
        }
        if let Some(step) = launch.current() {
            self.progress.line(&line(step, launch.waits_for.as_deref()));
        }
        Ok(())
    }

    pub(super) fn updates(&mut self, updates: &WaitEvent<'_>) {
        if matches!(updates, WaitEvent::Away(_)) {
            self.progress.updates(updates);
        }
    }

    /// The lines that are new. Where no line can change, every change is a line.
    fn changed(&mut self, launch: &LaunchDetails) -> Vec<String> {
        self.progress.forget();
        let mut lines = Vec::new();
        for step in &launch.steps {
            let is_told = match step.state.as_str() {
                "pending" | "skipped" => false,
                _ if step.is_under_way() => !self.progress.is_terminal(),
                _ => true,
            };
            let line = line(step, launch.waits_for.as_deref());
            if is_told && self.printed.get(&step.name) != Some(&line) {
                self.printed.insert(step.name.clone(), line.clone());
                lines.push(line);
            }
        }
        lines
    }
}

/// One step: how it stands, its name, and whatever else there is to say.
fn line(step: &Step, waits_for: Option<&str>) -> String {
    let word = match step.state.as_str() {
        "succeeded" => "done",
        "compensating" => "undoing",
        "compensated" => "undone",
        "compensation_failed" => "left",
        other => other,
    };
    let is_under_way = step.is_under_way();
    let progress = step.progress.filter(|_| is_under_way);
    let bar = progress.map(|it| format!(" {}", bar(it.done, it.total)));
    let took = took(step).filter(|_| step.state == "succeeded").map(|took| format!(" ({})", lasted(took)));
    let tries = (step.attempt > 0 && is_under_way).then(|| format!(", try {}", step.attempt + 1));
    let why = step.error.as_deref().filter(|_| step.state != "succeeded");
    let waits = waits_for.filter(|_| step.state == "waiting");
    let counted = progress.map(|it| format!(" {} of {}", it.done, it.total));
    // What is waited for says the numbers already.
    let why = why.or(waits).map(|text| format!(": {text}")).or(counted);
    let head = format!("{word:<9} {}", step.title);
    printable(&[Some(head), bar, took, tries, why].into_iter().flatten().collect::<String>())
}

fn took(step: &Step) -> Option<Duration> {
    Some(step.finished_at?.since(step.started_at?))
}

fn bar(done: u32, total: u32) -> String {
    let filled = (u64::from(done.min(total)) * BAR_CHARS).checked_div(total.into()).unwrap_or(0);
    let cells = |count: u64, cell: char| (0..count).map(|_| cell).collect::<String>();
    format!("[{}{}]", cells(filled, '#'), cells(BAR_CHARS - filled, '-'))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::client::launch_with;

    fn step(state: &str, more: &Value) -> Value {
        let mut step = json!({"index": 0, "name": "build_image", "title": "Building the image", "state": state, "attempt": 0});
        for (key, value) in more.as_object().unwrap() {
            step[key] = value.clone();
        }
        step
    }

    fn printer(is_terminal: bool) -> LaunchPrinter {
        LaunchPrinter::with(ProgressPrinter::on(is_terminal), Some(Format::Json))
    }

    fn lines(printer: &mut LaunchPrinter, step: &Value) -> Vec<String> {
        printer.changed(&launch_with(&json!({"steps": [step], "waits_for": "someone", "is_over": false})))
    }

    #[test]
    fn a_step_is_one_line_that_says_how_it_stands() {
        let times = json!({"started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:12:00Z"});
        for (state, more, expected) in [
            ("running", json!({}), "running   Building the image"),
            (
                "running",
                json!({"progress": {"done": 3, "total": 6}}),
                "running   Building the image [##########----------] 3 of 6",
            ),
            (
                "running",
                json!({"progress": {"done": 9, "total": 6}}),
                "running   Building the image [####################] 9 of 6",
            ),
            (
                "running",
                json!({"progress": {"done": 0, "total": 0}}),
                "running   Building the image [--------------------] 0 of 0",
            ),
            ("succeeded", times, "done      Building the image (12 min)"),
            ("waiting", json!({}), "waiting   Building the image: someone"),
            (
                "waiting",
                json!({"progress": {"done": 1, "total": 2}}),
                "waiting   Building the image [##########----------]: someone",
            ),
            (
                "retrying",
                json!({"attempt": 2, "error": "no\nroute"}),
                "retrying  Building the image, try 3: no route",
            ),
            ("failed", json!({"error": "why"}), "failed    Building the image: why"),
            ("compensated", json!({}), "undone    Building the image"),
        ] {
            assert_eq!(lines(&mut printer(false), &step(state, &more)), [expected], "{state}");
        }
    }

    #[test]
    fn a_change_is_told_once_and_where_lines_can_change_only_ends_stay() {
        let mut plain = printer(false);
        let half = step("running", &json!({"progress": {"done": 1, "total": 2}}));
        assert!(lines(&mut plain, &step("pending", &json!({}))).is_empty());
        assert_eq!(lines(&mut plain, &step("running", &json!({}))).len(), 1);
        assert_eq!(lines(&mut plain, &half).len(), 1);
        assert!(lines(&mut plain, &half).is_empty());
        assert_eq!(lines(&mut plain, &step("succeeded", &json!({}))).len(), 1);
        let mut terminal = printer(true);
        assert!(lines(&mut terminal, &half).is_empty());
        assert_eq!(lines(&mut terminal, &step("succeeded", &json!({}))).len(), 1);
        assert!(lines(&mut terminal, &step("succeeded", &json!({}))).is_empty());
    }
}
