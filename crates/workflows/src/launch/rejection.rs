//! What a caller is told when something cannot be done: what is wrong, where, and what to do about it.

use std::time::Duration;

use drivers::DriverError;
use drivers::cloud::spec::Invalid;
use drivers::cloud::{Category, CloudError};
use engine::SubmitError;
use engine::store::StoreError;

/// One thing that is wrong with what was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// As clients write it, such as `region` or `build.image_requests`.
    pub field: String,
    pub message: String,
    /// What can be done about it.
    pub hint: Option<String>,
}

impl Flaw {
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Flaw {
        Flaw { field: field.into(), message: message.into(), hint: None }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Flaw {
        self.hint = Some(hint.into());
        self
    }
}

impl From<Invalid> for Flaw {
    fn from(found: Invalid) -> Flaw {
        Flaw { hint: found.hint.map(str::to_owned), ..Flaw::new(found.field, found.message) }
    }
}

/// All of them in one sentence, for the cause of a step that fails.
pub fn sentence(flaws: &[Flaw]) -> String {
    let said: Vec<String> = flaws.iter().map(|flaw| format!("{}: {}", flaw.field, flaw.message)).collect();
    said.join("; ")
}

/// What somebody sent, for a message about it: cut, because nobody knows how long it is.
pub(crate) fn quoted(text: &str) -> String {
    let mut shown: String = text.chars().take(QUOTED_CHARS_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("{shown:?}")
}

const QUOTED_CHARS_MAX: usize = 60;

/// Why something was not done. Shown to whoever asked, so it holds nothing secret and nothing internal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// In the numbers of HTTP.
    pub status: u16,
    /// For programs; the same for ever.
    pub code: &'static str,
    pub message: String,
    pub field: Option<String>,
    pub hint: Option<String>,
    pub retry_after: Option<Duration>,
    /// Everything that is wrong with what was sent. The first one is also in `message`, `field` and `hint`.
    pub flaws: Vec<Flaw>,
}

/// When to come back to something that is not answering.
const COME_BACK: Duration = Duration::from_secs(5);

impl Rejection {
    pub fn new(status: u16, code: &'static str, message: impl Into<String>) -> Rejection {
        let message = message.into();
        Rejection { status, code, message, field: None, hint: None, retry_after: None, flaws: Vec::new() }
    }

    /// What was sent is wrong in one place.
    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Rejection {
        Rejection::flawed(400, vec![Flaw::new(field, message)])
    }

    /// What was sent is wrong in at least one place.
    pub fn flawed(status: u16, flaws: Vec<Flaw>) -> Rejection {
        let first = flaws.first().cloned();
        let message = match (&first, flaws.len()) {
            (Some(flaw), 1) => format!("{}: {}", flaw.field, flaw.message),
            _ => format!("{} things are wrong: {}", flaws.len(), sentence(&flaws)),
        };
        let (field, hint) = first.map_or((None, None), |flaw| (Some(flaw.field), flaw.hint));
        Rejection { field, hint, flaws, ..Rejection::new(status, "invalid_request", message) }
    }

    pub fn not_found(what: &str) -> Rejection {
        Rejection::new(404, "not_found", format!("there is no {what}"))
    }

    pub fn conflict(message: impl Into<String>) -> Rejection {
        Rejection::new(409, "conflict", message)
    }

    /// It may work in a moment.
    pub fn unavailable(message: impl Into<String>) -> Rejection {
        Rejection { retry_after: Some(COME_BACK), ..Rejection::new(503, "unavailable", message) }
    }

    #[must_use]
    pub fn at(mut self, field: impl Into<String>) -> Rejection {
        self.field = Some(field.into());
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Rejection {
        self.hint = Some(hint.into());
        self
    }
}

impl From<StoreError> for Rejection {
    fn from(error: StoreError) -> Rejection {
        tracing::warn!(%error, "a launch request met the database in trouble");
        if error.may_heal() {
            return Rejection::unavailable("the database is not answering");
        }
        Rejection::new(500, "internal", "the database refused; its reason is in the log")
    }
}

impl From<SubmitError> for Rejection {
    fn from(error: SubmitError) -> Rejection {
        match error {
            SubmitError::Store(error) => error.into(),
            SubmitError::Invalid(message) => Rejection::new(400, "invalid_request", message),
            SubmitError::Busy { .. } | SubmitError::Changed => {
                Rejection::conflict("somebody else is changing the same thing; look again and retry")
            }
            SubmitError::KeyReused => Rejection::key_reused(),
            SubmitError::UnknownWorkflow { .. } => Rejection::new(501, "not_offered", error.to_string()),
        }
    }
}

impl Rejection {
    pub(super) fn key_reused() -> Rejection {
        let message = "this idempotency key was used for another request";
        Rejection::new(409, "idempotency_key_reused", message).hint("use a new key for a new request")
    }
}

impl From<DriverError> for Rejection {
    fn from(error: DriverError) -> Rejection {
        match &error {
            DriverError::Throttled { retry_after, .. } => {
                let after = Some(*retry_after);
                Rejection { retry_after: after, ..Rejection::unavailable(error.to_string()) }
            }
            DriverError::Refused { .. } => Rejection::new(502, "far_side_refused", error.to_string()),
            DriverError::Unreachable { .. } | DriverError::Broken { .. } => {
                Rejection::unavailable(error.to_string())
            }
        }
    }
}

impl From<CloudError> for Rejection {
    fn from(error: CloudError) -> Rejection {
        let message = error.to_string();
        let rejection = match error.category {
            Category::Permission => Rejection::new(403, "cloud_permission", message)
                .hint("let the role of this source do what is missing, or choose another source"),
            Category::NotFound => Rejection::new(404, "cloud_not_found", message),
            Category::Invalid | Category::Mismatch | Category::Duplicate | Category::Terminated => {
                Rejection::new(400, "cloud_refused", message)
            }
            Category::Quota => Rejection::new(403, "cloud_quota", message)
                .hint("ask the provider of the cloud to raise the limit of the account"),
            Category::Throttle | Category::Capacity => Rejection {
                retry_after: Some(error.after.unwrap_or(COME_BACK)),
                ..Rejection::new(503, "cloud_busy", message)
            },
            Category::Network | Category::Timeout | Category::Upstream => Rejection::unavailable(message),
        };
        let field = (error.category == Category::Permission).then(|| "source_id".to_owned());
        Rejection { field, ..rejection }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_flaw_is_told_as_it_is_and_several_are_told_together() {
        let amount = Flaw::new("amount", "must be 1 to 45").hint("ask for fewer");
        let one = Rejection::flawed(400, vec![amount.clone()]);
        assert_eq!((one.message.as_str(), one.field.as_deref()), ("amount: must be 1 to 45", Some("amount")));
        assert_eq!(one.hint.as_deref(), Some("ask for fewer"));
        let two = Rejection::flawed(422, vec![amount, Flaw::new("region", "is not known")]);
        assert_eq!(two.message, "2 things are wrong: amount: must be 1 to 45; region: is not known");
        assert_eq!((two.field.as_deref(), two.flaws.len()), (Some("amount"), 2));
    }

    #[test]
    fn trouble_in_the_cloud_has_a_status_that_says_whether_to_come_back() {
        let of = |category| Rejection::from(CloudError::new(category, "Code", "text"));
        for (category, status, comes_back) in [
            (Category::Permission, 403, false),
            (Category::Quota, 403, false),
            (Category::NotFound, 404, false),
            (Category::Invalid, 400, false),
            (Category::Throttle, 503, true),
            (Category::Network, 503, true),
        ] {
            let rejection = of(category);
            assert_eq!(
                (rejection.status, rejection.retry_after.is_some()),
                (status, comes_back),
                "{category:?}"
            );
        }
        assert_eq!(of(Category::Permission).field.as_deref(), Some("source_id"));
    }

    #[test]
    fn what_the_database_said_stays_inside() {
        let rejection = Rejection::from(StoreError::Refused("relation resources, column x".into()));
        assert_eq!(rejection.status, 500);
        assert!(!rejection.message.contains("column"), "{rejection:?}");
    }
}
