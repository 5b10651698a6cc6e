//! What a step answers: done, skip, wait, retry or fail.

use std::fmt;
use std::time::Duration;

/// `Err` stops the pass, so that `?` works in steps.
pub type Outcome = Result<Done, Halt>;

/// The step has nothing more to do in this pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done {
    /// The work is done.
    Complete,
    /// The step gave up and the operation goes on without it. It is listed as not completed, and the engine
    /// starts the operation again later until nothing is left on that list.
    Skipped { cause: Cause },
    /// There is nothing to do for this operation. It counts as done, and people see it as skipped.
    Unneeded { reason: Cause },
}

/// Why a pass stops here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Halt {
    /// All is well; the world needs time. Spends no retry budget, only the operation's deadline. A signal with
    /// the same key ends the wait early.
    Wait { after: Duration, reason: String, key: Option<String> },
    /// Something broke that may heal. Spends the step's saved retry budget. Without `after` the engine chooses
    /// the delay; with it, the delay is at least that long.
    Retry { after: Option<Duration>, cause: Cause },
    /// No further pass can help.
    Fail { cause: Cause },
    /// A call that must not be made twice may have happened: a person looks and decides.
    Unknown { cause: Cause },
    /// The engine itself cannot go on with this operation here and now. Steps never make this.
    LetGo(Abandon),
}

impl Halt {
    pub fn fail(cause: impl Into<Cause>) -> Halt {
        Halt::Fail { cause: cause.into() }
    }
}

/// Why a runner puts an operation down without deciding anything about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Abandon {
    /// Another node owns the operation now.
    Fenced,
    /// The store did not answer, so it is unknown whether the last save happened.
    StoreLost(String),
}

/// What went wrong, in words for a person. Never holds a secret.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Cause(String);

/// Longer causes are cut: an external system may answer a whole page.
const CAUSE_CHARS_MAX: usize = 2000;

impl Cause {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<S: Into<String>> From<S> for Cause {
    fn from(text: S) -> Cause {
        let mut text: String = text.into();
        // PostgreSQL refuses NUL in text, and no person can read it.
        text.retain(|c| c != '\0');
        if let Some((cut, _)) = text.char_indices().nth(CAUSE_CHARS_MAX) {
            text.truncate(cut);
            text.push('…');
        }
        Cause(text)
    }
}

pub fn done() -> Outcome {
    Ok(Done::Complete)
}

pub fn skip(cause: impl Into<Cause>) -> Outcome {
    Ok(Done::Skipped { cause: cause.into() })
}

pub fn wait(after: Duration, reason: impl Into<String>) -> Outcome {
    Err(Halt::Wait { after, reason: Cause::from(reason).0, key: None })
}

/// Waits for a signal with this key; the time is the fallback when no signal comes.
pub fn wait_for(key: impl Into<String>, at_most: Duration, reason: impl Into<String>) -> Outcome {
    Err(Halt::Wait { after: at_most, reason: Cause::from(reason).0, key: Some(key.into()) })
}

pub fn retry(cause: impl Into<Cause>) -> Outcome {
    Err(Halt::Retry { after: None, cause: cause.into() })
}

pub fn fail(cause: impl Into<Cause>) -> Outcome {
    Err(Halt::fail(cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_the_answer_that_it_says() {
        let second = Duration::from_secs(1);
        let cause = || Cause::from("why");
        let halt = |key: Option<&str>| Halt::Wait {
            after: second,
            reason: "why".into(),
            key: key.map(str::to_owned),
        };
        assert_eq!(done(), Ok(Done::Complete));
        assert_eq!(skip("why"), Ok(Done::Skipped { cause: cause() }));
        assert_eq!(wait(second, "why"), Err(halt(None)));
        assert_eq!(wait_for("key", second, "why"), Err(halt(Some("key"))));
        assert_eq!(retry("why"), Err(Halt::Retry { after: None, cause: cause() }));
        assert_eq!(fail("why"), Err(Halt::Fail { cause: cause() }));
        assert_eq!((cause().to_string(), cause().as_str()), ("why".into(), "why"));
    }

    #[test]
    fn a_cause_is_cut_and_has_no_nul() {
        let cause = Cause::from("é\0".repeat(5000));
        assert_eq!(cause.as_str().chars().count(), CAUSE_CHARS_MAX + 1);
        assert!(!cause.as_str().contains('\0'));
    }
}
