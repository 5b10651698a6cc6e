//! The timeline of steps, folded from the journal: when each ran, waited, retried and was undone.
//!
//! The journal is written when something is saved. Steps that were saved together share their time evenly.

use std::collections::HashMap;

use api::types::JournalEntry;
use engine::{Because, Body, Changes, PhaseVerb, Timestamp};
use serde_json::Value;

/// More parts of one step than this are not kept; they would lie on top of each other.
const SEGMENTS_MAX: usize = 2000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpanKind {
    Work,
    Wait,
    /// The pause after an attempt that failed.
    Retry,
    Undo,
    /// It is paused, or an operator must decide.
    Held,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) kind: SpanKind,
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
    pub(super) note: String,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Track {
    pub(super) segments: Vec<Segment>,
    pub(super) failures: Vec<Timestamp>,
}

/// Between two events no node works on the step.
#[derive(Debug, Clone)]
struct IdleSpan {
    step: String,
    kind: SpanKind,
    since: Timestamp,
    until: Option<Timestamp>,
    note: String,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Timeline {
    tracks: HashMap<String, Track>,
    pub(super) begun: Option<Timestamp>,
    /// Up to here the time is given to steps.
    told: Option<Timestamp>,
    open: Option<String>,
    rest: Option<IdleSpan>,
    goes_back: bool,
    pub(super) ended: Option<Timestamp>,
}

impl Timeline {
    pub(super) fn add(&mut self, entry: &JournalEntry) {
        let Some(body) = body(entry) else { return };
        let Ok(micros) = i64::try_from(entry.at.0.unix_timestamp_nanos() / 1000) else { return };
        let at = Timestamp(micros);
        self.begun.get_or_insert(at);
        self.told.get_or_insert(at);
        match body {
            Body::Created { started, .. } => self.open = started,
            // No node worked in between; the node that took over says so with the next event.
            Body::Adopted { .. } => {}
            Body::Stepped { changes, started } => {
                self.got_on(at, &changes, None);
                self.open = started;
            }
            Body::Waited { step, reason, until, changes, .. } => {
                self.got_on(at, &changes, Some((&step, self.direction())));
                self.rests(step, SpanKind::Wait, at, Some(until), reason);
            }
            Body::Retried { step, cause, attempt, until, undo, changes, .. } => {
                let kind = if undo { SpanKind::Undo } else { SpanKind::Work };
                self.got_on(at, &changes, Some((&step, kind)));
                self.failed(&step, at);
                self.rests(
                    step,
                    SpanKind::Retry,
                    at,
                    Some(until),
                    format!("attempt {attempt} failed: {cause}"),
                );
            }
            Body::Turned { step, because, changes, .. } => {
                self.got_on(at, &changes, step.as_deref().map(|step| (step, SpanKind::Work)));
                if let Some(step) = step.filter(|_| because == Because::Failed) {
                    self.failed(&step, at);
                }
                self.goes_back = true;
                self.open = None;
            }
            Body::Stuck { step, cause, changes, .. } => {
                self.got_on(at, &changes, Some((&step, self.direction())));
                self.failed(&step, at);
                self.rests(step, SpanKind::Held, at, None, format!("a person must decide: {cause}"));
            }
            Body::Asked { verb, by, .. } => self.asked(verb, &by, at),
            Body::Signalled { .. } => self.wakes(at),
            Body::Finished { step, changes, .. } => {
                self.got_on(at, &changes, step.as_deref().map(|step| (step, SpanKind::Work)));
                if let Some(step) = step {
                    self.failed(&step, at);
                }
                self.open = None;
                self.ended = Some(at);
            }
        }
    }

    /// The tracks up to this moment. `running` is the step that a node is in, as far as it is known; without a node
    /// no step is at work, whichever comes next.
    pub(super) fn until(
        &self,
        now: Timestamp,
        running: Option<&str>,
        has_node: bool,
    ) -> HashMap<String, Track> {
        let mut all = self.clone();
        if all.ended.is_some() {
            return all.tracks;
        }
        let rested = all.rest.is_some();
        all.wakes(now);
        let step =
            running.map(str::to_owned).or_else(|| all.open.clone().filter(|_| !rested)).filter(|_| has_node);
        if let (Some(step), Some(from)) = (step, all.told.filter(|told| *told < now)) {
            let kind = all.direction();
            all.push(&step, Segment { kind, from, to: now, note: String::new() });
        }
        all.tracks
    }

    fn direction(&self) -> SpanKind {
        if self.goes_back { SpanKind::Undo } else { SpanKind::Work }
    }

    /// The time since the last event belongs to the steps that got on, to the one that is named, or to the one that
    /// was open.
    fn got_on(&mut self, at: Timestamp, changes: &Changes, named: Option<(&str, SpanKind)>) {
        self.wakes(at);
        let forward =
            changes.done.iter().chain(changes.skipped.keys()).map(|name| (name.clone(), SpanKind::Work));
        let back = changes.undone.iter().map(|name| (name.clone(), SpanKind::Undo));
        let mut steps: Vec<(String, SpanKind)> = forward.chain(back).collect();
        if let Some((name, kind)) = named
            && !steps.iter().any(|(known, _)| known == name)
        {
            steps.push((name.to_owned(), kind));
        }
        if let Some(open) = self.open.clone().filter(|_| steps.is_empty()) {
            steps.push((open, self.direction()));
        }
        let Some(from) = self.told.replace(at) else { return };
        let count = i64::try_from(steps.len()).unwrap_or(1).max(1);
        let each = (at.0 - from.0).max(0) / count;
        for (nth, (step, kind)) in (0_i64..).zip(steps) {
            let begin = Timestamp(from.0 + each * nth);
            let end = if nth + 1 == count { at } else { Timestamp(begin.0 + each) };
            self.push(&step, Segment { kind, from: begin, to: end, note: String::new() });
        }
    }

    fn rests(
        &mut self,
        step: String,
        kind: SpanKind,
        since: Timestamp,
        until: Option<Timestamp>,
        note: String,
    ) {
        self.open = Some(step.clone());
        self.rest = Some(IdleSpan { step, kind, since, until, note });
    }

    /// Whatever rested has rested until now, or until the time that it named.
    fn wakes(&mut self, at: Timestamp) {
        let Some(IdleSpan { step, kind, since, until, note }) = self.rest.take() else { return };
        let to = until.map_or(at, |until| until.min(at)).max(since);
        self.push(&step, Segment { kind, from: since, to, note });
        self.told = Some(to);
    }

    fn asked(&mut self, verb: PhaseVerb, by: &str, at: Timestamp) {
        let step = self.open.clone();
        if self.rest.is_some() {
            self.wakes(at);
        } else if self.ended.is_none() {
            self.got_on(at, &Changes::default(), None);
        }
        self.told = Some(at);
        if verb == PhaseVerb::Pause
            && let Some(step) = step
        {
            self.rests(step, SpanKind::Held, at, None, format!("{by} paused it"));
        }
        if verb == PhaseVerb::Retry && self.ended.take().is_some() {
            self.goes_back = false;
        }
    }

    fn failed(&mut self, step: &str, at: Timestamp) {
        let failures = &mut self.tracks.entry(step.to_owned()).or_default().failures;
        if failures.len() < SEGMENTS_MAX {
            failures.push(at);
        }
    }

    fn push(&mut self, step: &str, segment: Segment) {
        let segments = &mut self.tracks.entry(step.to_owned()).or_default().segments;
        let goes_on = |last: &&mut Segment| {
            last.kind == segment.kind && last.note == segment.note && last.to == segment.from
        };
        if let Some(last) = segments.last_mut().filter(goes_on) {
            last.to = segment.to;
        } else if segments.len() < SEGMENTS_MAX {
            segments.push(segment);
        }
    }
}

/// The event behind a line; `None` for one that this release does not know.
fn body(entry: &JournalEntry) -> Option<Body> {
    let mut data = entry.data.clone();
    data.as_object_mut()?.insert("kind".to_owned(), Value::from(entry.kind.clone()));
    serde_json::from_value(data).ok()
}

#[cfg(test)]
mod tests {
    use engine::{Event, Phase};
    use server::ToWire;

    use super::*;

    fn timeline(bodies: Vec<(i64, Body)>) -> Timeline {
        let mut timeline = Timeline::default();
        for (seq, (seconds, body)) in (1..).zip(bodies) {
            let event = Event { seq, at: second(seconds), body };
            timeline.add(&(&event).to_wire());
        }
        timeline
    }

    fn second(seconds: i64) -> Timestamp {
        Timestamp(seconds * 1_000_000)
    }

    fn done(names: &[&str]) -> Changes {
        Changes { done: names.iter().map(|&name| name.to_owned()).collect(), ..Changes::default() }
    }

    fn waited(step: &str, until: i64, changes: Changes) -> Body {
        let (step, reason) = (step.to_owned(), "it builds".to_owned());
        Body::Waited { step, reason, key: None, until: second(until), changes }
    }

    fn created() -> Body {
        Body::Created { by: "ci".into(), started: Some("a".into()), made_by: None }
    }

    #[track_caller]
    fn check(tracks: &HashMap<String, Track>, step: &str, expect: &[(SpanKind, i64, i64)]) {
        let found: Vec<(SpanKind, i64, i64)> = tracks[step]
            .segments
            .iter()
            .map(|one| (one.kind, one.from.0 / 1_000_000, one.to.0 / 1_000_000))
            .collect();
        assert_eq!(found, expect, "{step}");
    }

    #[test]
    fn steps_share_what_was_saved_together_and_a_wait_is_a_part_of_its_own() {
        let finished =
            Body::Finished { phase: Phase::Succeeded, step: None, cause: None, changes: done(&["c", "d"]) };
        let timeline = timeline(vec![(0, created()), (4, waited("c", 10, done(&["a"]))), (14, finished)]);
        let tracks = timeline.until(second(99), None, true);
        check(&tracks, "a", &[(SpanKind::Work, 0, 2)]);
        check(&tracks, "c", &[(SpanKind::Work, 2, 4), (SpanKind::Wait, 4, 10), (SpanKind::Work, 10, 12)]);
        check(&tracks, "d", &[(SpanKind::Work, 12, 14)]);
        assert_eq!(timeline.ended, Some(second(14)));
    }

    #[test]
    fn what_cannot_be_shared_evenly_leaves_no_gap() {
        let stepped = Body::Stepped { changes: done(&["a", "b", "c"]), started: None };
        let tracks = timeline(vec![(0, created()), (1, stepped)]).until(second(1), None, true);
        assert_eq!(tracks["c"].segments[0].to, second(1));
    }

    #[test]
    fn a_failure_is_a_pause_and_the_way_back_is_another_colour() {
        let retried = Body::Retried {
            step: "a".into(),
            cause: "busy".into(),
            attempt: 1,
            spent_ms: 0,
            until: second(5),
            undo: false,
            changes: Changes::default(),
        };
        let undo_reason = Body::Turned {
            step: Some("b".into()),
            because: Because::Failed,
            cause: "quota".into(),
            changes: done(&["a"]),
        };
        let back = Changes { undone: vec!["a".into()], ..Changes::default() };
        let finished = Body::Finished { phase: Phase::Undone, step: None, cause: None, changes: back };
        let tracks = timeline(vec![(0, created()), (1, retried), (9, undo_reason), (12, finished)]).until(
            second(99),
            None,
            true,
        );
        check(
            &tracks,
            "a",
            &[
                (SpanKind::Work, 0, 1),
                (SpanKind::Retry, 1, 5),
                (SpanKind::Work, 5, 7),
                (SpanKind::Undo, 9, 12),
            ],
        );
        check(&tracks, "b", &[(SpanKind::Work, 7, 9)]);
        assert_eq!((tracks["a"].failures.len(), tracks["b"].failures.len()), (1, 1));
        assert_eq!(tracks["a"].segments[1].note, "attempt 1 failed: busy");
    }

    #[test]
    fn what_is_under_way_goes_on_until_now_and_what_is_held_is_held() {
        let running = timeline(vec![(0, created())]);
        check(&running.until(second(7), Some("a"), true), "a", &[(SpanKind::Work, 0, 7)]);
        assert!(running.until(second(7), None, false).is_empty(), "a queued operation is at no step");
        let waiting = timeline(vec![(0, created()), (1, waited("a", 5, Changes::default()))]);
        check(&waiting.until(second(3), None, false), "a", &[(SpanKind::Work, 0, 1), (SpanKind::Wait, 1, 3)]);
        check(&waiting.until(second(9), None, false), "a", &[(SpanKind::Work, 0, 1), (SpanKind::Wait, 1, 5)]);
        let asked = |verb| Body::Asked { verb, by: "eve".into(), reason: String::new(), at: second(0) };
        let held =
            timeline(vec![(0, created()), (2, asked(PhaseVerb::Pause)), (8, asked(PhaseVerb::Resume))]);
        check(
            &held.until(second(9), Some("a"), true),
            "a",
            &[(SpanKind::Work, 0, 2), (SpanKind::Held, 2, 8), (SpanKind::Work, 8, 9)],
        );
    }

    #[test]
    fn a_signal_ends_a_wait_and_a_second_life_leaves_a_gap() {
        let signalled = Body::Signalled { key: "k".into(), payload: Value::Null };
        let failed = Body::Finished {
            phase: Phase::Failed,
            step: Some("a".into()),
            cause: Some("no".into()),
            changes: Changes::default(),
        };
        let retry =
            Body::Asked { verb: PhaseVerb::Retry, by: "eve".into(), reason: String::new(), at: second(0) };
        let timeline = timeline(vec![
            (0, created()),
            (1, waited("a", 50, Changes::default())),
            (3, signalled),
            (4, failed),
            (10, retry),
        ]);
        assert_eq!(timeline.ended, None);
        check(
            &timeline.until(second(12), Some("a"), true),
            "a",
            &[
                (SpanKind::Work, 0, 1),
                (SpanKind::Wait, 1, 3),
                (SpanKind::Work, 3, 4),
                (SpanKind::Work, 10, 12),
            ],
        );
    }

    #[test]
    fn a_line_that_no_one_knows_is_passed_over() {
        let mut timeline = Timeline::default();
        let event = Event { seq: 1, at: second(0), body: created() };
        let entry = JournalEntry { kind: "danced".into(), ..(&event).to_wire() };
        timeline.add(&entry);
        assert!(timeline.begun.is_none());
    }
}
