//! What a caller is told when something cannot be done: what is wrong, where, and what to do about it.

use std::ops::Deref;
use std::time::Duration;

pub use api::FieldError as Flaw;
use api::{Code, Error};
use cloud::spec::Invalid;
use cloud::{Category, CloudError};
use engine::SubmitError;
use engine::store::StoreError;
use http::StatusCode;
use http_client::DriverError;

/// What the rules of a cloud found wrong, for the caller.
pub(crate) fn flaw(found: Invalid) -> Flaw {
    Flaw { hint: found.hint.map(str::to_owned), ..Flaw::new(found.field, found.message) }
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

/// Why a request of the launch API was not done.
#[derive(Debug, Clone, PartialEq)]
pub struct Rejection {
    error: Error,
    /// The database failed. The server has one answer to that for all APIs.
    store: Option<StoreError>,
}

/// When to come back to something that is not answering.
const COME_BACK: Duration = Duration::from_secs(5);

impl Rejection {
    pub fn new(code: Code, message: impl Into<String>) -> Rejection {
        Error::new(code, message).into()
    }

    /// What was sent is wrong in one place.
    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Rejection {
        Rejection::flawed(StatusCode::BAD_REQUEST, vec![Flaw::new(field, message)])
    }

    /// What was sent is wrong in at least one place.
    pub fn flawed(status: StatusCode, flaws: Vec<Flaw>) -> Rejection {
        let first = flaws.first().cloned();
        let message = match (&first, flaws.len()) {
            (Some(flaw), 1) => format!("{}: {}", flaw.field, flaw.message),
            _ => format!("{} things are wrong: {}", flaws.len(), sentence(&flaws)),
        };
        let code = if status == StatusCode::NOT_FOUND { Code::NotFound } else { Code::InvalidRequest };
        let mut error = Error::new(code, message).status(status);
        (error.field, error.hint) = first.map_or((None, None), |flaw| (Some(flaw.field), flaw.hint));
        error.fields = flaws;
        error.into()
    }

    pub fn not_found(what: &str) -> Rejection {
        Rejection::new(Code::NotFound, format!("there is no {what}"))
    }

    pub fn conflict(message: impl Into<String>) -> Rejection {
        Rejection::new(Code::Conflict, message)
    }

    /// It may work in a moment.
    pub fn unavailable(message: impl Into<String>) -> Rejection {
        Rejection::new(Code::Unavailable, message).after(COME_BACK)
    }

    #[must_use]
    pub fn status(mut self, status: StatusCode) -> Rejection {
        self.error.status = status;
        self
    }

    #[must_use]
    pub fn at(mut self, field: impl Into<String>) -> Rejection {
        self.error.field = Some(field.into());
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Rejection {
        self.error.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn after(mut self, pause: Duration) -> Rejection {
        self.error.retry_after = Some(pause);
        self
    }

    pub fn into_error(self) -> Result<Error, StoreError> {
        self.store.map_or(Ok(self.error), Err)
    }
}

impl Deref for Rejection {
    type Target = Error;

    fn deref(&self) -> &Error {
        &self.error
    }
}

impl From<Error> for Rejection {
    fn from(error: Error) -> Rejection {
        Rejection { error, store: None }
    }
}

impl From<StoreError> for Rejection {
    fn from(error: StoreError) -> Rejection {
        let code = if error.may_heal() { Code::Unavailable } else { Code::Internal };
        Rejection { error: Error::new(code, "the database failed"), store: Some(error) }
    }
}

impl From<SubmitError> for Rejection {
    fn from(error: SubmitError) -> Rejection {
        match error {
            SubmitError::Store(error) => error.into(),
            SubmitError::Invalid(message) => Rejection::new(Code::InvalidRequest, message),
            SubmitError::Busy { .. } | SubmitError::Changed => {
                Rejection::conflict("somebody else is changing the same thing; look again and retry")
            }
            SubmitError::KeyReused => Rejection::key_reused(),
            SubmitError::UnknownWorkflow { .. } => Rejection::new(Code::NotOffered, error.to_string()),
        }
    }
}

impl Rejection {
    pub(crate) fn key_reused() -> Rejection {
        let message = "this idempotency key was used for another request";
        Rejection::new(Code::IdempotencyKeyReused, message)
            .status(StatusCode::CONFLICT)
            .hint("use a new key for a new request")
    }
}

impl From<DriverError> for Rejection {
    fn from(error: DriverError) -> Rejection {
        match &error {
            DriverError::Throttled { retry_after, .. } => {
                Rejection::unavailable(error.to_string()).after(*retry_after)
            }
            DriverError::Refused { .. } => Rejection::new(Code::FarSideRefused, error.to_string()),
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
            Category::Permission => Rejection::new(Code::CloudPermission, message)
                .hint("let the role of this source do what is missing, or choose another source"),
            Category::NotFound => Rejection::new(Code::CloudNotFound, message),
            Category::Invalid | Category::Mismatch | Category::Duplicate | Category::Terminated => {
                Rejection::new(Code::CloudRefused, message)
            }
            Category::Quota => Rejection::new(Code::CloudQuota, message)
                .hint("ask the provider of the cloud to raise the limit of the account"),
            Category::Throttle | Category::Capacity => {
                Rejection::new(Code::CloudBusy, message).after(error.after.unwrap_or(COME_BACK))
            }
            Category::Network | Category::Timeout | Category::Upstream => Rejection::unavailable(message),
        };
        if error.category == Category::Permission { rejection.at("source_id") } else { rejection }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_flaw_is_told_as_it_is_and_several_are_told_together() {
        let amount = Flaw::new("amount", "must be 1 to 45").hint("ask for fewer");
        let one = Rejection::flawed(StatusCode::BAD_REQUEST, vec![amount.clone()]);
        assert_eq!((one.detail.as_str(), one.field.as_deref()), ("amount: must be 1 to 45", Some("amount")));
        assert_eq!(one.hint.as_deref(), Some("ask for fewer"));
        let two = Rejection::flawed(
            StatusCode::UNPROCESSABLE_ENTITY,
            vec![amount, Flaw::new("region", "is not known")],
        );
        assert_eq!(two.detail, "2 things are wrong: amount: must be 1 to 45; region: is not known");
        assert_eq!((two.field.as_deref(), two.fields.len()), (Some("amount"), 2));
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
                (rejection.status.as_u16(), rejection.retry_after.is_some()),
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
        assert!(!rejection.detail.contains("column"), "{rejection:?}");
    }
}
