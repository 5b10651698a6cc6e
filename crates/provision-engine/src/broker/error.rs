//! Why a broker gave no good answer, and what to do about it.

use reqwest::{StatusCode, Url};

use super::wire::ErrorBody;
use crate::exit::Exit;
use crate::output::printable;

/// Nobody reads more of a refusal than this.
const DESCRIPTION_CHARS_MAX: usize = 2_000;

#[derive(Debug, thiserror::Error)]
pub(crate) enum BrokerError {
    /// Nothing was asked: nobody listens there.
    #[error("cannot reach the broker at {broker}: {cause}")]
    Unreachable { broker: String, cause: String },
    /// It may have been done or not.
    #[error("the answer of the broker at {broker} was lost: {cause}")]
    Lost { broker: String, cause: String },
    #[error("{}", .0.title())]
    Refused(Box<Refusal>),
    #[error("the broker at {broker} gave {what}; is it a service broker?")]
    Strange { broker: String, what: String },
    #[error("{0}")]
    Unusable(String),
}

/// What a broker said, and what it was shown.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    code: Option<String>,
    description: Option<String>,
    instance_usable: Option<bool>,
    update_repeatable: Option<bool>,
    had_credentials: bool,
    api_version: String,
}

impl BrokerError {
    pub(super) fn lost(broker: &Url, error: &reqwest::Error) -> BrokerError {
        let (broker, cause) = (shown(broker), chain(error));
        if error.is_connect() {
            BrokerError::Unreachable { broker, cause }
        } else {
            BrokerError::Lost { broker, cause }
        }
    }

    pub(super) fn strange(broker: &Url, what: impl Into<String>) -> BrokerError {
        BrokerError::Strange { broker: shown(broker), what: what.into() }
    }

    pub(super) fn refused(
        broker: &Url,
        status: StatusCode,
        body: &[u8],
        had_credentials: bool,
        api_version: &str,
    ) -> BrokerError {
        if status.is_success() || status.is_redirection() || status.is_informational() {
            return BrokerError::strange(broker, format!("status {status}"));
        }
        // A proxy on the way answers in its own words; what it means is in the status.
        let ErrorBody { error, description, detail, instance_usable, update_repeatable } =
            serde_json::from_slice(body).unwrap_or_default();
        let brief = |text: String| {
            let text: String = printable(&text).chars().take(DESCRIPTION_CHARS_MAX).collect();
            Some(text).filter(|text| !text.trim().is_empty())
        };
        BrokerError::Refused(Box::new(Refusal {
            status,
            code: error.and_then(brief),
            description: description.or(detail).and_then(brief),
            instance_usable,
            update_repeatable,
            had_credentials,
            api_version: api_version.to_owned(),
        }))
    }

    pub(crate) fn status(&self) -> Option<u16> {
        match self {
            BrokerError::Refused(refusal) => Some(refusal.status.as_u16()),
            _ => None,
        }
    }

    /// The broker knows nothing of it: it never was, or is no more.
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self.status(), Some(404 | 410))
    }

    /// Whether asking for the same a moment later may have a good answer.
    pub(crate) fn may_heal(&self) -> bool {
        match self {
            BrokerError::Unreachable { .. } | BrokerError::Lost { .. } => true,
            BrokerError::Refused(refusal) => matches!(refusal.status.as_u16(), 408 | 429 | 500..=599),
            BrokerError::Strange { .. } | BrokerError::Unusable(_) => false,
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            BrokerError::Refused(refusal) => match refusal.status.as_u16() {
                401 | 403 => Exit::DENIED,
                409 => Exit::CONFLICT,
                422 if refusal.is("ConcurrencyError") => Exit::CONFLICT,
                _ => Exit::ERROR,
            },
            _ => Exit::ERROR,
        }
    }

    /// The lines below the first: the status and the fix.
    pub(crate) fn more(&self) -> Option<String> {
        match self {
            BrokerError::Unreachable { .. } => Some(
                "is the broker running? `provision-engine status` knows about ours; \
                 `--broker-url URL` names another one"
                    .into(),
            ),
            BrokerError::Lost { .. } => Some(
                "what was asked may have happened or not; ask again with the same id: nothing is done twice"
                    .into(),
            ),
            BrokerError::Refused(refusal) => Some(refusal.lines()),
            BrokerError::Strange { .. } | BrokerError::Unusable(_) => None,
        }
    }
}

impl Refusal {
    fn is(&self, code: &str) -> bool {
        self.code.as_deref() == Some(code)
    }

    fn title(&self) -> String {
        match (&self.code, &self.description) {
            (Some(code), Some(description)) => format!("{code}: {description}"),
            (Some(text), None) | (None, Some(text)) => text.clone(),
            (None, None) => format!("the broker answered {} and did not say why", self.status),
        }
    }

    fn lines(&self) -> String {
        let mut lines = vec![format!("status: {}", self.status)];
        lines.extend(aftermath(self.instance_usable, self.update_repeatable).map(str::to_owned));
        if let Some(fix) = self.fix() {
            lines.push(format!("fix: {fix}"));
        }
        lines.join("\n")
    }

    fn fix(&self) -> Option<String> {
        let fix = match self.status.as_u16() {
            401 | 403 if self.had_credentials => {
                "the broker does not take these credentials: check --broker-user and \
                 PROVISION_ENGINE_BROKER_PASSWORD"
            }
            401 | 403 => {
                "give --broker-user and set PROVISION_ENGINE_BROKER_PASSWORD, or name the server's --data-dir, \
                 which has them in `broker.credentials`"
            }
            400 => "`provision-engine catalog --plan NAME` lists what a plan takes",
            404 => "check the id and the URL of the broker",
            409 => "the id is taken by something different: choose another id, or ask for exactly the same",
            410 => "it is gone; nothing is left to do",
            412 => {
                return Some(format!(
                    "the broker does not speak version {} of the API: choose another with --api-version",
                    self.api_version
                ));
            }
            422 if self.is("ConcurrencyError") => "something else is at work on it: wait, then ask again",
            422 if self.is("RequiresApp") => "this binding is for an application, which only a platform has",
            422 if self.is("MaintenanceInfoConflict") => "the catalog has changed meanwhile: ask again",
            429 | 500..=599 => "the broker is in trouble: ask again later, with the same id",
            _ => return None,
        };
        Some(fix.to_owned())
    }
}

/// What a failed change left behind, in words.
pub(crate) fn aftermath(
    usable: Option<bool>,
    repeatable: Option<bool>,
) -> impl Iterator<Item = &'static str> {
    let usable = usable.map(|is| {
        if is { "the instance can still be used" } else { "the instance can no longer be used: delete it" }
    });
    let repeatable =
        repeatable.map(|is| if is { "the update may be tried again" } else { "do not try the update again" });
    usable.into_iter().chain(repeatable)
}

/// The broker as people write it.
pub(super) fn shown(broker: &Url) -> String {
    broker.as_str().trim_end_matches('/').to_owned()
}

/// The client's errors say what happened only in their sources, and repeat the URL in the outermost words.
fn chain(error: &reqwest::Error) -> String {
    let mut words = Vec::new();
    let mut next: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = next {
        words.push(error.to_string());
        next = error.source();
    }
    let inner = words.iter().skip(usize::from(words.len() > 1)).map(String::as_str);
    inner.collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn refused(status: u16, body: &Value) -> BrokerError {
        let broker = "http://127.0.0.1:1".parse().unwrap();
        let status = StatusCode::from_u16(status).unwrap();
        BrokerError::refused(&broker, status, body.to_string().as_bytes(), false, "2.17")
    }

    #[test]
    fn the_status_and_the_word_decide_what_follows() {
        for (status, code, exit, may_heal, fix) in [
            (400, "x", Exit::ERROR, false, "catalog --plan"),
            (401, "x", Exit::DENIED, false, "--broker-user"),
            (403, "x", Exit::DENIED, false, "broker.credentials"),
            (409, "x", Exit::CONFLICT, false, "another id"),
            (410, "x", Exit::ERROR, false, "gone"),
            (412, "x", Exit::ERROR, false, "version 2.17 of the API: choose another with --api-version"),
            (422, "ConcurrencyError", Exit::CONFLICT, false, "wait"),
            (422, "RequiresApp", Exit::ERROR, false, "application"),
            (500, "x", Exit::ERROR, true, "again later"),
            (503, "x", Exit::ERROR, true, "again later"),
        ] {
            let error = refused(status, &json!({"error": code, "description": "why"}));
            assert_eq!((error.exit(), error.may_heal()), (exit, may_heal), "{status} {code}");
            assert_eq!(error.to_string(), format!("{code}: why"));
            let more = error.more().unwrap();
            assert!(more.starts_with(&format!("status: {status}")) && more.contains(fix), "{more}");
        }
    }

    #[test]
    fn whatever_a_broker_says_is_one_printable_line() {
        for (body, expected) in [
            (json!({"description": "a\u{1b}[31m\nb"}), "a [31m b"),
            (json!({"error": "Odd"}), "Odd"),
            (json!({"title": "t", "detail": "of another door"}), "of another door"),
            (json!({"description": "first", "detail": "second"}), "first"),
            (
                json!({"error": "", "description": " "}),
                "the broker answered 400 Bad Request and did not say why",
            ),
            (json!([1]), "the broker answered 400 Bad Request and did not say why"),
            (json!({"description": 7}), "the broker answered 400 Bad Request and did not say why"),
        ] {
            assert_eq!(refused(400, &body).to_string(), expected, "{body}");
        }
        let endless = refused(400, &json!({"description": "x".repeat(100_000)})).to_string();
        assert_eq!(endless.len(), DESCRIPTION_CHARS_MAX);
    }

    #[test]
    fn a_failed_update_says_what_it_left() {
        let body = json!({"description": "no", "instance_usable": false, "update_repeatable": true});
        let more = refused(422, &body).more().unwrap();
        assert!(more.contains("no longer be used") && more.contains("tried again"), "{more}");
    }

    #[test]
    fn a_redirect_is_no_answer() {
        let strange = refused(302, &json!({})).to_string();
        assert_eq!(
            strange,
            "the broker at http://127.0.0.1:1 gave status 302 Found; is it a service broker?"
        );
    }
}
