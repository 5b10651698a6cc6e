//! Events as sentences. The API and the command line use the same texts.

use engine::{Because, Body, Changes, Event, Phase};

/// The event as one sentence. What steps and external systems said is repeated word for word.
pub fn describe(event: &Event) -> String {
    let before = match &event.body {
        Body::Waited { changes, .. }
        | Body::Retried { changes, .. }
        | Body::Turned { changes, .. }
        | Body::Stuck { changes, .. }
        | Body::Finished { changes, .. } => got_on(changes).join(", "),
        _ => String::new(),
    };
    let sentence = sentence(&event.body);
    if before.is_empty() { sentence } else { format!("{before}; {sentence}") }
}

fn sentence(body: &Body) -> String {
    match body {
        Body::Created { by, started: Some(step), .. } => format!("{by} created it; the first step is {step}"),
        Body::Created { by, started: None, .. } => format!("{by} created it"),
        Body::Adopted { node } => format!("node {node} took over"),
        Body::Stepped { changes, started } => stepped(changes, started.as_deref()),
        Body::Waited { step, reason, key: Some(key), until, .. } => {
            format!("{step} waits for the signal {key}, at most until {until}: {reason}")
        }
        Body::Waited { step, reason, key: None, until, .. } => {
            format!("{step} waits until {until}: {reason}")
        }
        Body::Retried { step, cause, attempt, until, undo, .. } => {
            let what = if *undo { "undoing " } else { "" };
            format!("{what}{step} failed in attempt {attempt} and is tried again at {until}: {cause}")
        }
        Body::Turned { step: Some(step), because: Because::Failed, cause, .. } => {
            format!("{step} failed, undoing what was created: {cause}")
        }
        Body::Turned { cause, .. } => format!("undoing what was created: {cause}"),
        Body::Stuck { step, cause, left_over, .. } if left_over.is_empty() => {
            format!("it is stuck at {step} and needs an operator: {cause}")
        }
        Body::Stuck { step, cause, left_over, .. } => {
            let left_over = left_over.join(", ");
            format!("it is stuck at {step} and needs an operator (may be left over: {left_over}): {cause}")
        }
        Body::Asked { verb, by, reason, .. } if reason.is_empty() => format!("{by} requested {verb}"),
        Body::Asked { verb, by, reason, .. } => format!("{by} requested {verb}: {reason}"),
        Body::Signalled { key, .. } => format!("the signal {key} arrived"),
        Body::Finished { phase, step, cause, .. } => {
            let cause = cause.as_ref().map(|cause| format!(": {cause}")).unwrap_or_default();
            match (phase, step) {
                (Phase::Failed, Some(step)) => {
                    format!("it failed at {step}, and what it created was left{cause}")
                }
                _ => format!("{}{cause}", ended(*phase)),
            }
        }
    }
}

/// How it ended, for people.
pub fn ended(phase: Phase) -> &'static str {
    match phase {
        Phase::Succeeded => "it succeeded",
        Phase::Failed => "it failed, and what it created was left",
        Phase::Undone => "it failed, and everything it created was undone",
        Phase::Cancelled => "it was cancelled",
        _ => "it continues",
    }
}

/// Which steps got on, one way or the other.
fn got_on(changes: &Changes) -> Vec<String> {
    let mut parts = Vec::new();
    if !changes.done.is_empty() {
        parts.push(format!("{} done", listed(&changes.done)));
    }
    for (step, cause) in &changes.skipped {
        parts.push(format!("{step} skipped ({cause})"));
    }
    if !changes.undone.is_empty() {
        parts.push(format!("{} undone", listed(&changes.undone)));
    }
    parts
}

fn stepped(changes: &Changes, started: Option<&str>) -> String {
    let mut parts = got_on(changes);
    if !changes.facts.is_empty() {
        let facts: Vec<String> = changes.facts.keys().cloned().collect();
        parts.push(format!("{} remembered", listed(&facts)));
    }
    if changes.state.is_some() {
        parts.push("state saved".into());
    }
    if let Some(step) = started {
        parts.push(format!("{step} starts"));
    }
    if parts.is_empty() { "progress saved".into() } else { parts.join(", ") }
}

fn listed(names: &[String]) -> String {
    match names {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        names => names.join(""),
    }
}

#[cfg(test)]
mod tests {
    use engine::{PhaseVerb, Timestamp};

    use super::*;

    #[track_caller]
    fn check(body: Body, expect: &str) {
        assert_eq!(describe(&Event { seq: 1, at: Timestamp(0), body }), expect);
    }

    #[test]
    fn every_kind_of_event_is_one_sentence() {
        check(
            Body::Created { by: "ci".into(), started: Some("a".into()), made_by: None },
            "ci created it; the first step is a",
        );
        let changes = Changes {
            done: vec!["a".into(), "b".into(), "c".into()],
            facts: [("a.id".to_owned(), 1.into())].into(),
            ..Changes::default()
        };
        check(
            Body::Stepped { changes, started: Some("d".into()) },
            "a, b and c done, a.id remembered, d starts",
        );
        check(Body::Stepped { changes: Changes::default(), started: None }, "progress saved");
        check(
            Body::Waited {
                step: "a".into(),
                reason: "the image is building".into(),
                key: Some("image-1".into()),
                until: Timestamp(0),
                changes: Changes::default(),
            },
            "a waits for the signal image-1, at most until 1970-01-01T00:00:00Z: the image is building",
        );
        check(
            Body::Retried {
                step: "a".into(),
                cause: "no route to host".into(),
                attempt: 3,
                spent_ms: 1,
                until: Timestamp(0),
                undo: true,
                changes: Changes::default(),
            },
            "undoing a failed in attempt 3 and is tried again at 1970-01-01T00:00:00Z: no route to host",
        );
        check(
            Body::Turned {
                step: Some("a".into()),
                because: Because::Failed,
                cause: "quota".into(),
                changes: Changes::default(),
            },
            "a failed, undoing what was created: quota",
        );
        check(
            Body::Stuck {
                step: "a".into(),
                cause: "no".into(),
                left_over: vec!["a".into()],
                changes: Changes::default(),
            },
            "it is stuck at a and needs an operator (may be left over: a): no",
        );
        let at = Timestamp(0);
        check(
            Body::Asked { verb: PhaseVerb::Cancel, by: "eve".into(), reason: "why not".into(), at },
            "eve requested cancel: why not",
        );
        check(Body::Signalled { key: "k".into(), payload: 1.into() }, "the signal k arrived");
        check(
            Body::Finished {
                phase: Phase::Failed,
                step: Some("a".into()),
                cause: Some("quota".into()),
                changes: Changes::default(),
            },
            "it failed at a, and what it created was left: quota",
        );
        check(
            Body::Finished { phase: Phase::Succeeded, step: None, cause: None, changes: Changes::default() },
            "it succeeded",
        );
        let changes = Changes { done: vec!["a".into(), "b".into()], ..Changes::default() };
        check(
            Body::Finished { phase: Phase::Succeeded, step: None, cause: None, changes },
            "a and b done; it succeeded",
        );
    }
}
