//! Errors of the launch API: what is wrong, in which field, and what to do about it.

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
pub(crate) fn field_error(found: Invalid) -> Flaw {
    Flaw { hint: found.hint.map(str::to_owned), ..Flaw::new(found.field, found.message) }
}

/// All of them in one sentence, for the cause of a step that fails.
pub fn sentence(field_errors: &[Flaw]) -> String {
    let said: Vec<String> = field_errors
        .iter()
        .map(|field_error| format!("{}: {}", field_error.field, field_error.message))
        .collect();
    said.join("; ")
}

/// What a client sent, for a message about it: cut, because it is unknown how long it is.
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
pub struct LaunchApiError {
    error: Error,
    /// The database failed. The server has one answer to that for all APIs.
    store: Option<StoreError>,
}

/// When to come back to something that is not answering.
const COME_BACK: Duration = Duration::from_secs(5);

impl LaunchApiError {
    pub fn new(code: Code, message: impl Into<String>) -> LaunchApiError {
        Error::new(code, message).into()
    }

    /// What was sent is wrong in one place.
    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> LaunchApiError {
        LaunchApiError::with_field_errors(StatusCode::BAD_REQUEST, vec![Flaw::new(field, message)])
    }

    /// What was sent is wrong in at least one place.
    pub fn with_field_errors(status: StatusCode, field_errors: Vec<Flaw>) -> LaunchApiError {
        let first = field_errors.first().cloned();
        let message = match (&first, field_errors.len()) {
            (Some(field_error), 1) => format!("{}: {}", field_error.field, field_error.message),
            _ => format!("{} things are wrong: {}", field_errors.len(), sentence(&field_errors)),
        };
        let code = if status == StatusCode::NOT_FOUND { Code::NotFound } else { Code::InvalidRequest };
        let mut error = Error::new(code, message).status(status);
        (error.field, error.hint) =
            first.map_or((None, None), |field_error| (Some(field_error.field), field_error.hint));
        error.fields = field_errors;
        error.into()
    }

    pub fn not_found(what: &str) -> LaunchApiError {
        LaunchApiError::new(Code::NotFound, format!("there is no {what}"))
    }

    pub fn conflict(message: impl Into<String>) -> LaunchApiError {
        LaunchApiError::new(Code::Conflict, message)
    }

    /// It may work in a moment.
    pub fn unavailable(message: impl Into<String>) -> LaunchApiError {
        LaunchApiError::new(Code::Unavailable, message).after(COME_BACK)
    }

    #[must_use]
    pub fn status(mut self, status: StatusCode) -> LaunchApiError {
        self.error.status = status;
        self
    }

    #[must_use]
    pub fn at(mut self, field: impl Into<String>) -> LaunchApiError {
        self.error.field = Some(field.into());
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> LaunchApiError {
        self.error.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn after(mut self, pause: Duration) -> LaunchApiError {
        self.error.retry_after = Some(pause);
        self
    }

    pub fn into_error(self) -> Result<Error, StoreError> {
        self.store.map_or(Ok(self.error), Err)
    }
}

impl Deref for LaunchApiError {
    type Target = Error;

    fn deref(&self) -> &Error {
        &self.error
    }
}

impl From<Error> for LaunchApiError {
    fn from(error: Error) -> LaunchApiError {
        LaunchApiError { error, store: None }
    }
}

impl From<StoreError> for LaunchApiError {
    fn from(error: StoreError) -> LaunchApiError {
        let code = if error.may_heal() { Code::Unavailable } else { Code::Internal };
        LaunchApiError { error: Error::new(code, "the database failed"), store: Some(error) }
    }
}

impl From<SubmitError> for LaunchApiError {
    fn from(error: SubmitError) -> LaunchApiError {
        match error {
            SubmitError::Store(error) => error.into(),
            SubmitError::Invalid(message) => LaunchApiError::new(Code::InvalidRequest, message),
            SubmitError::Busy { .. } | SubmitError::Changed => {
                LaunchApiError::conflict("another request is changing the same thing; look again and retry")
            }
            SubmitError::KeyReused => LaunchApiError::key_reused(),
            SubmitError::UnknownWorkflow { .. } => LaunchApiError::new(Code::NotOffered, error.to_string()),
        }
    }
}

impl LaunchApiError {
    pub(crate) fn key_reused() -> LaunchApiError {
        let message = "this idempotency key was used for another request";
        LaunchApiError::new(Code::IdempotencyKeyReused, message)
            .status(StatusCode::CONFLICT)
            .hint("use a new key for a new request")
    }
}

impl From<DriverError> for LaunchApiError {
    fn from(error: DriverError) -> LaunchApiError {
        match &error {
            DriverError::Throttled { retry_after, .. } => {
                LaunchApiError::unavailable(error.to_string()).after(*retry_after)
            }
            DriverError::Refused { .. } => LaunchApiError::new(Code::FarSideRefused, error.to_string()),
            DriverError::Unreachable { .. } | DriverError::Broken { .. } => {
                LaunchApiError::unavailable(error.to_string())
            }
        }
    }
}

impl From<CloudError> for LaunchApiError {
    fn from(error: CloudError) -> LaunchApiError {
        let message = error.to_string();
        let api_error = match error.category {
            Category::Permission => LaunchApiError::new(Code::CloudPermission, message)
                .hint("let the role of this source do what is missing, or choose another source"),
            Category::NotFound => LaunchApiError::new(Code::CloudNotFound, message),
            Category::Invalid | Category::Mismatch | Category::Duplicate | Category::Terminated => {
                LaunchApiError::new(Code::CloudRefused, message)
            }
            Category::Quota => LaunchApiError::new(Code::CloudQuota, message)
                .hint("ask the provider of the cloud to raise the limit of the account"),
            Category::Throttle | Category::Capacity => {
                LaunchApiError::new(Code::CloudBusy, message).after(error.after.unwrap_or(COME_BACK))
            }
            Category::Network | Category::Timeout | Category::Upstream => {
                LaunchApiError::unavailable(message)
            }
        };
        if error.category == Category::Permission { api_error.at("source_id") } else { api_error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_field_error_is_told_as_it_is_and_several_are_told_together() {
        let amount = Flaw::new("amount", "must be 1 to 45").hint("ask for fewer");
        let one = LaunchApiError::with_field_errors(StatusCode::BAD_REQUEST, vec![amount.clone()]);
        assert_eq!((one.detail.as_str(), one.field.as_deref()), ("amount: must be 1 to 45", Some("amount")));
        assert_eq!(one.hint.as_deref(), Some("ask for fewer"));
        let two = LaunchApiError::with_field_errors(
            StatusCode::UNPROCESSABLE_ENTITY,
            vec![amount, Flaw::new("region", "is not known")],
        );
        assert_eq!(two.detail, "2 things are wrong: amount: must be 1 to 45; region: is not known");
        assert_eq!((two.field.as_deref(), two.fields.len()), (Some("amount"), 2));
    }

    #[test]
    fn failure_in_the_cloud_has_a_status_that_says_whether_to_come_back() {
        let of = |category| LaunchApiError::from(CloudError::new(category, "Code", "text"));
        for (category, status, comes_back) in [
            (Category::Permission, 403, false),
            (Category::Quota, 403, false),
            (Category::NotFound, 404, false),
            (Category::Invalid, 400, false),
            (Category::Throttle, 503, true),
            (Category::Network, 503, true),
        ] {
            let api_error = of(category);
            assert_eq!(
                (api_error.status.as_u16(), api_error.retry_after.is_some()),
                (status, comes_back),
                "{category:?}"
            );
        }
        assert_eq!(of(Category::Permission).field.as_deref(), Some("source_id"));
    }

    #[test]
    fn what_the_database_said_stays_inside() {
        let api_error = LaunchApiError::from(StoreError::Refused("relation resources, column x".into()));
        assert_eq!(api_error.status, 500);
        assert!(!api_error.detail.contains("column"), "{api_error:?}");
    }
}
