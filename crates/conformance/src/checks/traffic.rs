//! Rules for every answer, checked on all that were seen.

use std::sync::Arc;

use reqwest::Method;
use serde_json::Value;

use crate::answer::BrokerResponse;
use crate::checker::Checker;

const STATUSES: [u16; 15] = [200, 201, 202, 304, 400, 401, 404, 405, 409, 410, 412, 413, 422, 429, 431];
const STATES: [&str; 3] = ["in progress", "succeeded", "failed"];
const OPERATION_CHARS_MAX: usize = 10_000;

type Rule = (&'static str, &'static str, &'static str, fn(&BrokerResponse) -> bool);

const RULES: [Rule; 15] = [
    ("answered", "1.1", "every request is answered in time", |answer| answer.status != 0),
    ("5xx", "1.6", "no request is answered with 5xx", |answer| answer.status < 500),
    ("statuses", "1.2", "no answer has a status that the text does not know", |answer| {
        answer.status == 0 || answer.status >= 500 || answer.has(&STATUSES)
    }),
    ("type", "1.1", "every answer is application/json", |answer| is_bare(answer) || answer.is_json()),
    ("object", "1.1", "every body is an object", |answer| is_bare(answer) || answer.json.is_object()),
    ("description", "1.1", "every error is described", |answer| {
        is_bare(answer) || answer.status < 400 || !text(&answer.json["description"]).trim().is_empty()
    }),
    ("error", "1.1", "an error code is one word", |answer| {
        answer.status < 400 || answer.json.get("error").is_none_or(|code| is_word(text(code)))
    }),
    ("instance_usable", "1.1", "only updates and deletions say whether an instance is usable", |answer| {
        answer.json.get("instance_usable").is_none()
            || is_poll(answer)
            || answer.method == Method::PATCH
            || answer.method == Method::DELETE
    }),
    ("update_repeatable", "1.1", "only updates say whether they can be repeated", |answer| {
        answer.json.get("update_repeatable").is_none() || is_poll(answer) || answer.method == Method::PATCH
    }),
    ("202.credentials", "1.2", "no 202 has credentials", |answer| {
        answer.status != 202 || answer.json.get("credentials").is_none()
    }),
    ("202.operation", "1.1", "every 202 names an operation that is short enough", |answer| {
        answer.status != 202
            || (1..=OPERATION_CHARS_MAX).contains(&text(&answer.json["operation"]).chars().count())
    }),
    ("state", "1.2", "a last operation has one of three states", |answer| {
        !is_poll(answer)
            || answer.status != 200
            || answer.state().is_some_and(|state| STATES.contains(&state))
    }),
    ("state.description", "1.7", "a last operation is described", |answer| {
        !is_poll(answer) || answer.status != 200 || !text(&answer.json["description"]).trim().is_empty()
    }),
    ("retry-after", "1.2", "Retry-After is a number of seconds", |answer| {
        answer.headers.get("retry-after").is_none() || answer.header("retry-after").is_some_and(is_number)
    }),
    ("dashboard_url", "1.7", "no dashboard_url is null", |answer| {
        answer.json.get("dashboard_url").is_none_or(|url| !url.is_null())
    }),
];

pub(crate) fn run(checker: &Checker) {
    let seen = checker.wire.seen();
    for (id, section, title, holds) in RULES {
        checker.check(format!("traffic.{id}"), section, title, first_fault(&seen, holds));
    }
    let silent = |answer: &BrokerResponse| !checker.wire.is_told(answer);
    checker.check("traffic.password", "1.1", "no answer has the password in it", first_fault(&seen, silent));
}

fn first_fault(seen: &[Arc<BrokerResponse>], holds: impl Fn(&BrokerResponse) -> bool) -> Option<String> {
    let mut faults = seen.iter().filter(|answer| !holds(answer));
    let first = faults.next()?;
    Some(format!("{} more; {} -> {}", faults.count(), first.request, first.status))
}

/// Answers that have no body to judge.
fn is_bare(answer: &BrokerResponse) -> bool {
    answer.method == Method::HEAD || answer.has(&[0, 304])
}

fn is_poll(answer: &BrokerResponse) -> bool {
    let path = answer.request.split('?').next().unwrap_or_default();
    answer.method == Method::GET && path.ends_with("/last_operation")
}

fn is_word(code: &str) -> bool {
    code.starts_with(|first: char| first.is_ascii_uppercase())
        && code.chars().all(|c| c.is_ascii_alphanumeric())
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
