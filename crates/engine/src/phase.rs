//! The life of an operation, and every legal turn of it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Accepted; no step has run yet.
    Pending,
    /// A node is working on it, or was until a moment ago.
    Running,
    /// A step waits for the world or for its next try.
    Waiting,
    /// It failed or was cancelled, and what it left in the world is being taken back.
    Undoing,
    /// An operator holds it.
    Paused,
    /// It cannot go on without a person: an undo failed, or it is unknown whether a call happened.
    Stuck,
    Succeeded,
    /// It failed, and the plan leaves what it made.
    Failed,
    /// It failed, and everything it made was taken back.
    Undone,
    /// A caller cancelled it, and everything it made was taken back, unless the plan leaves it.
    Cancelled,
}

/// What can happen to an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    Claimed,
    Waited,
    StepsDone,
    /// A step failed and the plan takes back.
    FailedUndo,
    /// A step failed and the plan leaves what there is.
    FailedLeave,
    /// A caller cancelled, and there is something to take back.
    CancelledUndo,
    /// A caller cancelled, and there is nothing to take back.
    CancelledLeave,
    UndoneAfterFailure,
    UndoneAfterCancel,
    /// Only a person can decide how to go on.
    NeedsOperator,
    Paused,
    /// An operator lets it go on where it was going: forward.
    ResumedForward,
    /// An operator lets it go on where it was going: back.
    ResumedUndo,
    /// An operator starts a finished operation again.
    Revived,
}

/// What an operator or an API may ask of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseVerb {
    Cancel,
    Pause,
    Resume,
    Retry,
}

impl Phase {
    pub const ALL: [Phase; 10] = {
        use Phase::{
            Cancelled, Failed, Paused, Pending, Running, Stuck, Succeeded, Undoing, Undone, Waiting,
        };
        [Pending, Running, Waiting, Undoing, Paused, Stuck, Succeeded, Failed, Undone, Cancelled]
    };

    /// Every legal turn of an operation's life. What is not in this match cannot happen.
    pub fn after(self, turn: Turn) -> Option<Phase> {
        use Phase::{
            Cancelled, Failed, Paused, Pending, Running, Stuck, Succeeded, Undoing, Undone, Waiting,
        };
        match (self, turn) {
            (Pending | Running | Waiting, Turn::Claimed) | (Paused | Stuck, Turn::ResumedForward) => {
                Some(Running)
            }
            (Undoing, Turn::Claimed | Turn::Waited)
            | (Running, Turn::FailedUndo | Turn::CancelledUndo)
            | (Paused | Stuck, Turn::ResumedUndo) => Some(Undoing),
            (Running, Turn::Waited) => Some(Waiting),
            (Running, Turn::StepsDone) => Some(Succeeded),
            (Running, Turn::FailedLeave) => Some(Failed),
            (Running, Turn::CancelledLeave) | (Undoing, Turn::UndoneAfterCancel) => Some(Cancelled),
            (Undoing, Turn::UndoneAfterFailure) => Some(Undone),
            (Running | Undoing, Turn::NeedsOperator) => Some(Stuck),
            (Running | Undoing, Turn::Paused) => Some(Paused),
            (Failed | Undone | Cancelled, Turn::Revived) => Some(Pending),
            _ => None,
        }
    }

    pub fn is_final(self) -> bool {
        matches!(self, Phase::Succeeded | Phase::Failed | Phase::Undone | Phase::Cancelled)
    }

    /// Whether asking for this makes sense now.
    pub fn allows(self, verb: PhaseVerb) -> bool {
        use Phase::{Cancelled, Failed, Paused, Pending, Running, Stuck, Undoing, Undone, Waiting};
        match verb {
            PhaseVerb::Cancel => matches!(self, Pending | Running | Waiting | Paused | Stuck),
            PhaseVerb::Pause => matches!(self, Pending | Running | Waiting | Undoing),
            PhaseVerb::Resume => matches!(self, Paused | Stuck),
            PhaseVerb::Retry => matches!(self, Waiting | Undoing | Stuck | Failed | Undone | Cancelled),
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Pending => "pending",
            Phase::Running => "running",
            Phase::Waiting => "waiting",
            Phase::Undoing => "undoing",
            Phase::Paused => "paused",
            Phase::Stuck => "stuck",
            Phase::Succeeded => "succeeded",
            Phase::Failed => "failed",
            Phase::Undone => "undone",
            Phase::Cancelled => "cancelled",
        }
    }
}

impl PhaseVerb {
    pub fn as_str(self) -> &'static str {
        match self {
            PhaseVerb::Cancel => "cancel",
            PhaseVerb::Pause => "pause",
            PhaseVerb::Resume => "resume",
            PhaseVerb::Retry => "retry",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for PhaseVerb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Phase {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Phase::ALL.into_iter().find(|phase| phase.as_str() == text).ok_or_else(|| {
            let known = Phase::ALL.map(Phase::as_str).join(", ");
            format!("{text:?} is not a phase; the phases are {known}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURNS: [Turn; 14] = [
        Turn::Claimed,
        Turn::Waited,
        Turn::StepsDone,
        Turn::FailedUndo,
        Turn::FailedLeave,
        Turn::CancelledUndo,
        Turn::CancelledLeave,
        Turn::UndoneAfterFailure,
        Turn::UndoneAfterCancel,
        Turn::NeedsOperator,
        Turn::Paused,
        Turn::ResumedForward,
        Turn::ResumedUndo,
        Turn::Revived,
    ];

    #[test]
    fn only_an_operator_leaves_a_final_phase() {
        for phase in Phase::ALL.into_iter().filter(|phase| phase.is_final()) {
            for turn in TURNS.into_iter().filter(|turn| *turn != Turn::Revived) {
                assert_eq!(phase.after(turn), None, "{phase} after {turn:?}");
            }
        }
        assert_eq!(Phase::Succeeded.after(Turn::Revived), None);
    }

    #[test]
    fn every_phase_can_be_reached_from_the_first() {
        let mut reached = vec![Phase::Pending];
        for _ in Phase::ALL {
            let more: Vec<Phase> =
                reached.iter().flat_map(|phase| TURNS.iter().filter_map(|turn| phase.after(*turn))).collect();
            reached.extend(more);
            reached.sort();
            reached.dedup();
        }
        let mut all = Phase::ALL.to_vec();
        all.sort();
        assert_eq!(reached, all);
    }

    #[test]
    fn these_turns_are_legal_and_no_others() {
        use Phase::{
            Cancelled, Failed, Paused, Pending, Running, Stuck, Succeeded, Undoing, Undone, Waiting,
        };
        let legal = [
            (
                Turn::Claimed,
                vec![(Pending, Running), (Running, Running), (Waiting, Running), (Undoing, Undoing)],
            ),
            (Turn::Waited, vec![(Running, Waiting), (Undoing, Undoing)]),
            (Turn::StepsDone, vec![(Running, Succeeded)]),
            (Turn::FailedUndo, vec![(Running, Undoing)]),
            (Turn::FailedLeave, vec![(Running, Failed)]),
            (Turn::CancelledUndo, vec![(Running, Undoing)]),
            (Turn::CancelledLeave, vec![(Running, Cancelled)]),
            (Turn::UndoneAfterFailure, vec![(Undoing, Undone)]),
            (Turn::UndoneAfterCancel, vec![(Undoing, Cancelled)]),
            (Turn::NeedsOperator, vec![(Running, Stuck), (Undoing, Stuck)]),
            (Turn::Paused, vec![(Running, Paused), (Undoing, Paused)]),
            (Turn::ResumedForward, vec![(Paused, Running), (Stuck, Running)]),
            (Turn::ResumedUndo, vec![(Paused, Undoing), (Stuck, Undoing)]),
            (Turn::Revived, vec![(Failed, Pending), (Undone, Pending), (Cancelled, Pending)]),
        ];
        for (turn, pairs) in legal {
            for phase in Phase::ALL {
                let expected = pairs.iter().find(|(from, _)| *from == phase).map(|(_, to)| *to);
                assert_eq!(phase.after(turn), expected, "{phase} after {turn:?}");
            }
        }
    }

    #[test]
    fn each_verb_is_allowed_in_these_phases() {
        let table = [
            (PhaseVerb::Cancel, "pending running waiting paused stuck"),
            (PhaseVerb::Pause, "pending running waiting undoing"),
            (PhaseVerb::Resume, "paused stuck"),
            (PhaseVerb::Retry, "waiting undoing stuck failed undone cancelled"),
        ];
        for (verb, phases) in table {
            let allowed: Vec<&str> =
                Phase::ALL.into_iter().filter(|phase| phase.allows(verb)).map(Phase::as_str).collect();
            assert_eq!(allowed.join(" "), phases, "{verb}");
        }
        assert_eq!(format!("{:>8}|{:<8}", PhaseVerb::Retry, Phase::Stuck), "   retry|stuck   ");
    }

    #[test]
    fn names_read_back() {
        for phase in Phase::ALL {
            assert_eq!(phase.as_str().parse(), Ok(phase));
        }
        assert!("done".parse::<Phase>().unwrap_err().contains("succeeded"));
    }
}
