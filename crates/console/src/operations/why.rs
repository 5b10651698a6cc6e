//! The status of an operation, its reason, and the actions that it allows.

use api::types::{Explanation, OperationDetail, PendingRequest, Phase};
use askama::Template;
use engine::{Capability, PhaseVerb};
use uuid::Uuid;

use super::look::StatusLook;
use crate::csrf::CsrfToken;
use crate::parts::{Chip, Icon, Prose, When};
use crate::signed_in::SignedIn;

#[derive(Template)]
#[template(path = "operations/why.html")]
pub(super) struct Why {
    detail: OperationDetail,
    why: Explanation,
    tone: &'static str,
    reason: String,
    asked: Option<PendingRequest>,
    advice: Advice,
    actions: Vec<SuggestedAction>,
    may_operate: bool,
    csrf: CsrfToken,
}

/// What the API advises, put in the words of a page.
#[derive(Debug, Default, PartialEq, Eq)]
struct Advice {
    sentences: Vec<String>,
    /// For the command line.
    commands: Vec<String>,
    meanings: Vec<(PhaseVerb, String)>,
}

/// Something that an operation can be asked for.
#[derive(Debug, Clone)]
pub(super) struct SuggestedAction {
    pub(super) verb: &'static str,
    pub(super) label: &'static str,
    /// What it does, to be read after the label.
    pub(super) meaning: String,
    pub(super) icon: Icon,
    pub(super) is_harm: bool,
}

const VERBS: [PhaseVerb; 4] = [PhaseVerb::Retry, PhaseVerb::Resume, PhaseVerb::Pause, PhaseVerb::Cancel];

impl Why {
    pub(super) fn new(look: &StatusLook, signed_in: &SignedIn) -> Why {
        let StatusLook { detail, why } = look.clone();
        let phase = detail.operation.phase;
        let advice = Advice::read(&why.what_you_can_do);
        let may_operate = signed_in.can_with(Capability::Operate, &detail.operation.workflow);
        Why {
            tone: tone(phase),
            reason: sentence(unfinished(&why.reason)),
            asked: detail.operation.asked.clone(),
            actions: if may_operate { actions(phase, &advice.meanings) } else { Vec::new() },
            advice,
            may_operate,
            csrf: signed_in.csrf.clone(),
            detail,
            why,
        }
    }

    /// The signal that it waits for. In the key of one that only this operation waits for its id stands before the name.
    fn signal(&self) -> Option<&str> {
        let key = self.why.waiting_for_key.as_deref()?;
        Some(own_signal(key, self.why.id).unwrap_or(key))
    }

    fn has_facts(&self) -> bool {
        !self.is_over() || self.asked.is_some() || !self.why.left_over.is_empty()
    }

    /// What an operator holds does not run out of time.
    fn has_deadline(&self) -> bool {
        !matches!(self.detail.operation.phase, Phase::Paused | Phase::Stuck)
    }

    fn is_over(&self) -> bool {
        self.detail.operation.phase.is_final()
    }

    /// The last error says more than the reason, unless the reason repeats it.
    fn shows_error(&self) -> bool {
        let is_good = self.detail.operation.phase == Phase::Succeeded;
        !is_good && self.why.last_error.is_some()
    }
}

/// The name of a signal that only this operation waits for.
pub(super) fn own_signal(key: &str, operation: Uuid) -> Option<&str> {
    key.strip_prefix(&operation.to_string())?.strip_prefix('/')
}

/// What may be asked of the operation now.
pub(super) fn possible(look: &StatusLook) -> Vec<SuggestedAction> {
    actions(look.detail.operation.phase, &Advice::read(&look.why.what_you_can_do).meanings)
}

fn actions(phase: Phase, meanings: &[(PhaseVerb, String)]) -> Vec<SuggestedAction> {
    let Ok(phase) = phase.as_str().parse::<engine::Phase>() else { return Vec::new() };
    let action = |verb: PhaseVerb| {
        let known = meanings.iter().find(|(known, _)| *known == verb).map(|(_, meaning)| meaning.clone());
        let (label, icon, usual) = match verb {
            PhaseVerb::Cancel => ("Cancel", Icon::Slash, "cancels it"),
            PhaseVerb::Pause => ("Pause", Icon::Pause, "stays paused until an operator resumes it"),
            PhaseVerb::Resume => ("Resume", Icon::Play, "continues it"),
            PhaseVerb::Retry => ("Retry", Icon::Undo, "tries again at once"),
        };
        let meaning = known.unwrap_or_else(|| usual.to_owned());
        SuggestedAction { verb: verb.as_str(), label, meaning, icon, is_harm: verb == PhaseVerb::Cancel }
    };
    VERBS.into_iter().filter(|verb| phase.allows(*verb)).map(action).collect()
}

impl Advice {
    fn read(hints: &[String]) -> Advice {
        let mut advice = Advice::default();
        for hint in hints {
            let quoted = hint.strip_prefix('`').and_then(|rest| rest.split_once('`'));
            let Some((command, meaning)) = quoted else {
                advice.sentences.push(sentence(hint));
                continue;
            };
            advice.commands.push(command.to_owned());
            let asked =
                command.strip_prefix("provision-engine operations ").and_then(|rest| rest.split(' ').next());
            if let Some(verb) = VERBS.into_iter().find(|verb| asked == Some(verb.as_str())) {
                advice.meanings.push((verb, meaning.trim().to_owned()));
            } else if command == "provision-engine status" {
                advice.sentences.push("See whether a server is running that works on operations.".to_owned());
            }
        }
        advice
    }
}

fn tone(phase: Phase) -> &'static str {
    match phase {
        Phase::Succeeded => "good",
        Phase::Failed | Phase::Undone | Phase::Stuck => "bad",
        Phase::Pending | Phase::Waiting | Phase::Paused => "waits",
        Phase::Running | Phase::Undoing | Phase::Cancelled => "",
    }
}

/// When it finished stands elsewhere on the page.
fn unfinished(reason: &str) -> &str {
    let rest = reason.strip_prefix("it is finished at ").and_then(|rest| rest.split_once(": "));
    rest.map_or(reason, |(_, how)| how)
}

/// With a capital letter, unless it begins with the name of a step, and with a full stop.
fn sentence(text: &str) -> String {
    let first = text.split(' ').next().unwrap_or_default();
    let is_word = ["it", "this", "an", "a", "node", "look", "queued", "start"].contains(&first);
    let mut chars = text.chars();
    let begun = match chars.next() {
        Some(letter) if is_word => letter.to_uppercase().chain(chars).collect(),
        _ => text.to_owned(),
    };
    if begun.ends_with(['.', '!', '?']) { begun } else { format!("{begun}.") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_for_the_command_line_becomes_buttons_and_sentences() {
        let hints = [
            "`provision-engine explain 1` says why that one is not finished",
            "`provision-engine status` shows whether a node is running and ready",
            "look at the external system for what is left over before you decide",
            "`provision-engine operations retry 1` tries again at once",
            "`provision-engine operations watch 1` follows it",
        ];
        let advice = Advice::read(&hints.map(str::to_owned));
        assert_eq!(advice.commands.len(), 4);
        assert_eq!(advice.meanings, [(PhaseVerb::Retry, "tries again at once".to_owned())]);
        assert_eq!(advice.sentences.len(), 2);
        assert_eq!(
            advice.sentences[1],
            "Look at the external system for what is left over before you decide."
        );
    }

    #[test]
    fn what_can_be_asked_for_follows_the_phase_and_says_what_it_does() {
        let meanings = [(PhaseVerb::Cancel, "cancels it and leaves what it created".to_owned())];
        let waiting = actions(Phase::Waiting, &meanings);
        let verbs: Vec<&str> = waiting.iter().map(|action| action.verb).collect();
        assert_eq!(verbs, ["retry", "pause", "cancel"]);
        assert_eq!(waiting[2].meaning, "cancels it and leaves what it created");
        assert!(actions(Phase::Succeeded, &[]).is_empty());
    }

    #[test]
    fn a_sentence_begins_and_ends_like_one() {
        assert_eq!(sentence("it succeeded"), "It succeeded.");
        assert_eq!(sentence("rest waits"), "rest waits.");
        let ended = unfinished("it is finished at 2026-11-16T10:34:25Z: it failed: no: really");
        assert_eq!(ended, "it failed: no: really");
        assert_eq!(unfinished("it is stuck"), "it is stuck");
    }
}
