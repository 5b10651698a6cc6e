//! The waterfall of steps: each with its time on one scale.

use std::collections::HashMap;
use std::time::Duration;

use api::types::{OperationDetail, Step, StepState};
use askama::Template;
use engine::Timestamp;

use super::timeline::{Segment, SpanKind, Timeline, Track};
use crate::parts::{Chip, span};

/// The width of the picture.
const WIDE: f64 = 1000.0;
/// Nothing that happened is too short to be seen.
const SEEN: f64 = 4.0;
/// More than can be told apart.
const RECTS_MAX: usize = 200;

#[derive(Template)]
#[template(path = "operations/waterfall.html")]
pub(super) struct Waterfall {
    rows: Vec<WaterfallRow>,
    /// From the left edge to the right one.
    whole: String,
    undoing: Option<Undoing>,
    legend: [(&'static str, &'static str); 5],
}

struct WaterfallRow {
    step: Step,
    rects: Vec<Rect>,
    marks: Vec<String>,
    took: Option<String>,
    told: String,
}

struct Rect {
    class: &'static str,
    x: String,
    width: String,
    title: String,
}

/// How far an operation has gone back.
struct Undoing {
    undone: usize,
    all: usize,
}

impl Waterfall {
    pub(super) fn new(detail: &OperationDetail, timeline: &Timeline, now: Timestamp) -> Waterfall {
        let running = detail.steps.iter().find(|step| step.state == StepState::Running);
        let has_node = detail.operation.node.is_some();
        let running = running.map(|step| step.name.as_str());
        let from = timeline.begun.unwrap_or(now);
        let (begun, end) = rounded(now.since(from));
        let to = timeline.ended.unwrap_or_else(|| from.plus(end));
        let tracks = timeline.until(from.plus(begun), running, has_node);
        let scale = Scale { from, width: to.since(from).max(Duration::from_millis(1)).as_secs_f64() };
        let rows = detail.steps.iter().map(|step| WaterfallRow::new(step, &tracks, &scale)).collect();
        Waterfall {
            rows,
            whole: span(to.since(from)),
            undoing: undoing(detail),
            legend: [
                ("seg-work", "running"),
                ("seg-wait", "waiting"),
                ("seg-retry", "retry delay"),
                ("seg-undo", "undoing"),
                ("seg-held", "paused or stuck"),
            ],
        }
    }
}

struct Scale {
    from: Timestamp,
    width: f64,
}

impl Scale {
    fn x(&self, at: Timestamp) -> f64 {
        (at.since(self.from).as_secs_f64() / self.width * WIDE).clamp(0.0, WIDE)
    }
}

/// The time so far, rounded down and up. The picture moves in jumps, so that it is not sent anew every second.
fn rounded(so_far: Duration) -> (Duration, Duration) {
    let seconds = so_far.as_secs();
    let jump = match seconds {
        0..20 => 1,
        20..120 => 5,
        120..1200 => 60,
        1200..7200 => 300,
        7200..86_400 => 3600,
        _ => 6 * 3600,
    };
    let down = seconds / jump * jump;
    (Duration::from_secs(down), Duration::from_secs(down + jump))
}

fn undoing(detail: &OperationDetail) -> Option<Undoing> {
    let undone = detail.steps.iter().filter(|step| step.state == StepState::Undone).count();
    let is_going = detail.operation.phase == api::types::Phase::Undoing;
    is_going.then(|| Undoing { undone, all: undone + detail.left_over.len() })
}

impl WaterfallRow {
    fn new(step: &Step, tracks: &HashMap<String, Track>, scale: &Scale) -> WaterfallRow {
        let nothing = Track::default();
        let track = tracks.get(&step.name).unwrap_or(&nothing);
        let took = track.segments.iter().map(|one| one.to.since(one.from)).sum::<Duration>();
        WaterfallRow {
            rects: rects(&track.segments, scale),
            marks: track
                .failures
                .iter()
                .take(RECTS_MAX)
                .map(|at| format!("{:.1}", scale.x(*at).min(WIDE - 3.0)))
                .collect(),
            took: (!track.segments.is_empty()).then(|| span(took)),
            told: told(step, track),
            step: step.clone(),
        }
    }
}

/// One rectangle, before it is written.
struct Drawn {
    kind: SpanKind,
    x: f64,
    end: f64,
    time: Duration,
    parts: usize,
    note: String,
}

fn rects(segments: &[Segment], scale: &Scale) -> Vec<Rect> {
    let mut drawn: Vec<Drawn> = Vec::new();
    for segment in segments.iter().filter(|one| one.to > one.from) {
        let (x, end) = (scale.x(segment.from), scale.x(segment.to));
        let time = segment.to.since(segment.from);
        // Many short waits, with a short look between them, are one long wait.
        let joins = |last: &&mut Drawn| {
            let is_short = end - x < SEEN && x <= last.end + 1.0;
            is_short && (last.kind == segment.kind || segment.kind == SpanKind::Work)
        };
        if let Some(last) = drawn.last_mut().filter(joins) {
            last.end = last.end.max(end);
            if last.kind == segment.kind {
                last.time += time;
                last.parts += 1;
                last.note.clone_from(&segment.note);
            }
        } else if drawn.len() < RECTS_MAX {
            drawn.push(Drawn { kind: segment.kind, x, end, time, parts: 1, note: segment.note.clone() });
        }
    }
    drawn.iter().map(Rect::from).collect()
}

impl From<&Drawn> for Rect {
    fn from(drawn: &Drawn) -> Rect {
        let x = drawn.x.min(WIDE - SEEN);
        let width = (drawn.end - x).max(SEEN);
        Rect {
            class: class(drawn.kind),
            x: format!("{x:.1}"),
            width: format!("{width:.1}"),
            title: title(drawn),
        }
    }
}

fn class(kind: SpanKind) -> &'static str {
    match kind {
        SpanKind::Work => "seg-work",
        SpanKind::Wait => "seg-wait",
        SpanKind::Retry => "seg-retry",
        SpanKind::Undo => "seg-undo",
        SpanKind::Held => "seg-held",
    }
}

fn title(drawn: &Drawn) -> String {
    let what = match drawn.kind {
        SpanKind::Work => "worked",
        SpanKind::Wait => "waited",
        SpanKind::Retry => "paused",
        SpanKind::Undo => "was undone in",
        SpanKind::Held => "was held for",
    };
    let parts = if drawn.parts > 1 { format!(", {} times", drawn.parts) } else { String::new() };
    let note = if drawn.note.is_empty() { String::new() } else { format!(": {}", drawn.note) };
    format!("{what} {}{parts}{note}", span(drawn.time))
}

/// The same in words.
fn told(step: &Step, track: &Track) -> String {
    let Some(first) = track.segments.first() else { return format!("{}: {}", step.name, step.state.word()) };
    let sum = |kind: SpanKind| {
        let parts = track.segments.iter().filter(|one| one.kind == kind);
        parts.map(|one| one.to.since(one.from)).sum::<Duration>()
    };
    let named = [
        ("worked", SpanKind::Work),
        ("waited", SpanKind::Wait),
        ("paused after failures", SpanKind::Retry),
        ("was undone in", SpanKind::Undo),
        ("was held", SpanKind::Held),
    ];
    let parts = named.into_iter().map(|(word, kind)| (word, sum(kind))).filter(|(_, time)| !time.is_zero());
    let mut parts: Vec<String> = parts.map(|(word, time)| format!("{word} {}", span(time))).collect();
    match track.failures.len() {
        0 => {}
        1 => parts.push("failed once".to_owned()),
        count => parts.push(format!("failed {count} times")),
    }
    parts.insert(0, format!("began {}", first.from));
    format!("{}: {}", step.name, parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(kind: SpanKind, from: i64, to: i64) -> Segment {
        Segment { kind, from: Timestamp(from), to: Timestamp(to), note: "why".into() }
    }

    #[test]
    fn everything_lies_on_the_scale_and_short_things_are_seen() {
        let scale = Scale { from: Timestamp(0), width: 10.0 };
        let all = [
            segment(SpanKind::Work, 0, 10),
            segment(SpanKind::Wait, 10, 9_999_990),
            segment(SpanKind::Work, 9_999_990, 10_000_000),
        ];
        let rects = rects(&all, &scale);
        assert_eq!((rects[0].x.as_str(), rects[0].width.as_str()), ("0.0", "4.0"));
        for rect in &rects {
            let end = rect.x.parse::<f64>().unwrap() + rect.width.parse::<f64>().unwrap();
            assert!(end <= WIDE + 0.2, "{end}");
        }
        assert_eq!(rects[1].title, "waited 10.0 s: why");
    }

    #[test]
    fn a_thousand_short_looks_are_not_drawn_a_thousand_times() {
        let scale = Scale { from: Timestamp(0), width: 1000.0 };
        let waits = (0..1000).flat_map(|nth| {
            let at = nth * 1_000_000;
            [segment(SpanKind::Wait, at, at + 999_000), segment(SpanKind::Work, at + 999_000, at + 1_000_000)]
        });
        let rects = rects(&waits.collect::<Vec<_>>(), &scale);
        assert_eq!(rects.len(), 1);
        assert_eq!((rects[0].x.as_str(), rects[0].width.as_str()), ("0.0", "1000.0"));
        assert_eq!(rects[0].title, "waited 16 min 39 s, 1000 times: why");
    }

    #[test]
    fn the_right_edge_moves_in_jumps() {
        let at = |seconds| {
            let (down, up) = rounded(Duration::from_secs(seconds));
            (down.as_secs(), up.as_secs())
        };
        assert_eq!([at(0), at(3), at(31), at(34)], [(0, 1), (3, 4), (30, 35), (30, 35)]);
        assert_eq!([at(200), at(10_000)], [(180, 240), (7200, 10_800)]);
    }
}
