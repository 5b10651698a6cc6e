//! How a launch gets on, for people: one line for each step, and on a terminal a last line that changes.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::time::Duration;

use anyhow::Result;

use crate::launching::{Launch, LaunchingError, Step};
use crate::output::{self, Format, Progress, lasted, note, printable};

/// A line that wraps cannot be written again.
const LINE_CHARS_MAX: usize = 79;
const BAR_CHARS: u64 = 20;

pub(in crate::cmd) struct Teller {
    progress: Option<Progress>,
    /// What was said about each step.
    said: HashMap<String, String>,
    last: String,
    /// Whether people know that something is expected of them.
    has_asked: bool,
    /// Every change is data, in this form.
    stream: Option<Format>,
}

impl Teller {
    pub(in crate::cmd) fn new() -> Teller {
        let progress = std::io::stderr().is_terminal().then(Progress::new);
        Teller { progress, said: HashMap::new(), last: String::new(), has_asked: false, stream: None }
    }

    /// For scripts that want to see every change.
    pub(in crate::cmd) fn streaming(format: Format) -> Teller {
        Teller { stream: Some(format), progress: None, ..Teller::new() }
    }

    pub(in crate::cmd) fn tell(&mut self, launch: &Launch) -> Result<()> {
        if let Some(format) = self.stream {
            return output::print_item(format, launch);
        }
        for line in self.news(launch) {
            self.permanent(&line);
        }
        if launch.state == "waiting_parameters" && !self.has_asked {
            self.has_asked = true;
            let id = launch.id;
            self.permanent(&format!(
                "it waits for you: provision-engine launches parameters {id} --source ID --type TYPE --key KEY"
            ));
        }
        let current = launch.current().map(|step| line(step, launch.waits_for.as_deref()));
        if let (Some(progress), Some(current)) = (&self.progress, current) {
            progress.say(&cut(&current));
        }
        Ok(())
    }

    pub(super) fn trouble(&mut self, error: &LaunchingError) {
        let text = format!("{error}; trying again");
        if text == self.last {
            return;
        }
        match &self.progress {
            Some(progress) => progress.say(&cut(&text)),
            None => note(&text),
        }
        self.last = text;
    }

    /// The lines that have not been said yet. Where nobody can see a line change, every change is a line.
    fn news(&mut self, launch: &Launch) -> Vec<String> {
        self.last.clear();
        let mut lines = Vec::new();
        for step in &launch.steps {
            let is_told = match step.state.as_str() {
                "pending" | "skipped" => false,
                _ if step.is_under_way() => self.progress.is_none(),
                _ => true,
            };
            let line = line(step, launch.waits_for.as_deref());
            if is_told && self.said.get(&step.name) != Some(&line) {
                self.said.insert(step.name.clone(), line.clone());
                lines.push(line);
            }
        }
        lines
    }

    fn permanent(&self, line: &str) {
        if let Some(progress) = &self.progress {
            progress.say("");
        }
        note(line);
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

fn cut(text: &str) -> String {
    if text.chars().count() <= LINE_CHARS_MAX {
        return text.to_owned();
    }
    text.chars().take(LINE_CHARS_MAX - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::launching::launch_with;

    fn step(state: &str, more: &Value) -> Value {
        let mut step =
            json!({"name": "build_image", "title": "Building the image", "state": state, "attempt": 0});
        for (key, value) in more.as_object().unwrap() {
            step[key] = value.clone();
        }
        step
    }

    fn teller(is_terminal: bool) -> Teller {
        Teller { progress: is_terminal.then(Progress::new), ..Teller::streaming(Format::Json) }
    }

    fn lines(teller: &mut Teller, step: &Value) -> Vec<String> {
        teller.news(&launch_with(&json!({"steps": [step], "waits_for": "somebody", "is_over": false})))
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
            ("waiting", json!({}), "waiting   Building the image: somebody"),
            (
                "waiting",
                json!({"progress": {"done": 1, "total": 2}}),
                "waiting   Building the image [##########----------]: somebody",
            ),
            (
                "retrying",
                json!({"attempt": 2, "error": "no\nroute"}),
                "retrying  Building the image, try 3: no route",
            ),
            ("failed", json!({"error": "why"}), "failed    Building the image: why"),
            ("compensated", json!({}), "undone    Building the image"),
        ] {
            assert_eq!(lines(&mut teller(false), &step(state, &more)), [expected], "{state}");
        }
    }

    #[test]
    fn a_change_is_told_once_and_where_lines_can_change_only_ends_stay() {
        let mut plain = teller(false);
        let half = step("running", &json!({"progress": {"done": 1, "total": 2}}));
        assert!(lines(&mut plain, &step("pending", &json!({}))).is_empty());
        assert_eq!(lines(&mut plain, &step("running", &json!({}))).len(), 1);
        assert_eq!(lines(&mut plain, &half).len(), 1);
        assert!(lines(&mut plain, &half).is_empty());
        assert_eq!(lines(&mut plain, &step("succeeded", &json!({}))).len(), 1);
        let mut terminal = teller(true);
        assert!(lines(&mut terminal, &half).is_empty());
        assert_eq!(lines(&mut terminal, &step("succeeded", &json!({}))).len(), 1);
        assert!(lines(&mut terminal, &step("succeeded", &json!({}))).is_empty());
    }

    #[test]
    fn a_line_that_changes_fits_on_one() {
        assert_eq!(cut("short"), "short");
        assert_eq!(cut(&"x".repeat(200)).chars().count(), LINE_CHARS_MAX);
    }
}
