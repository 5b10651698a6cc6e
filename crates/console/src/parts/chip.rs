//! Chips: a state as an icon and a word.

use std::fmt;

use api::types::{Phase, StepState};
use askama::filters::HtmlSafe;

use super::Icon;

/// How a state feels. The colour says it once more, and never alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Good,
    Bad,
    Busy,
    Waits,
    Quiet,
}

impl Tone {
    fn class(self) -> &'static str {
        match self {
            Tone::Good => "good",
            Tone::Bad => "bad",
            Tone::Busy => "busy",
            Tone::Waits => "waits",
            Tone::Quiet => "quiet",
        }
    }
}

/// A state as a coloured label with an icon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chip {
    pub tone: Tone,
    pub icon: Icon,
    pub word: String,
}

impl Chip {
    pub fn new(tone: Tone, icon: Icon, word: impl Into<String>) -> Chip {
        Chip { tone, icon, word: word.into() }
    }
}

impl From<Phase> for Chip {
    fn from(phase: Phase) -> Chip {
        let (tone, icon) = match phase {
            Phase::Pending => (Tone::Waits, Icon::Clock),
            Phase::Running => (Tone::Busy, Icon::Play),
            Phase::Waiting => (Tone::Waits, Icon::Hourglass),
            Phase::Undoing => (Tone::Busy, Icon::Undo),
            Phase::Paused => (Tone::Waits, Icon::Pause),
            Phase::Stuck => (Tone::Bad, Icon::Hand),
            Phase::Succeeded => (Tone::Good, Icon::Check),
            Phase::Failed => (Tone::Bad, Icon::Cross),
            // It failed, however clean it left the place.
            Phase::Undone => (Tone::Bad, Icon::Undo),
            Phase::Cancelled => (Tone::Quiet, Icon::Slash),
        };
        Chip::new(tone, icon, phase.as_str())
    }
}

impl From<&Phase> for Chip {
    fn from(phase: &Phase) -> Chip {
        Chip::from(*phase)
    }
}

impl From<&StepState> for Chip {
    fn from(state: &StepState) -> Chip {
        Chip::from(*state)
    }
}

impl From<StepState> for Chip {
    fn from(state: StepState) -> Chip {
        let (tone, icon) = match state {
            StepState::Done => (Tone::Good, Icon::Check),
            StepState::Skipped | StepState::NotRun => (Tone::Quiet, Icon::Slash),
            StepState::Running => (Tone::Busy, Icon::Play),
            StepState::Waiting => (Tone::Waits, Icon::Hourglass),
            StepState::Retrying => (Tone::Waits, Icon::Alert),
            StepState::Failed => (Tone::Bad, Icon::Cross),
            StepState::UndoFailed => (Tone::Bad, Icon::Hand),
            StepState::Undone => (Tone::Quiet, Icon::Undo),
            StepState::Pending => (Tone::Quiet, Icon::Clock),
        };
        Chip::new(tone, icon, state.word())
    }
}

impl fmt::Display for Chip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = askama::filters::escape(&self.word, askama::filters::Html).map_err(|_| fmt::Error)?;
        write!(f, r#"<span class="chip {}">{}{word}</span>"#, self.tone.class(), self.icon)
    }
}

impl HtmlSafe for Chip {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chip_has_a_picture_and_a_word_that_cannot_be_markup() {
        let text = Chip::from(Phase::Stuck).to_string();
        assert!(text.contains("#hand") && text.contains("stuck"), "{text}");
        assert!(!Chip::new(Tone::Quiet, Icon::Check, "<b>").to_string().contains("<b>"));
    }
}
