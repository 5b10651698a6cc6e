//! The journal of an operation: filtered, a part at a time, newest at the end.

use std::collections::BTreeSet;

use api::types::JournalEntry;
use askama::Template;
use engine::Timestamp;
use serde::Deserialize;
use uuid::Uuid;

use super::look::Story;
use crate::parts::{Chip, Clock, Icon, Prose, Tone, span};
use crate::path;

/// Lines on a page.
const SHOWN: usize = 200;
const KINDS: [&str; 10] = [
    "created",
    "adopted",
    "stepped",
    "waited",
    "retried",
    "turned",
    "stuck",
    "asked",
    "signalled",
    "finished",
];

/// What of the journal is wanted, as it is in the address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct JournalQuery {
    pub(super) kind: String,
    pub(super) step: String,
    /// A part of the sentence.
    pub(super) q: String,
    /// Only what came before this event.
    pub(super) before: Option<u32>,
}

impl JournalQuery {
    fn fits(&self, entry: &JournalEntry) -> bool {
        let fits_kind = self.kind.is_empty() || entry.kind == self.kind;
        let fits_step = self.step.is_empty() || names(entry, &self.step);
        let text = self.q.trim().to_lowercase();
        let fits_text = text.is_empty() || entry.text.to_lowercase().contains(&text);
        fits_kind && fits_step && fits_text
    }

    fn is_any(&self) -> bool {
        self.kind.is_empty() && self.step.is_empty() && self.q.trim().is_empty()
    }

    fn pairs(&self) -> [(&str, &str); 3] {
        [("kind", &self.kind), ("step", &self.step), ("q", &self.q)]
    }
}

/// Whether an event is about a step: it names the step, or the step got on with it.
fn names(entry: &JournalEntry, step: &str) -> bool {
    let is_in = |list: &str| {
        let found = &entry.data["changes"][list];
        let listed = found.as_array().is_some_and(|all| all.iter().any(|one| one == step));
        listed || found.get(step).is_some()
    };
    entry.step.as_deref() == Some(step) || ["done", "skipped", "undone"].iter().any(|list| is_in(list))
}

#[derive(Template)]
#[template(path = "operations/journal.html")]
pub(super) struct Journal {
    id: Uuid,
    wanted: JournalQuery,
    kinds: &'static [&'static str],
    steps: Vec<String>,
    lines: JournalLines,
    /// How many events fit, and how many there are.
    fits: usize,
    all: usize,
    is_cut: bool,
    older: Option<String>,
    newest: Option<String>,
    /// Where new lines come from, while there may be any.
    live: Option<String>,
}

/// Some lines of the journal.
#[derive(Template)]
#[template(path = "operations/lines.html")]
pub(super) struct JournalLines(Vec<JournalLine>);

struct JournalLine {
    entry: JournalEntry,
    /// How long after the beginning.
    offset: String,
    data: String,
}

impl JournalLine {
    fn chip(&self) -> Chip {
        let (tone, icon) = match self.entry.kind.as_str() {
            "waited" => (Tone::Waits, Icon::Hourglass),
            "retried" => (Tone::Waits, Icon::Alert),
            "turned" => (Tone::Bad, Icon::Undo),
            "stuck" => (Tone::Bad, Icon::Hand),
            "asked" => (Tone::Busy, Icon::Hand),
            "signalled" => (Tone::Busy, Icon::Activity),
            "finished" => ended(&self.entry),
            "adopted" => (Tone::Quiet, Icon::Server),
            "created" => (Tone::Quiet, Icon::Play),
            _ => (Tone::Quiet, Icon::Steps),
        };
        Chip::new(tone, icon, label(&self.entry.kind))
    }
}

/// The kind of an event as people read it. The journal and the API keep the names that are saved.
fn label(kind: &str) -> &str {
    match kind {
        "adopted" => "taken over",
        "stepped" => "progress",
        "turned" => "undoing",
        "asked" => "requested",
        kind => kind,
    }
}

fn ended(entry: &JournalEntry) -> (Tone, Icon) {
    match entry.data["phase"].as_str() {
        Some("succeeded") => (Tone::Good, Icon::Check),
        Some("failed") => (Tone::Bad, Icon::Cross),
        _ => (Tone::Quiet, Icon::Undo),
    }
}

impl JournalLines {
    /// Those of the entries that are wanted.
    pub(super) fn of<'a>(
        entries: impl IntoIterator<Item = &'a JournalEntry>,
        wanted: &JournalQuery,
        begun: Option<Timestamp>,
    ) -> JournalLines {
        let fitting = entries.into_iter().filter(|entry| wanted.fits(entry));
        let line = |entry: &JournalEntry| {
            let offset = begun.map(|begun| offset(begun, entry)).unwrap_or_default();
            JournalLine { entry: entry.clone(), offset, data: pretty(&entry.data) }
        };
        JournalLines(fitting.map(line).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// How long after the beginning something happened, to a tenth of a millisecond in the first second.
fn offset(begun: Timestamp, entry: &JournalEntry) -> String {
    let micros = i64::try_from(entry.at.0.unix_timestamp_nanos() / 1000).unwrap_or(begun.0);
    let since = Timestamp(micros).since(begun);
    match since.as_micros() {
        0 => "+0 ms".to_owned(),
        1..1_000_000 => format!("+{:.1} ms", since.as_secs_f64() * 1000.0),
        1_000_000..60_000_000 => format!("+{:.3} s", since.as_secs_f64()),
        _ => format!("+{}", span(since)),
    }
}

/// JSON for people; empty where there is nothing in it.
pub(super) fn pretty(value: &serde_json::Value) -> String {
    let is_empty = value.is_null()
        || value.as_object().is_some_and(serde_json::Map::is_empty)
        || value.as_array().is_some_and(Vec::is_empty);
    if is_empty { String::new() } else { serde_json::to_string_pretty(value).unwrap_or_default() }
}

impl Journal {
    pub(super) fn new(id: Uuid, story: &Story, wanted: JournalQuery, is_over: bool) -> Journal {
        let at = format!("/console/operations/{id}");
        let fitting = || story.entries.iter().filter(|entry| wanted.fits(entry));
        let earlier: Vec<&JournalEntry> =
            fitting().filter(|entry| wanted.before.is_none_or(|before| entry.seq < before)).collect();
        let from = earlier.len().saturating_sub(SHOWN);
        let shown = &earlier[from..];
        let older = shown.first().filter(|_| from > 0).map(|first| {
            let before = first.seq.to_string();
            let query = path::query(wanted.pairs().into_iter().chain([("before", before.as_str())]));
            format!("{at}{query}#journal")
        });
        let newest = wanted.before.map(|_| format!("{at}{}#journal", path::query(wanted.pairs())));
        let is_live = !is_over && wanted.before.is_none() && !story.is_cut;
        let live = is_live.then(|| {
            let after = story.last.to_string();
            let query = path::query(wanted.pairs().into_iter().chain([("after", after.as_str())]));
            format!("{at}/live{query}")
        });
        let steps: BTreeSet<&str> = story.entries.iter().filter_map(|entry| entry.step.as_deref()).collect();
        Journal {
            id,
            kinds: &KINDS,
            steps: steps.into_iter().map(str::to_owned).collect(),
            lines: JournalLines::of(shown.iter().copied(), &JournalQuery::default(), story.timeline.begun),
            fits: fitting().count(),
            all: story.entries.len(),
            is_cut: story.is_cut,
            older,
            newest,
            live,
            wanted,
        }
    }
}

#[cfg(test)]
mod tests {
    use engine::{Body, Changes, Event};
    use server::ToWire;

    use super::*;

    fn story(count: u32) -> Story {
        let mut story = Story::default();
        for seq in 1..=count {
            let changes = Changes { done: vec![format!("S{}", seq % 2)], ..Changes::default() };
            let body = Body::Stepped { changes, started: Some("next".into()) };
            let entry = (&Event { seq, at: Timestamp(0), body }).to_wire();
            story.entries.push(entry);
            story.last = seq;
        }
        story
    }

    fn shown(journal: &Journal) -> Vec<u32> {
        journal.lines.0.iter().map(|line| line.entry.seq).collect()
    }

    #[test]
    fn the_newest_lines_come_first_and_the_older_ones_are_a_link_away() {
        let journal = Journal::new(Uuid::nil(), &story(450), JournalQuery::default(), false);
        assert_eq!((shown(&journal)[0], shown(&journal).len()), (251, SHOWN));
        assert!(journal.older.unwrap().contains("before=251#journal"));
        assert!(journal.live.unwrap().contains("after=450") && journal.newest.is_none());
        let wanted = JournalQuery { before: Some(51), ..JournalQuery::default() };
        let journal = Journal::new(Uuid::nil(), &story(450), wanted, false);
        assert_eq!((shown(&journal)[0], shown(&journal).len()), (1, 50));
        assert!(journal.older.is_none() && journal.live.is_none() && journal.newest.is_some());
    }

    #[test]
    fn an_event_says_how_long_after_the_beginning_it_was() {
        let told = |micros: i64| {
            let body = Body::Stepped { changes: Changes::default(), started: None };
            let event = Event { seq: 1, at: Timestamp(1_000 + micros), body };
            offset(Timestamp(1_000), &(&event).to_wire())
        };
        assert_eq!([told(0), told(400), told(11_250)], ["+0 ms", "+0.4 ms", "+11.2 ms"]);
        assert_eq!([told(1_234_567), told(61_000_000)], ["+1.235 s", "+1 min 1 s"]);
    }

    #[test]
    fn a_filter_finds_what_got_on_and_what_is_said() {
        let by_step = JournalQuery { step: "S1".into(), ..JournalQuery::default() };
        assert_eq!(shown(&Journal::new(Uuid::nil(), &story(4), by_step, true)), [1, 3]);
        let by_text = JournalQuery { q: " s0 DONE".into(), ..JournalQuery::default() };
        let journal = Journal::new(Uuid::nil(), &story(4), by_text, true);
        assert_eq!((shown(&journal), journal.fits, journal.all), (vec![2, 4], 2, 4));
        let by_kind = JournalQuery { kind: "waited".into(), ..JournalQuery::default() };
        assert!(shown(&Journal::new(Uuid::nil(), &story(4), by_kind, true)).is_empty());
    }
}
