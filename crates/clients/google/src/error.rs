//! What Google Cloud says when it does not do what was asked, sorted by what the caller can do about it.

#[cfg(test)]
mod tests;

use std::time::Duration;

use cloud::{Category, CloudError};
use http_client::shorten;
use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use crate::operations::Operation;

const CODE_CHARS_MAX: usize = 100;
/// A rate is counted by the minute.
const RATE_WAIT: Duration = Duration::from_mins(1);

#[derive(Deserialize)]
struct GoogleErrorBody {
    error: GoogleErrorInfo,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct GoogleErrorInfo {
    message: String,
    errors: Vec<GoogleErrorItem>,
    status: Option<String>,
    details: Vec<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct GoogleErrorItem {
    reason: String,
    message: String,
}

/// The answer of the token service.
#[derive(Deserialize)]
struct TokenErrorBody {
    error: String,
    #[serde(default)]
    error_description: String,
}

/// From an answer that is no success. The reason decides: 403 is four different things.
pub(super) fn from_answer(status: StatusCode, body: &[u8], after: Option<Duration>) -> CloudError {
    let Ok(GoogleErrorBody { error }) = serde_json::from_slice::<GoogleErrorBody>(body) else {
        let message = format!("Google Cloud answered {status} without a reason that can be read");
        return CloudError { after, ..CloudError::new(by_status(status, after), "", message) };
    };
    let detail = error.details.iter().find_map(|detail| detail["reason"].as_str());
    let first = error.errors.first();
    let reason = first.map(|item| item.reason.as_str()).filter(|reason| !reason.is_empty());
    let words = [detail, reason, error.status.as_deref()];
    let found = words.into_iter().flatten().find_map(|word| Some((word, by_reason(status, word)?)));
    let named = words.into_iter().flatten().next().unwrap_or_default();
    let (code, category) = found.unwrap_or((named, by_status(status, after)));
    let message =
        if error.message.is_empty() { first.map_or("", |item| &item.message) } else { &error.message };
    let after = after.or_else(|| (category == Category::Throttle).then_some(RATE_WAIT));
    CloudError { after, ..CloudError::new(category, plain(code), shorten(message)) }
}

fn by_status(status: StatusCode, after: Option<Duration>) -> Category {
    match status {
        StatusCode::TOO_MANY_REQUESTS => Category::Throttle,
        StatusCode::SERVICE_UNAVAILABLE if after.is_some() => Category::Throttle,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Category::Permission,
        StatusCode::NOT_FOUND => Category::NotFound,
        StatusCode::CONFLICT => Category::Duplicate,
        StatusCode::REQUEST_TIMEOUT => Category::Upstream,
        status if status.is_client_error() => Category::Invalid,
        _ => Category::Upstream,
    }
}

fn by_reason(status: StatusCode, reason: &str) -> Option<Category> {
    Some(match reason {
        "rateLimitExceeded" | "userRateLimitExceeded" | "RATE_LIMIT_EXCEEDED" => Category::Throttle,
        "quotaExceeded" | "limitExceeded" | "RESOURCE_QUOTA_EXCEEDED" => Category::Quota,
        "insufficientCapacity" | "stockout" => Category::Capacity,
        "forbidden"
        | "accessNotConfigured"
        | "SERVICE_DISABLED"
        | "authError"
        | "required"
        | "conditionNotMet"
        | "IAM_PERMISSION_DENIED"
        | "USER_PROJECT_DENIED"
            if matches!(status.as_u16(), 401 | 403 | 412) =>
        {
            Category::Permission
        }
        "invalid" | "required" | "badRequest" | "invalidParameter" | "conditionNotMet" => Category::Invalid,
        "notFound" => Category::NotFound,
        "alreadyExists" => Category::Duplicate,
        "resourceNotReady"
        | "resourceInUseByAnotherResource"
        | "operationInProgress"
        | "backendError"
        | "internalError" => Category::Upstream,
        _ => return None,
    })
}

/// From an operation that ended badly. The first error that a person can act on speaks for all.
pub(super) fn from_operation(operation: &Operation) -> Option<CloudError> {
    let errors = operation.error.as_ref().map(|error| error.errors.as_slice()).unwrap_or_default();
    let sorted = errors.iter().map(|error| (by_code(&error.code), error));
    let rank = |category: Category| match category {
        Category::Permission | Category::Invalid | Category::NotFound => 0,
        Category::Quota => 1,
        Category::Capacity => 2,
        Category::Throttle => 3,
        Category::Upstream => 4,
        _ => 5,
    };
    if let Some((category, error)) = sorted.min_by_key(|(category, _)| rank(*category)) {
        let after = (category == Category::Throttle).then_some(RATE_WAIT);
        return Some(CloudError {
            after,
            ..CloudError::new(category, plain(&error.code), shorten(&error.message))
        });
    }
    let status = StatusCode::from_u16(operation.http_error_status_code?).unwrap_or_default();
    let message = operation.http_error_message.as_deref().unwrap_or("no reason was given");
    (!status.is_success()).then(|| CloudError::new(by_status(status, None), "", shorten(message)))
}

fn by_code(code: &str) -> Category {
    match code {
        "RATE_LIMIT_EXCEEDED" => Category::Throttle,
        "QUOTA_EXCEEDED" | "LIMIT_EXCEEDED" => Category::Quota,
        "ZONE_RESOURCE_POOL_EXHAUSTED"
        | "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS"
        | "RESOURCE_POOL_EXHAUSTED" => Category::Capacity,
        "PERMISSIONS_ERROR" => Category::Permission,
        "INVALID_FIELD_VALUE" | "INVALID_USAGE" | "CONDITION_NOT_MET" | "UNSUPPORTED_OPERATION" => {
            Category::Invalid
        }
        "RESOURCE_NOT_FOUND" => Category::NotFound,
        "RESOURCE_ALREADY_EXISTS" => Category::Duplicate,
        _ => Category::Upstream,
    }
}

/// From the service that gives tokens. What it says may quote the assertion, so only its code is kept.
pub(super) fn from_token_answer(status: StatusCode, body: &[u8], after: Option<Duration>) -> CloudError {
    let Ok(TokenErrorBody { error, error_description }) = serde_json::from_slice(body) else {
        return from_answer(status, body, after);
    };
    let category = match error.as_str() {
        "invalid_grant" | "invalid_client" | "unauthorized_client" | "invalid_scope" => Category::Permission,
        _ => by_status(status, after),
    };
    let message = format!(
        "no token for our service account: {}; see that its key is still valid, and compare the clock of this \
         machine with the time",
        shorten(&error_description)
    );
    CloudError { after, ..CloudError::new(category, plain(&error), message) }
}

fn plain(code: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':');
    code.chars().filter(|c| fits(*c)).take(CODE_CHARS_MAX).collect()
}

pub(super) fn invalid(code: &str, message: impl Into<String>) -> CloudError {
    CloudError::new(Category::Invalid, code, message)
}

pub(super) fn permission(code: &str, message: impl Into<String>) -> CloudError {
    CloudError::new(Category::Permission, code, message)
}
