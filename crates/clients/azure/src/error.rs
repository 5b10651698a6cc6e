//! What Azure says when it does not do what was asked, sorted by what the caller can do about it.

#[cfg(test)]
mod tests;

use std::time::Duration;

use cloud::{Category, CloudError};
use http_client::shorten;
use reqwest::StatusCode;
use serde::Deserialize;

const CODE_CHARS_MAX: usize = 100;
/// For so long a network interface is kept for an instance that failed to start.
const NIC_RESERVED: Duration = Duration::from_secs(180);
/// An operation that is in the way has usually ended after this time.
const BUSY: Duration = Duration::from_secs(10);

/// The body of an error, and the error of an operation that failed.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct ArmErrorBody {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    details: Option<Vec<ArmErrorBody>>,
}

impl ArmErrorBody {
    /// Some services put the cause into the details and a general word in front of it.
    fn cause(&self) -> &ArmErrorBody {
        let first = self.details.as_ref().and_then(|details| details.first());
        let is_general = matches!(
            self.code.as_str(),
            "" | "Conflict"
                | "BadRequest"
                | "DeploymentFailed"
                | "ResourceDeploymentFailure"
                | "RetryableError"
        );
        match first {
            Some(detail) if is_general && !detail.code.is_empty() => detail.cause(),
            _ => self,
        }
    }
}

#[derive(Deserialize)]
struct ErrorEnvelope {
    error: ArmErrorBody,
}

/// What Entra answers in place of a token.
#[derive(Deserialize)]
struct TokenError {
    error: String,
    #[serde(default)]
    error_description: String,
}

/// From an answer of the Resource Manager that is no success.
pub(super) fn told(status: StatusCode, body: &[u8], after: Option<Duration>) -> CloudError {
    if let Ok(envelope) = serde_json::from_slice::<ErrorEnvelope>(body) {
        return of_body(Some(status), &envelope.error, after);
    }
    let message = format!("Azure answered {status} without a reason that can be read");
    CloudError { category: by_status(Some(status)), code: String::new(), message, after }
}

/// From an operation that ended badly.
pub(super) fn of_operation(error: &ArmErrorBody) -> CloudError {
    of_body(None, error, None)
}

/// From the cause that the state of an instance names.
pub(super) fn of_state(code: &str, message: &str) -> CloudError {
    let body = ArmErrorBody { code: code.to_owned(), message: message.to_owned(), details: None };
    of_body(None, &body, None)
}

fn of_body(status: Option<StatusCode>, body: &ArmErrorBody, after: Option<Duration>) -> CloudError {
    let cause = body.cause();
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':');
    let is_code = cause.code.len() <= CODE_CHARS_MAX && cause.code.chars().all(fits);
    let code = if is_code { cause.code.clone() } else { String::new() };
    let message = if cause.message.is_empty() { "no reason was given" } else { cause.message.as_str() };
    let (category, own_after) = sort(status, &code, message);
    CloudError { category, code, message: shorten(message), after: after.or(own_after) }
}

fn sort(status: Option<StatusCode>, code: &str, message: &str) -> (Category, Option<Duration>) {
    match code {
        "NicReservedForAnotherVm" => (Category::Upstream, Some(NIC_RESERVED)),
        // What is in the way ends by itself, and the same call is right afterwards. Network answers some of them with the
        // status of a rate that is used up.
        "Conflict"
        | "AnotherOperationInProgress"
        | "ResourceGroupBeingDeleted"
        | "ReferencedResourceNotProvisioned"
        | "RetryableError"
        | "RetryableErrorDueToAnotherOperation"
        | "NicInUse"
        | "InUseSubnetCannotBeDeleted"
        | "InUseNetworkSecurityGroupCannotBeDeleted"
        | "PublicIPAddressCannotBeDeleted" => (Category::Upstream, Some(BUSY)),
        _ if status == Some(StatusCode::TOO_MANY_REQUESTS) => (Category::Throttle, None),
        _ => (by_code(status, code, message).unwrap_or_else(|| by_status(status)), None),
    }
}

fn by_code(status: Option<StatusCode>, code: &str, message: &str) -> Option<Category> {
    let says = |word: &str| message.to_ascii_lowercase().contains(word);
    Some(match code {
        "TooManyRequests" | "SubscriptionRequestsThrottled" | "ResourceRequestsThrottled" => {
            Category::Throttle
        }
        "AllocationFailed"
        | "ZonalAllocationFailed"
        | "OverconstrainedAllocationRequest"
        | "OverconstrainedZonalAllocationRequest" => Category::Capacity,
        "SkuNotAvailable" if says("capacity") => Category::Capacity,
        "QuotaExceeded" | "ResourceQuotaExceeded" => Category::Quota,
        "OperationNotAllowed" if says("quota") => Category::Quota,
        code if code.ends_with("LimitReached") => Category::Quota,
        "AuthorizationFailed"
        | "LinkedAuthorizationFailed"
        | "RequestDisallowedByPolicy"
        | "ScopeLocked"
        | "SubscriptionNotFound"
        | "ReadOnlyDisabledSubscription"
        | "InvalidAuthenticationToken"
        | "InvalidAuthenticationTokenTenant"
        | "MissingSubscriptionRegistration"
        | "MissingRegistrationForLocation" => Category::Permission,
        "ResourceNotFound" | "ResourceGroupNotFound" | "NotFound" | "ParentResourceNotFound" => {
            Category::NotFound
        }
        "InvalidParameter"
        | "InvalidTemplate"
        | "BadRequest"
        | "ImageNotFound"
        | "PropertyChangeNotAllowed"
        | "InvalidResourceReference"
        | "SkuNotAvailable"
        | "OperationNotAllowed" => Category::Invalid,
        "InternalExecutionError"
        | "InternalServerError"
        | "InternalOperationError"
        | "OSProvisioningTimedOut" => Category::Upstream,
        _ if status.is_some_and(|status| status.is_server_error()) => Category::Upstream,
        _ => return None,
    })
}

/// An operation has no status, and what it says without a code that is known may heal.
fn by_status(status: Option<StatusCode>) -> Category {
    match status {
        Some(StatusCode::TOO_MANY_REQUESTS) => Category::Throttle,
        Some(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => Category::Permission,
        Some(StatusCode::NOT_FOUND) => Category::NotFound,
        Some(StatusCode::PRECONDITION_FAILED) => Category::Duplicate,
        Some(StatusCode::REQUEST_TIMEOUT) => Category::Upstream,
        Some(status) if status.is_client_error() => Category::Invalid,
        _ => Category::Upstream,
    }
}

/// From an answer of Entra that is no token. Its own words may quote what was sent, so only known codes are explained.
pub(super) fn no_token(status: StatusCode, body: &[u8], after: Option<Duration>) -> CloudError {
    if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
        let category = if status.is_server_error() { Category::Upstream } else { Category::Throttle };
        let message = format!("Entra answered {status} in place of a token");
        return CloudError { category, code: String::new(), message, after };
    }
    let Ok(told) = serde_json::from_slice::<TokenError>(body) else {
        let message = format!("Entra answered {status} without a reason that can be read");
        return CloudError::new(Category::Permission, "", message);
    };
    let number = told.error_description.split(':').next().unwrap_or_default();
    let is_number =
        number.strip_prefix("AADSTS").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()));
    let number = if is_number { number } else { "" };
    let message = match number {
        "AADSTS7000215" => "the client secret of our application is wrong: set the current one",
        "AADSTS7000222" => {
            "the client secret or the certificate of our application has expired: make a new one and set it"
        }
        "AADSTS700027" => {
            "our application has no certificate that fits the assertion: register the one of \
             launch.azure.client_certificate_file in Entra"
        }
        "AADSTS700024" => "the clock of this computer is wrong by minutes: correct it",
        "AADSTS700023" => "the assertion is for another authority: compare launch.azure.authority",
        "AADSTS700016" => "our tenant has no application with this client id: compare both settings",
        "AADSTS90002" => "there is no tenant with this id: correct the setting of the tenant",
        _ => "Entra issues no token for our application: compare tenant, client id and credential",
    };
    let code = if number.is_empty() { shorten(&told.error) } else { number.to_owned() };
    CloudError::new(Category::Permission, code, message)
}

/// The first use of a service in a subscription needs one more call.
pub(super) fn is_unregistered(error: &CloudError) -> bool {
    matches!(error.code.as_str(), "MissingSubscriptionRegistration" | "MissingRegistrationForLocation")
}
