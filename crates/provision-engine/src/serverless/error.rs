//! Why the door gave no good answer, and what to do about it.

use doors::serverless::wire;
use reqwest::{StatusCode, Url};
use serde_json::Value;

use crate::exit::Exit;
use crate::output::printable;

/// Nobody reads more of a refusal than this.
const TEXT_CHARS_MAX: usize = 2_000;

#[derive(Debug, thiserror::Error)]
pub(crate) enum DoorError {
    /// Nothing was asked: nobody listens there.
    #[error("cannot reach {server}: {cause}")]
    Unreachable { server: String, cause: String },
    /// It may have been done or not.
    #[error("the answer of {server} was lost: {cause}")]
    Lost { server: String, cause: String },
    #[error("{}", .0.title())]
    Refused(Box<Refusal>),
    #[error(
        "{server} gave {what}; does it offer serverless runtimes? Its setting serverless.enabled says so"
    )]
    Strange { server: String, what: String },
    #[error("{0}")]
    Unusable(String),
}

/// What the door said.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: u16,
    error: String,
    message: String,
    /// It was begun, and failed on the way.
    was_begun: bool,
}

impl DoorError {
    pub(super) fn lost(server: &Url, error: reqwest::Error) -> DoorError {
        let (server, is_connect) = (shown(server), error.is_connect());
        // The outermost words say that a request was sent, which everybody knows.
        let text = format!("{:#}", anyhow::Error::new(error.without_url()));
        let cause = text.strip_prefix("error sending request: ").unwrap_or(&text).to_owned();
        if is_connect { DoorError::Unreachable { server, cause } } else { DoorError::Lost { server, cause } }
    }

    pub(super) fn strange(server: &Url, what: impl Into<String>) -> DoorError {
        DoorError::Strange { server: shown(server), what: what.into() }
    }

    pub(super) fn refused(server: &Url, status: StatusCode, body: &[u8]) -> DoorError {
        match serde_json::from_slice::<wire::Error>(body) {
            Ok(body) if status.is_client_error() || status.is_server_error() => {
                DoorError::Refused(Box::new(Refusal::new(status.as_u16(), &body, false)))
            }
            // A proxy on the way answers in its own words; what it means is in the status.
            _ if status.is_server_error() => {
                DoorError::Lost { server: shown(server), cause: format!("status {status}") }
            }
            _ => DoorError::strange(server, format!("status {status}")),
        }
    }

    /// What an operation failed with.
    pub(crate) fn failed(operation: &wire::Operation) -> DoorError {
        let unexplained = || wire::Error {
            error: format!("operation {} failed and did not say why", operation.id),
            message: Value::Null,
        };
        let body = operation.refusal.clone().unwrap_or_else(unexplained);
        DoorError::Refused(Box::new(Refusal::new(operation.status.unwrap_or(500), &body, true)))
    }

    pub(crate) fn status(&self) -> Option<u16> {
        match self {
            DoorError::Refused(refusal) => Some(refusal.status),
            _ => None,
        }
    }

    /// Whether asking for the same a moment later may have a good answer.
    pub(crate) fn may_heal(&self) -> bool {
        match self {
            DoorError::Unreachable { .. } | DoorError::Lost { .. } => true,
            DoorError::Refused(refusal) => {
                !refusal.was_begun && matches!(refusal.status, 408 | 429 | 502..=504)
            }
            DoorError::Strange { .. } | DoorError::Unusable(_) => false,
        }
    }

    /// Whether what was asked for may be under way although no good answer came.
    pub(crate) fn is_open(&self) -> bool {
        !matches!(self, DoorError::Unreachable { .. }) && self.may_heal()
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            DoorError::Refused(refusal) if refusal.was_begun => Exit::OPERATION_FAILED,
            DoorError::Refused(refusal) => match refusal.status {
                401 | 403 => Exit::DENIED,
                409 | 423 => Exit::CONFLICT,
                _ => Exit::ERROR,
            },
            _ => Exit::ERROR,
        }
    }

    /// The lines below the first: the status and the fix.
    pub(crate) fn more(&self) -> Option<String> {
        match self {
            DoorError::Unreachable { .. } => Some(
                "is the server running? `provision-engine status` knows; `--server URL` names another one"
                    .into(),
            ),
            DoorError::Lost { .. } => Some(
                "what was asked may have happened or not; `provision-engine serverless list` shows it".into(),
            ),
            DoorError::Refused(refusal) => Some(refusal.lines()),
            DoorError::Strange { .. } | DoorError::Unusable(_) => None,
        }
    }
}

impl Refusal {
    fn new(status: u16, body: &wire::Error, was_begun: bool) -> Refusal {
        let brief = |text: &str| printable(text).chars().take(TEXT_CHARS_MAX).collect::<String>();
        let message = match &body.message {
            Value::Null => String::new(),
            Value::String(text) => brief(text),
            other => brief(&other.to_string()),
        };
        Refusal { status, error: brief(&body.error), message, was_begun }
    }

    fn title(&self) -> String {
        let Refusal { error, message, .. } = self;
        if message.is_empty() { error.clone() } else { format!("{error}: {message}") }
    }

    fn lines(&self) -> String {
        let mut lines = vec![format!("status: {}", self.status)];
        lines.extend(self.fix().map(|fix| format!("fix: {fix}")));
        lines.join("\n")
    }

    fn fix(&self) -> Option<&'static str> {
        Some(match self.status {
            401 => {
                "OpenNebula does not take this user and password: check --user and --password-file, or the \
                 file that ONE_AUTH names"
            }
            403 => "OpenNebula does not let this user do that: ask its administrator, or be somebody else",
            404 => "check the id: `provision-engine serverless list` shows what there is",
            422 if !self.was_begun && self.error.contains("flavours") => {
                "flavours are names of service templates: `oneflow-template list` shows them"
            }
            423 => "only what runs can be changed: wait with `provision-engine serverless show ID --wait`",
            429 | 502..=504 => "OpenNebula or the engine is in trouble: ask again later",
            _ => return None,
        })
    }
}

/// The server as people write it.
fn shown(server: &Url) -> String {
    server.as_str().trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(status: u16, body: &Value) -> DoorError {
        let server = "http://127.0.0.1:1".parse().unwrap();
        DoorError::refused(&server, StatusCode::from_u16(status).unwrap(), body.to_string().as_bytes())
    }

    #[test]
    fn the_status_decides_about_the_exit_code_a_second_try_and_the_fix() {
        for (status, exit, may_heal, fix) in [
            (400, Exit::ERROR, false, ""),
            (401, Exit::DENIED, false, "--password-file"),
            (403, Exit::DENIED, false, "administrator"),
            (404, Exit::ERROR, false, "serverless list"),
            (422, Exit::ERROR, false, "oneflow-template"),
            (423, Exit::CONFLICT, false, "--wait"),
            (500, Exit::ERROR, false, ""),
            (503, Exit::ERROR, true, "later"),
            (504, Exit::ERROR, true, "later"),
        ] {
            let error = refused(status, &json!({"error": "the flavours", "message": "why"}));
            assert_eq!((error.exit(), error.may_heal()), (exit, may_heal), "{status}");
            assert_eq!(error.to_string(), "the flavours: why");
            let more = error.more().unwrap();
            let has_fix = more.contains("fix: ");
            assert!(more.starts_with(&format!("status: {status}")) && more.contains(fix), "{more}");
            assert_eq!(has_fix, !fix.is_empty(), "{more}");
        }
    }

    #[test]
    fn what_failed_on_the_way_is_told_apart_from_what_was_never_begun() {
        let operation = json!({
            "ID": "00000000-0000-4000-8000-000000000001", "ACTION": "create", "STATE": "FAILED",
            "STATUS": 504, "REFUSAL": {"error": "too slow", "message": ""},
        });
        let error = DoorError::failed(&serde_json::from_value(operation).unwrap());
        assert_eq!((error.exit(), error.may_heal()), (Exit::OPERATION_FAILED, false));
        assert_eq!(error.to_string(), "too slow");
    }

    #[test]
    fn whatever_the_door_says_is_one_printable_line() {
        let told = |message: Value| refused(400, &json!({"error": "no\u{1b}[31m", "message": message}));
        assert_eq!(told(json!("a\nb")).to_string(), "no [31m: a b");
        assert_eq!(told(json!([{"k": 1}])).to_string(), r#"no [31m: [{"k":1}]"#);
        assert_eq!(told(Value::Null).to_string(), "no [31m");
        assert!(told(json!("x".repeat(100_000))).to_string().len() < 2 * TEXT_CHARS_MAX);
    }

    #[test]
    fn who_does_not_speak_as_the_door_does_is_somebody_else() {
        let problem = json!({"title": "Not found", "status": 404, "code": "not-found"});
        assert!(matches!(refused(404, &problem), DoorError::Strange { .. }));
        assert!(refused(404, &problem).to_string().contains("serverless.enabled"));
        assert!(matches!(refused(302, &json!({"error": "e", "message": ""})), DoorError::Strange { .. }));
        assert!(refused(502, &problem).may_heal());
    }
}
