//! Why the door gave no good answer, and what to do about it.

use doors::launch::wire;
use reqwest::{StatusCode, Url};

use crate::exit::Exit;
use crate::output::printable;

/// Nobody reads more of a refusal than this.
const TEXT_CHARS_MAX: usize = 2_000;
/// Nor more things that are wrong at once.
const FLAWS_MAX: usize = 20;

#[derive(Debug, thiserror::Error)]
pub(crate) enum LaunchingError {
    /// Nothing was asked: nobody listens there.
    #[error("cannot reach {server}: {cause}")]
    Unreachable { server: String, cause: String },
    /// It may have been done or not.
    #[error("the answer of {server} was lost: {cause}")]
    Lost { server: String, cause: String },
    #[error("{}", .0.cause)]
    Refused(Box<Refusal>),
    #[error("{server} gave {what}; does it offer launches? Its setting launch.enabled says so")]
    Strange { server: String, what: String },
    #[error("{0}")]
    Unusable(String),
}

/// What the door said.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: u16,
    cause: String,
    code: String,
    hint: Option<String>,
    trace: String,
    flaws: Vec<String>,
    had_token: bool,
}

impl LaunchingError {
    pub(super) fn lost(server: &Url, error: reqwest::Error) -> LaunchingError {
        let (server, is_connect) = (shown(server), error.is_connect());
        // The outermost words say that a request was sent, which everybody knows.
        let text = format!("{:#}", anyhow::Error::new(error.without_url()));
        let cause = text.strip_prefix("error sending request: ").unwrap_or(&text).to_owned();
        if is_connect {
            LaunchingError::Unreachable { server, cause }
        } else {
            LaunchingError::Lost { server, cause }
        }
    }

    pub(super) fn strange(server: &Url, what: impl Into<String>) -> LaunchingError {
        LaunchingError::Strange { server: shown(server), what: what.into() }
    }

    pub(super) fn refused(server: &Url, status: StatusCode, body: &[u8], had_token: bool) -> LaunchingError {
        let is_refusal = status.is_client_error() || status.is_server_error();
        match serde_json::from_slice::<wire::Error>(body) {
            Ok(body) if is_refusal => {
                LaunchingError::Refused(Box::new(Refusal::new(status.as_u16(), &body, had_token)))
            }
            // A proxy on the way answers in its own words; what it means is in the status.
            _ if status.is_server_error() => {
                LaunchingError::Lost { server: shown(server), cause: format!("status {status}") }
            }
            _ => LaunchingError::strange(server, format!("status {status}")),
        }
    }

    /// Whether asking for the same a moment later may have a good answer.
    pub(crate) fn may_heal(&self) -> bool {
        match self {
            LaunchingError::Unreachable { .. } | LaunchingError::Lost { .. } => true,
            LaunchingError::Refused(refusal) => matches!(refusal.status, 408 | 429 | 502..=504),
            LaunchingError::Strange { .. } | LaunchingError::Unusable(_) => false,
        }
    }

    /// Whether what was asked for may be under way although no good answer came.
    pub(crate) fn is_open(&self) -> bool {
        match self {
            LaunchingError::Lost { .. } => true,
            LaunchingError::Refused(refusal) => matches!(refusal.status, 500 | 504),
            _ => false,
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            LaunchingError::Refused(refusal) => match refusal.status {
                401 | 403 => Exit::DENIED,
                409 => Exit::CONFLICT,
                _ => Exit::ERROR,
            },
            _ => Exit::ERROR,
        }
    }

    /// The lines below the first: everything that is wrong, the stable code and the fix.
    pub(crate) fn more(&self) -> Option<String> {
        match self {
            LaunchingError::Unreachable { .. } => Some(
                "is the server running? `provision-engine status` knows; `--server URL` names another one"
                    .into(),
            ),
            LaunchingError::Lost { .. } => Some(
                "what was asked may have happened or not; `provision-engine launches list` shows it".into(),
            ),
            LaunchingError::Refused(refusal) => Some(refusal.lines()),
            LaunchingError::Strange { .. } | LaunchingError::Unusable(_) => None,
        }
    }
}

impl Refusal {
    fn new(status: u16, body: &wire::Error, had_token: bool) -> Refusal {
        let flaw = |flaw: &wire::Flaw| {
            let hint = flaw.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
            brief(&format!("{}: {}{hint}", flaw.field, flaw.message))
        };
        let flaws = body.flaws.iter().flatten().take(FLAWS_MAX).map(flaw);
        let cause = if body.error.is_empty() { &body.msg } else { &body.error };
        Refusal {
            status,
            cause: brief(cause),
            code: brief(&body.code),
            hint: body.hint.as_deref().map(brief),
            trace: brief(&body.trace_id),
            flaws: flaws.collect(),
            had_token,
        }
    }

    fn lines(&self) -> String {
        let mut lines = self.flaws.clone();
        lines.push(format!("status: {}, code: {}", self.status, self.code));
        if !self.trace.is_empty() {
            lines.push(format!("request: {}", self.trace));
        }
        lines.extend(self.fix().map(|fix| format!("fix: {fix}")));
        lines.join("\n")
    }

    fn fix(&self) -> Option<&str> {
        if self.status == 401 && !self.had_token {
            return Some(
                "give --token, set PROVISION_ENGINE_TOKEN, or name the server's --data-dir, which has one",
            );
        }
        match self.code.as_str() {
            "has_instances" => Some("give --terminate if they may be lost"),
            "not_found" if self.hint.is_none() => {
                Some("check the id: the command `list` beside this one shows them")
            }
            _ => self.hint.as_deref(),
        }
    }
}

fn brief(text: &str) -> String {
    printable(text).chars().take(TEXT_CHARS_MAX).collect()
}

/// The server as people write it.
fn shown(server: &Url) -> String {
    server.as_str().trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn refused(status: u16, more: &Value) -> LaunchingError {
        let mut body = json!({
            "msg": "No", "trace_id": "t", "edge_id": "", "error": "region: no\u{1b}[31m", "version": "",
            "build_time": "", "environment": "", "code": "invalid_request",
        });
        for (key, value) in more.as_object().unwrap() {
            body[key] = value.clone();
        }
        let server = "http://127.0.0.1:1".parse().unwrap();
        LaunchingError::refused(
            &server,
            StatusCode::from_u16(status).unwrap(),
            body.to_string().as_bytes(),
            false,
        )
    }

    #[test]
    fn the_status_decides_about_the_exit_code_and_about_a_second_try() {
        for (status, exit, may_heal, is_open) in [
            (400, Exit::ERROR, false, false),
            (401, Exit::DENIED, false, false),
            (403, Exit::DENIED, false, false),
            (409, Exit::CONFLICT, false, false),
            (422, Exit::ERROR, false, false),
            (429, Exit::ERROR, true, false),
            (503, Exit::ERROR, true, false),
            (504, Exit::ERROR, true, true),
        ] {
            let error = refused(status, &json!({}));
            assert_eq!(
                (error.exit(), error.may_heal(), error.is_open()),
                (exit, may_heal, is_open),
                "{status}"
            );
        }
    }

    #[test]
    fn everything_that_is_wrong_is_told_in_printable_lines() {
        let flaws = json!([
            {"field": "region", "message": "is none", "hint": "choose one"},
            {"field": "amount", "message": "must be 1 to 45"},
        ]);
        let error = refused(400, &json!({"flaws": flaws, "hint": "choose one"}));
        assert_eq!(error.to_string(), "region: no [31m");
        let more = error.more().unwrap();
        let expected = "region: is none (choose one)\namount: must be 1 to 45\n\
            status: 400, code: invalid_request\nrequest: t\nfix: choose one";
        assert_eq!(more, expected);
        assert!(refused(401, &json!({})).more().unwrap().contains("fix: give --token"));
        let busy = refused(409, &json!({"code": "has_instances", "hint": "add terminate=true"}));
        assert!(busy.more().unwrap().ends_with("fix: give --terminate if they may be lost"));
    }

    #[test]
    fn who_does_not_speak_as_the_door_does_is_somebody_else() {
        let server = "http://h".parse().unwrap();
        let missing = LaunchingError::refused(&server, StatusCode::NOT_FOUND, b"<html>", true);
        assert!(missing.to_string().contains("launch.enabled") && !missing.may_heal());
        assert!(LaunchingError::refused(&server, StatusCode::BAD_GATEWAY, b"<html>", true).may_heal());
    }
}
