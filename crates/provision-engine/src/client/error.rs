//! Why a call to the server had no good answer, and what to do about it.

use doors::wire::Problem;
use reqwest::{StatusCode, Url};

use crate::exit::Exit;
use crate::output::printable;

#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// Nothing was asked: nobody listens there.
    #[error("cannot reach {server}: {cause}")]
    Unreachable { server: String, cause: String },
    /// It may have been done or not.
    #[error("the answer of {server} was lost: {cause}")]
    Lost { server: String, cause: String },
    #[error("{}", printable(&.0.problem.title))]
    Refused(Box<Refusal>),
    #[error("{server} gave {what}; is it a provision-engine?")]
    Strange { server: String, what: String },
    #[error("{0}")]
    Unusable(String),
}

#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) problem: Problem,
    had_token: bool,
}

impl CallError {
    pub(super) fn lost(server: &Url, error: &reqwest::Error) -> CallError {
        let (server, cause) = (shown(server), chain(error));
        if error.is_connect() {
            CallError::Unreachable { server, cause }
        } else {
            CallError::Lost { server, cause }
        }
    }

    pub(super) fn refused(server: &Url, status: StatusCode, body: &[u8], had_token: bool) -> CallError {
        match serde_json::from_slice::<Problem>(body) {
            Ok(problem) => CallError::Refused(Box::new(Refusal { problem, had_token })),
            // A proxy on the way answers in its own words; what it means is in the status.
            Err(_) if status.is_server_error() => {
                CallError::Lost { server: shown(server), cause: format!("status {status}") }
            }
            Err(_) => CallError::Strange { server: shown(server), what: format!("status {status}") },
        }
    }

    /// Whether the same call may have a good answer a moment later.
    pub(crate) fn may_heal(&self) -> bool {
        match self {
            CallError::Unreachable { .. } | CallError::Lost { .. } => true,
            CallError::Refused(refusal) => matches!(refusal.problem.status, 429 | 502..=504),
            CallError::Strange { .. } | CallError::Unusable(_) => false,
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            CallError::Refused(refusal) => match refusal.problem.status {
                401 | 403 => Exit::DENIED,
                409 => Exit::CONFLICT,
                _ => Exit::ERROR,
            },
            _ => Exit::ERROR,
        }
    }

    /// The lines below the first: details, the stable code and the fix.
    pub(crate) fn more(&self) -> Option<String> {
        match self {
            CallError::Unreachable { .. } => Some(
                "is the server running? `provision-engine status` knows; `--server URL` names another one"
                    .into(),
            ),
            CallError::Lost { .. } => Some(
                "what was asked may have happened or not; `provision-engine operations list` shows it".into(),
            ),
            CallError::Refused(refusal) => Some(refusal.lines()),
            CallError::Strange { .. } | CallError::Unusable(_) => None,
        }
    }
}

impl Refusal {
    fn lines(&self) -> String {
        let Problem { detail, code, instance, .. } = &self.problem;
        let mut lines = vec![printable(detail), format!("code: {}", printable(code))];
        if let Some(request) = instance {
            lines.push(format!("request: {}", printable(request)));
        }
        if let Some(fix) = self.fix() {
            lines.push(format!("fix: {fix}"));
        }
        lines.join("\n")
    }

    fn fix(&self) -> Option<String> {
        if self.problem.code == "unauthenticated" && !self.had_token {
            return Some(
                "give --token, set PROVISION_ENGINE_TOKEN, or name the server's --data-dir, which has one"
                    .into(),
            );
        }
        doors::Code::named(&self.problem.code).and_then(|code| what_to_do(code.page()))
    }
}

/// The server as people write it.
pub(super) fn shown(server: &Url) -> String {
    server.as_str().trim_end_matches('/').to_owned()
}

/// The first paragraph of the part of a page that says what to do, on one line.
fn what_to_do(page: &str) -> Option<String> {
    let (_, part) = page.split_once("## What to do")?;
    let paragraph = part.trim_start().split("\n\n").next()?;
    let line = paragraph.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then_some(line)
}

/// The client's errors say what happened only in their sources.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let words = error.to_string();
        // The outermost words repeat the URL, which is said already.
        if !words.starts_with("error sending request") {
            text.push_str(if text.is_empty() { "" } else { ": " });
            text.push_str(&words);
        }
        next = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, code: &str) -> CallError {
        let body = serde_json::json!({
            "type": "/errors/x", "title": "No", "status": status, "detail": "not this time", "code": code,
        });
        let server = "http://127.0.0.1:1".parse().unwrap();
        let status = StatusCode::from_u16(status).unwrap();
        CallError::refused(&server, status, body.to_string().as_bytes(), false)
    }

    #[test]
    fn the_status_decides_about_the_exit_code_and_about_a_second_try() {
        for (status, exit, may_heal) in [
            (401, Exit::DENIED, false),
            (403, Exit::DENIED, false),
            (409, Exit::CONFLICT, false),
            (422, Exit::ERROR, false),
            (503, Exit::ERROR, true),
            (504, Exit::ERROR, true),
        ] {
            let error = refused(status, "x");
            assert_eq!((error.exit(), error.may_heal()), (exit, may_heal), "{status}");
        }
    }

    #[test]
    fn a_refusal_says_its_code_and_how_to_mend_it() {
        let more = refused(401, "unauthenticated").more().unwrap();
        assert!(more.starts_with("not this time\ncode: unauthenticated\nfix: give --token"), "{more}");
        let more = refused(409, "resource-busy").more().unwrap();
        assert!(more.contains("\nfix: "), "{more}");
    }

    #[test]
    fn the_fix_is_one_line() {
        let page = "# T\n\n## What to do\n\nWait a\nmoment.\n\nMore.\n";
        assert_eq!(what_to_do(page).as_deref(), Some("Wait a moment."));
        assert_eq!(what_to_do("# T"), None);
    }

    #[test]
    fn a_proxy_in_the_way_is_not_the_server_but_may_heal() {
        let server = "http://h".parse().unwrap();
        assert!(CallError::refused(&server, StatusCode::BAD_GATEWAY, b"<html>", true).may_heal());
        assert!(!CallError::refused(&server, StatusCode::NOT_FOUND, b"<html>", true).may_heal());
    }
}
