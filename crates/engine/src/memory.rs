//! What an operation knows about itself: its journal, folded.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::budget::Budget;
use crate::clock::Timestamp;
use crate::event::{Because, Body, Changes, Event, PlanVersion};
use crate::outcome::Cause;
use crate::phase::{Phase, PhaseVerb};

/// Everything the engine remembers of one operation. Folding the same events always gives the same memory, so
/// a parked operation carries its memory in its row and a crashed one is folded from there on.
///
/// Replicas of two releases write the same rows. What a newer release adds here is kept; what it adds further below
/// cannot be read, and the operation is left to the newer release.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    pub facts: BTreeMap<String, Value>,
    #[serde(skip_serializing_if = "Value::is_null")]
    pub state: Value,
    /// Steps that may have left something in the world.
    pub started: BTreeSet<String>,
    pub done: BTreeSet<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped: BTreeMap<String, Cause>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub undone: BTreeSet<String>,
    /// Steps among those that are done that had nothing to do, and why.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unneeded: BTreeMap<String, Cause>,
    /// The step that was about to run when the last event was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub budgets: BTreeMap<String, Budget>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<Wait>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "turned")]
    pub undo_reason: Option<UndoReason>,
    /// Set while a person must decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stuck: Option<StuckAt>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// When the last control request was made. For releases that told requests apart by their time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "heard")]
    pub processed: Option<Timestamp>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub signals: BTreeMap<String, Value>,
    /// How often the operation was started again because steps were skipped, since an operator last asked.
    pub retriggers: u32,
    /// Every step has had its turn once; only skipped ones are left.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub past_the_end: bool,
    /// How often the operation began anew after it had been undone. Tokens differ between rounds.
    pub round: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished: Option<Phase>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<LastError>,
    /// The release and the plan that the operation was created with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made_by: Option<PlanVersion>,
    /// Another node took over, and no node has worked on it since: a call may have happened that was not recorded.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub adopted: bool,
    /// What a newer release remembers besides. It goes back into the row with everything else.
    #[serde(flatten)]
    pub unknown: BTreeMap<String, Value>,
}

/// What a step said it waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    pub step: String,
    pub reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// Why the operation goes back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UndoReason {
    pub because: Because,
    pub step: Option<String>,
    pub cause: Cause,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StuckAt {
    pub step: String,
    pub cause: Cause,
    pub left_over: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LastError {
    pub step: String,
    pub cause: Cause,
    pub at: Timestamp,
}

/// The budget of an undo is kept apart from the budget of the run.
pub(crate) fn budget_key(step: &str, undo: bool) -> String {
    if undo { format!("undo {step}") } else { step.to_owned() }
}

/// The engine's own name in the place of a step: waits between two starts of a skipped clean-up.
pub(crate) const RETRIGGER: &str = "retrigger";

impl Memory {
    /// What the operation knows after these events.
    #[must_use]
    pub fn fold(mut self, events: &[Event]) -> Memory {
        for event in events {
            self.apply(event.clone());
        }
        self
    }

    pub fn apply(&mut self, event: Event) {
        let at = event.at;
        self.adopted = match &event.body {
            Body::Adopted { .. } => true,
            // These come in before anything is done about the operation.
            Body::Asked { .. } | Body::Signalled { .. } => self.adopted,
            _ => false,
        };
        match event.body {
            Body::Created { started, made_by, .. } => {
                self.made_by = made_by;
                self.open(started);
            }
            Body::Adopted { .. } => {}
            Body::Stepped { changes, started } => {
                self.learn(changes);
                self.open(started);
            }
            Body::Waited { step, reason, key, changes, .. } => {
                self.learn(changes);
                self.open = None;
                if step == RETRIGGER {
                    self.retriggers += 1;
                    self.past_the_end = true;
                }
                self.budgets.remove(&budget_key(&step, self.goes_back()));
                self.wait = Some(Wait { step, reason, key });
            }
            Body::Retried { step, cause, attempt, spent_ms, undo, changes, .. } => {
                self.learn(changes);
                self.open = None;
                self.wait = None;
                let budget = Budget { attempts: attempt, spent_ms };
                self.budgets.insert(budget_key(&step, undo), budget);
                self.last_error = Some(LastError { step, cause, at });
            }
            Body::Turned { step, because, cause, changes } => {
                self.learn(changes);
                self.open = None;
                self.wait = None;
                if let Some(step) = step.clone() {
                    self.last_error = Some(LastError { step, cause: cause.clone(), at });
                }
                self.undo_reason = Some(UndoReason { because, step, cause });
            }
            Body::Stuck { step, cause, left_over, changes } => {
                self.learn(changes);
                self.open = None;
                self.last_error = Some(LastError { step: step.clone(), cause: cause.clone(), at });
                self.stuck = Some(StuckAt { step, cause, left_over });
            }
            Body::Asked { verb, at, .. } => {
                self.processed = Some(at);
                self.asked(verb);
            }
            Body::Signalled { key, payload } => {
                self.signals.insert(key, payload);
            }
            Body::Finished { phase, step, cause, changes } => {
                self.learn(changes);
                if let (Some(step), Some(cause)) = (step, cause) {
                    self.last_error = Some(LastError { step, cause, at });
                }
                self.open = None;
                self.wait = None;
                self.finished = Some(phase);
            }
        }
    }

    fn open(&mut self, started: Option<String>) {
        if let Some(step) = &started {
            self.started.insert(step.clone());
        }
        self.open = started;
    }

    /// Takes over what steps learned, did, skipped or undid. A step that got on has its whole budget again.
    fn learn(&mut self, changes: Changes) {
        self.facts.extend(changes.facts);
        if let Some(state) = changes.state {
            self.state = state;
        }
        for (step, cause) in changes.skipped {
            self.got_on(&step, false);
            let is_done = changes.done.contains(&step);
            if is_done { &mut self.unneeded } else { &mut self.skipped }.insert(step, cause);
        }
        for step in changes.done {
            self.got_on(&step, false);
            self.skipped.remove(&step);
            self.done.insert(step);
        }
        for step in changes.undone {
            self.got_on(&step, true);
            self.undone.insert(step);
        }
    }

    fn got_on(&mut self, step: &str, undo: bool) {
        if !self.budgets.is_empty() {
            self.budgets.remove(&budget_key(step, undo));
        }
        if self.wait.as_ref().is_some_and(|wait| wait.step == step) {
            self.wait = None;
        }
    }

    fn asked(&mut self, verb: PhaseVerb) {
        match verb {
            PhaseVerb::Cancel => {
                self.paused = false;
                self.stuck = None;
            }
            PhaseVerb::Pause => self.paused = true,
            PhaseVerb::Resume | PhaseVerb::Retry => {
                self.paused = false;
                self.stuck = None;
                self.open = None;
                self.budgets.clear();
                self.retriggers = 0;
                if verb == PhaseVerb::Retry {
                    self.revive();
                }
            }
        }
    }

    /// A finished operation starts again. What was taken back is gone, so what was learned about it goes too.
    fn revive(&mut self) {
        match self.finished.take() {
            // A plan that leaves what there is does not turn: its facts are still true.
            Some(Phase::Undone | Phase::Cancelled) if self.goes_back() => {
                *self = Memory {
                    processed: self.processed,
                    round: self.round + 1,
                    last_error: self.last_error.take(),
                    made_by: self.made_by.take(),
                    unknown: std::mem::take(&mut self.unknown),
                    ..Memory::default()
                };
            }
            Some(_) => self.undo_reason = None,
            None => {}
        }
    }

    /// Which way the operation goes when it next runs.
    pub fn goes_back(&self) -> bool {
        self.undo_reason.is_some()
    }

    pub fn budget(&self, step: &str, undo: bool) -> Budget {
        if self.budgets.is_empty() {
            return Budget::default();
        }
        self.budgets.get(&budget_key(step, undo)).copied().unwrap_or_default()
    }

    /// The version of a declared workflow that the operation is bound to.
    pub fn version(&self) -> Option<u32> {
        self.made_by.as_ref().and_then(|made_by| made_by.version)
    }

    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("a memory is plain data")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(body: Body) -> Event {
        Event { seq: 1, at: Timestamp(7), body }
    }

    fn stepped(done: &str, started: &str) -> Event {
        let changes = Changes { done: vec![done.into()], ..Changes::default() };
        event(Body::Stepped { changes, started: Some(started.into()) })
    }

    #[test]
    fn a_memory_saved_half_way_and_folded_on_equals_one_folded_in_one_go() {
        let retried = event(Body::Retried {
            step: "b".into(),
            cause: "no".into(),
            attempt: 1,
            spent_ms: 5,
            until: Timestamp(9),
            undo: false,
            changes: Changes::default(),
        });
        let events = [stepped("a", "b"), retried, stepped("b", "c")];
        let whole = Memory::default().fold(&events);
        for cut in 0..=events.len() {
            let half = Memory::default().fold(&events[..cut]).to_text();
            let half: Memory = serde_json::from_str(&half).unwrap();
            assert_eq!(half.fold(&events[cut..]), whole, "cut at {cut}");
        }
        assert_eq!(whole.budget("b", false), Budget::default(), "a step that got on has its budget again");
        assert_eq!(whole.last_error.unwrap().cause.as_str(), "no");
    }

    fn asked(verb: PhaseVerb) -> Event {
        event(Body::Asked { verb, by: "a".into(), reason: String::new(), at: Timestamp(8) })
    }

    fn waited(step: &str) -> Event {
        let (reason, until) = ("not yet".into(), Timestamp(9));
        event(Body::Waited { step: step.into(), reason, key: None, until, changes: Changes::default() })
    }

    fn retried(step: &str, undo: bool) -> Event {
        let (cause, until, changes) = ("no".into(), Timestamp(9), Changes::default());
        event(Body::Retried { step: step.into(), cause, attempt: 2, spent_ms: 5, until, undo, changes })
    }

    fn undo_reason() -> Event {
        let (because, changes) = (Because::Failed, Changes::default());
        event(Body::Turned { step: Some("b".into()), because, cause: "no".into(), changes })
    }

    fn stuck() -> Event {
        let (left_over, changes) = (vec!["a".into()], Changes::default());
        event(Body::Stuck { step: "b".into(), cause: "no".into(), left_over, changes })
    }

    #[test]
    fn each_step_has_a_budget_and_its_undo_has_another() {
        let memory = Memory::default().fold(&[retried("b", false), retried("c", true)]);
        let spent = Budget { attempts: 2, spent_ms: 5 };
        assert_eq!((memory.budget("b", false), memory.budget("c", true)), (spent, spent));
        assert_eq!((memory.budget("b", true), memory.budget("c", false)), Default::default());
        let memory = memory.fold(&[waited("c")]);
        assert_eq!(
            (memory.budget("b", false), memory.budget("c", true)),
            (spent, spent),
            "another step waits"
        );
        let memory = memory.fold(&[waited("b")]);
        assert_eq!(memory.budget("b", false), Budget::default(), "a wait is free");
        let back = Memory::default().fold(&[retried("b", true), undo_reason(), waited("b")]);
        assert!(back.budgets.is_empty(), "on the way back it is the budget of the undo");
    }

    #[test]
    fn a_wait_lasts_until_its_own_step_gets_on() {
        let waits = Memory::default().fold(&[stepped("a", "b"), waited("b")]);
        assert_eq!((waits.wait.as_ref().unwrap().step.as_str(), waits.open.as_ref()), ("b", None));
        assert!(waits.clone().fold(&[stepped("a", "b")]).wait.is_some());
        assert!(waits.clone().fold(&[stepped("b", "c")]).wait.is_none());
        assert!(waits.fold(&[retried("b", false)]).wait.is_none());
        let again = Memory::default().fold(&[waited(RETRIGGER), waited(RETRIGGER)]);
        assert_eq!((again.retriggers, again.past_the_end), (2, true));
    }

    #[test]
    fn what_an_operator_asks_changes_what_holds_the_operation() {
        let held = Memory::default().fold(&[
            stepped("a", "b"),
            retried("b", false),
            stuck(),
            asked(PhaseVerb::Pause),
        ]);
        assert!(held.paused && held.stuck.is_some() && !held.budgets.is_empty());
        assert_eq!(held.last_error.as_ref().unwrap().step, "b");
        let cancelled = held.clone().fold(&[asked(PhaseVerb::Cancel)]);
        assert!(!cancelled.paused && cancelled.stuck.is_none() && !cancelled.budgets.is_empty());
        for verb in [PhaseVerb::Resume, PhaseVerb::Retry] {
            let on = held.clone().fold(&[waited(RETRIGGER), asked(verb)]);
            assert!(!on.paused && on.stuck.is_none() && on.budgets.is_empty() && on.open.is_none());
            assert_eq!((on.retriggers, on.processed), (0, Some(Timestamp(8))));
        }
        let undone = Memory::default().fold(&[stepped("a", "b"), undo_reason()]);
        assert!(undone.goes_back() && undone.open.is_none());
        assert_eq!(undone.last_error.unwrap().step, "b");
    }

    #[test]
    fn an_adoption_is_remembered_until_a_node_works_on_the_operation() {
        let adopted = || event(Body::Adopted { node: crate::ids::NodeId(uuid::Uuid::nil()) });
        let signalled = || event(Body::Signalled { key: "k".into(), payload: Value::Null });
        let memory =
            Memory::default().fold(&[stepped("a", "b"), adopted(), asked(PhaseVerb::Pause), signalled()]);
        assert!(memory.adopted && memory.signals.contains_key("k"));
        for next in [stepped("a", "b"), waited("b"), retried("b", false), undo_reason(), stuck()] {
            assert!(!memory.clone().fold(&[next]).adopted);
        }
        let read: Memory = serde_json::from_str(&memory.to_text()).unwrap();
        assert_eq!(read, memory);
    }

    #[test]
    fn what_a_newer_release_remembers_is_kept_and_what_it_changed_below_is_not_read() {
        let newer = r#"{"facts":{},"started":["a"],"done":[],"retriggers":0,"round":1,"frozen":{"by":"x"}}"#;
        let memory: Memory = serde_json::from_str(newer).unwrap();
        let memory = memory.fold(&[stepped("a", "b")]);
        assert!(memory.to_text().contains(r#""frozen":{"by":"x"}"#), "{}", memory.to_text());
        let finished =
            Body::Finished { phase: Phase::Undone, step: None, cause: None, changes: Changes::default() };
        let made_by = Some(PlanVersion {
            release: crate::event::Release([1, 2, 3]),
            plan: "0a1b2c3d".into(),
            version: Some(4),
        });
        let created = event(Body::Created { by: "a".into(), started: None, made_by: made_by.clone() });
        let next_round = memory.fold(&[created, undo_reason(), event(finished), asked(PhaseVerb::Retry)]);
        assert_eq!((next_round.round, next_round.unknown.len(), next_round.made_by), (2, 1, made_by));
        assert_eq!(next_round.last_error.unwrap().step, "b", "why the round before ended");
        for below in [
            r#"{"wait":{"step":"a","reason":"b","more":1}}"#,
            r#"{"budgets":{"a":{"attempts":1,"spent_ms":1,"more":1}}}"#,
            r#"{"last_error":{"step":"a","cause":"b","at":"2026-01-01T00:00:00Z","more":1}}"#,
        ] {
            let error = serde_json::from_str::<Memory>(below).unwrap_err().to_string();
            assert!(error.contains("unknown field `more`"), "{error}");
        }
    }

    #[test]
    fn a_round_after_an_undo_remembers_nothing_but_that_it_is_the_next_one() {
        let undo_reason = event(Body::Turned {
            step: None,
            because: Because::Failed,
            cause: "no".into(),
            changes: Changes::default(),
        });
        let finished = event(Body::Finished {
            phase: Phase::Undone,
            step: None,
            cause: None,
            changes: Changes::default(),
        });
        let asked = event(Body::Asked {
            verb: PhaseVerb::Retry,
            by: "a".into(),
            reason: String::new(),
            at: Timestamp(8),
        });
        let memory = Memory::default().fold(&[stepped("a", "b"), undo_reason, finished, asked]);
        assert_eq!((memory.round, memory.done.len(), memory.finished), (1, 0, None));
        assert_eq!(memory.processed, Some(Timestamp(8)));
    }

    #[test]
    fn what_was_left_and_is_retried_keeps_what_was_done() {
        for phase in [Phase::Failed, Phase::Cancelled] {
            check_that_it_keeps(phase);
        }
    }

    fn check_that_it_keeps(phase: Phase) {
        let finished = event(Body::Finished { phase, step: None, cause: None, changes: Changes::default() });
        let asked = event(Body::Asked {
            verb: PhaseVerb::Retry,
            by: "a".into(),
            reason: String::new(),
            at: Timestamp(8),
        });
        let memory = Memory::default().fold(&[stepped("a", "b"), finished, asked]);
        assert_eq!((memory.round, memory.done.len(), memory.goes_back()), (0, 1, false));
    }
}
