//! Errors of AWS, sorted by what the caller can do about them.

#[cfg(test)]
mod tests;

use std::time::Duration;

use cloud::{Category, CloudError};
use http_client::shorten;
use reqwest::StatusCode;

use super::xml::{self, Parts as _};

const CODE_CHARS_MAX: usize = 100;

/// From an answer that is no success.
pub(super) fn told(status: StatusCode, body: &str, after: Option<Duration>) -> CloudError {
    let (code, message) = code_and_message(body).unwrap_or_else(|| {
        (String::new(), format!("AWS answered {status} without a reason that can be read"))
    });
    CloudError { category: category(status, &code), message: words(&code, &message), code, after }
}

/// EC2 answers with a list of errors, of which there is always one; STS with one alone.
fn code_and_message(body: &str) -> Option<(String, String)> {
    let answer = xml::read(body).ok()?;
    let (code, message) = match answer.name.as_str() {
        "Response" => ("Errors/Error/Code", "Errors/Error/Message"),
        "ErrorResponse" => ("Error/Code", "Error/Message"),
        _ => return None,
    };
    let code = answer.text(code)?;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':');
    if code.len() > CODE_CHARS_MAX || !code.chars().all(fits) {
        return None;
    }
    Some((code.to_owned(), answer.text(message).unwrap_or("no reason was given").to_owned()))
}

/// Old answers put the guilty side in front: `Client.RequestLimitExceeded`.
fn bare(code: &str) -> &str {
    code.strip_prefix("Client.").or_else(|| code.strip_prefix("Server.")).unwrap_or(code)
}

pub(super) fn category(status: StatusCode, code: &str) -> Category {
    if let Some(category) = by_code(bare(code)) {
        return category;
    }
    match status {
        StatusCode::TOO_MANY_REQUESTS => Category::Throttle,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Category::Permission,
        status if status.is_client_error() => Category::Invalid,
        _ => Category::Upstream,
    }
}

fn by_code(code: &str) -> Option<Category> {
    Some(match code {
        "UnauthorizedOperation"
        | "AccessDenied"
        | "AccessDeniedException"
        | "AuthFailure"
        | "Blocked"
        | "ExpiredToken"
        | "ExpiredTokenException"
        | "InvalidClientTokenId"
        | "MissingAuthenticationToken"
        | "OperationNotPermitted"
        | "OptInRequired"
        | "PendingVerification"
        | "RegionDisabledException"
        | "RequestExpired"
        | "SignatureDoesNotMatch" => Category::Permission,
        "BandwidthLimitExceeded"
        | "EC2ThrottledException"
        | "RequestLimitExceeded"
        | "RequestThrottled"
        | "RequestThrottledException"
        | "SlowDown"
        | "Throttling"
        | "ThrottlingException"
        | "ThrottledException"
        | "TooManyRequestsException" => Category::Throttle,
        "MaxSpotInstanceCountExceeded" => Category::Quota,
        "InsufficientFreeAddressesInSubnet" => Category::Capacity,
        "IdempotentParameterMismatch" => Category::Mismatch,
        "IdempotentInstanceTerminated" => Category::Terminated,
        "InternalError"
        | "InternalFailure"
        | "InternalServerError"
        | "ServiceUnavailable"
        | "Unavailable" => Category::Upstream,
        code if code.ends_with("LimitExceeded") || code.ends_with("QuotaExceeded") => Category::Quota,
        code if code.starts_with("Insufficient") && code.contains("Capacity") => Category::Capacity,
        code if code.ends_with(".Duplicate") => Category::Duplicate,
        code if code.ends_with(".NotFound") || code.ends_with(".NotFoundException") => Category::NotFound,
        _ => return None,
    })
}

/// What a person reads. Where AWS would quote the signed request, session token and all, our own words stand.
fn words(code: &str, message: &str) -> String {
    match bare(code) {
        "SignatureDoesNotMatch" | "IncompleteSignature" => {
            "the signature of the request is not right: check the secret access key, and compare the clock of this \
             machine with the time"
                .to_owned()
        }
        "RequestExpired" | "RequestInTheFuture" | "RequestTimeTooSkewed" => {
            format!("{} (compare the clock of this machine with the time)", shorten(message))
        }
        _ => shorten(message),
    }
}

/// The credentials of a session ended earlier than they said. Nothing was done.
pub(super) fn ended_session(error: &CloudError) -> bool {
    matches!(
        bare(&error.code),
        "ExpiredToken" | "ExpiredTokenException" | "RequestExpired" | "InvalidClientTokenId"
    )
}
