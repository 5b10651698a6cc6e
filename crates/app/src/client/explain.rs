//! What an error of a call means on the command line: the exit code, the lines below the first, and the fix.

use api::client::{CallError, ErrorFormat, ErrorResponse, Proof, brief, printable};
use serde_json::Value;

use crate::exit::Exit;
use crate::hint;

/// The most errors that are listed at once.
const FIELDS_MAX: usize = 20;
const GIVE_TOKEN: &str =
    "give --token, set PROVISION_ENGINE_TOKEN, or name the server's --data-dir, which has one";

pub fn exit(error: &CallError) -> Exit {
    let CallError::Refused(error_response) = error else { return Exit::ERROR };
    match error_response.error.status.as_u16() {
        _ if error_response.has_begun => Exit::OPERATION_FAILED,
        401 | 403 => Exit::DENIED,
        409 | 423 => Exit::CONFLICT,
        422 if error_response.error.code == "ConcurrencyError" => Exit::CONFLICT,
        _ => Exit::ERROR,
    }
}

/// The lines below the first: details, the stable code and the fix.
pub fn more(error: &CallError) -> Option<String> {
    match error {
        CallError::Unreachable { api, .. } => Some(match api.format {
            ErrorFormat::Osb => format!(
                "is the broker running? `{}` knows about ours; `--broker-url URL` names another one",
                hint::command("status")
            ),
            _ => format!(
                "is the server running? `{}` knows; `--server URL` names another one",
                hint::command("status")
            ),
        }),
        CallError::Lost { api, .. } => {
            let how = match api.format {
                ErrorFormat::Problem => shown_by("operations list"),
                ErrorFormat::Osb => "ask again with the same id: nothing is done twice".to_owned(),
                ErrorFormat::Insights => shown_by("launches list"),
                ErrorFormat::Cognit => shown_by("serverless list"),
            };
            Some(format!("what was asked may have happened or not; {how}"))
        }
        CallError::Refused(error_response) => Some(lines(error_response).join("\n")),
        CallError::Unexpected { .. } | CallError::Unusable(_) => None,
    }
}

fn shown_by(command: &str) -> String {
    format!("`{}` shows it", hint::command(command))
}

fn lines(error_response: &ErrorResponse) -> Vec<String> {
    let error = &error_response.error;
    let code = printable(&error.code);
    let mut lines = match error_response.format {
        ErrorFormat::Problem => vec![printable(&error.detail), format!("code: {code}")],
        ErrorFormat::Osb => {
            let flag = |name: &str| error.more.get(name).and_then(Value::as_bool);
            let left = aftermath(flag("instance_usable"), flag("update_repeatable")).map(str::to_owned);
            std::iter::once(format!("status: {}", error.status)).chain(left).collect()
        }
        ErrorFormat::Insights => {
            let wrong = error.fields.iter().take(FIELDS_MAX).map(|wrong| {
                let hint = wrong.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
                brief(&format!("{}: {}{hint}", wrong.field, wrong.message))
            });
            let status = format!("status: {}, code: {code}", error.status.as_u16());
            wrong.chain(std::iter::once(status)).collect()
        }
        ErrorFormat::Cognit => vec![format!("status: {}", error.status.as_u16())],
    };
    lines.extend(error.request_id.as_ref().map(|id| format!("request: {}", printable(id))));
    let fix = match error_response.format {
        ErrorFormat::Problem => problem_fix(error_response),
        ErrorFormat::Osb => broker_fix(error_response),
        ErrorFormat::Insights => launch_fix(error_response).map(brief),
        ErrorFormat::Cognit => serverless_fix(error_response).map(str::to_owned),
    };
    lines.extend(fix.map(|fix| format!("fix: {}", hint::in_text(&fix))));
    lines
}

fn problem_fix(error_response: &ErrorResponse) -> Option<String> {
    if error_response.error.code == "unauthenticated" && error_response.proof == Proof::None {
        return Some(GIVE_TOKEN.to_owned());
    }
    error_response.error.known().and_then(|code| what_to_do(code.page()))
}

/// The first paragraph of the part of a page that says what to do, on one line.
fn what_to_do(page: &str) -> Option<String> {
    let (_, part) = page.split_once("## What to do")?;
    let paragraph = part.trim_start().split("\n\n").next()?;
    let line = paragraph.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then_some(line)
}

fn broker_fix(error_response: &ErrorResponse) -> Option<String> {
    let fix = match (error_response.error.status.as_u16(), error_response.error.code.as_ref()) {
        (401 | 403, _) if error_response.proof == Proof::Password => {
            "the broker does not take these credentials: check --broker-user and \
             PROVISION_ENGINE_BROKER_PASSWORD"
        }
        (401 | 403, _) => {
            "give --broker-user and set PROVISION_ENGINE_BROKER_PASSWORD, or name the server's --data-dir, \
             which has them in `broker.credentials`"
        }
        (400, _) => "`provision-engine catalog --plan NAME` lists what a plan takes",
        (404, _) => "check the id and the URL of the broker",
        (409, _) => "the id is taken by something different: choose another id, or ask for exactly the same",
        (410, _) => "it is gone; nothing is left to do",
        (412, _) => {
            return Some(format!(
                "the broker does not support version {} of the API: choose another with --api-version",
                error_response.api_version.as_deref().unwrap_or_default()
            ));
        }
        (422, "ConcurrencyError") => "something else is at work on it: wait, then ask again",
        (422, "RequiresApp") => "this binding is for an application, which only a platform has",
        (422, "MaintenanceInfoConflict") => "the catalog has changed meanwhile: ask again",
        (429 | 500..=599, _) => "the broker is failing: try again later, with the same id",
        _ => return None,
    };
    Some(fix.to_owned())
}

/// What a failed change left behind, in words.
pub fn aftermath(usable: Option<bool>, repeatable: Option<bool>) -> impl Iterator<Item = &'static str> {
    let usable = usable.map(|is| {
        if is { "the instance can still be used" } else { "the instance can no longer be used: delete it" }
    });
    let repeatable =
        repeatable.map(|is| if is { "the update may be tried again" } else { "do not try the update again" });
    usable.into_iter().chain(repeatable)
}

fn launch_fix(error_response: &ErrorResponse) -> Option<&str> {
    let hint = error_response.error.hint.as_deref();
    match (error_response.error.status.as_u16(), error_response.error.code.as_ref()) {
        (401, _) if error_response.proof == Proof::None => Some(GIVE_TOKEN),
        (_, "has_instances") => Some("give --terminate if they may be lost"),
        (_, "not_found") => hint.or(Some("check the id: the command `list` beside this one shows them")),
        _ => hint,
    }
}

fn serverless_fix(error_response: &ErrorResponse) -> Option<&'static str> {
    Some(match error_response.error.status.as_u16() {
        401 => {
            "OpenNebula does not take this user and password: check --user and --password-file, or the \
             file that ONE_AUTH names"
        }
        403 => "OpenNebula does not let this user do that: ask its administrator, or use other credentials",
        404 => "check the id: `provision-engine serverless list` shows what there is",
        422 if !error_response.has_begun && error_response.error.title.contains("flavours") => {
            "flavours are names of service templates: `oneflow-template list` shows them"
        }
        423 => "only what runs can be changed: wait with `provision-engine serverless show ID --wait`",
        429 | 502..=504 => "OpenNebula or the engine is failing: try again later",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use api::{Cognit, Error, Format, Insights, Osb, Problem};
    use reqwest::StatusCode;
    use serde_json::json;

    use super::*;

    fn refused(format: ErrorFormat, status: u16, body: &Value) -> CallError {
        let (status, body) = (StatusCode::from_u16(status).unwrap(), body.to_string());
        let body = body.as_bytes();
        let error = match format {
            ErrorFormat::Problem => Problem.read(status, body),
            ErrorFormat::Osb => Osb.read(status, body),
            ErrorFormat::Insights => Insights::default().read(status, body),
            ErrorFormat::Cognit => Cognit.read(status, body),
        };
        let (proof, api_version) = (Proof::None, Some("2.17".to_owned()));
        let error_response =
            ErrorResponse { error: error.unwrap(), format, proof, api_version, has_begun: false };
        CallError::Refused(Box::new(error_response))
    }

    fn problem(status: u16, code: &str) -> CallError {
        let body = json!({
            "type": "/errors/x", "title": "No", "status": status, "detail": "not this time", "code": code,
        });
        refused(ErrorFormat::Problem, status, &body)
    }

    fn launch(status: u16, more: &Value) -> CallError {
        let mut body = json!({
            "msg": "No", "trace_id": "t", "edge_id": "", "error": "region: no", "version": "",
            "build_time": "", "environment": "", "code": "invalid_request",
        });
        for (key, value) in more.as_object().unwrap() {
            body[key] = value.clone();
        }
        refused(ErrorFormat::Insights, status, &body)
    }

    #[test]
    fn the_status_decides_about_the_exit_code() {
        for (status, expected) in [
            (400, Exit::ERROR),
            (401, Exit::DENIED),
            (403, Exit::DENIED),
            (409, Exit::CONFLICT),
            (422, Exit::ERROR),
            (429, Exit::ERROR),
            (503, Exit::ERROR),
        ] {
            for error in [problem(status, "x"), launch(status, &json!({}))] {
                assert_eq!(exit(&error), expected, "{status}");
            }
        }
    }

    #[test]
    fn a_problem_says_its_code_and_how_to_mend_it() {
        let lines = more(&problem(401, "unauthenticated")).unwrap();
        assert!(lines.starts_with("not this time\ncode: unauthenticated\nfix: give --token"), "{lines}");
        let lines = more(&problem(409, "resource-busy")).unwrap();
        assert!(lines.contains("\nfix: "), "{lines}");
        let page = "# T\n\n## What to do\n\nWait a\nmoment.\n\nMore.\n";
        assert_eq!(what_to_do(page).as_deref(), Some("Wait a moment."));
        assert_eq!(what_to_do("# T"), None);
    }

    #[test]
    fn the_status_and_the_code_of_a_broker_decide_what_follows() {
        for (status, code, expected, fix) in [
            (400, "x", Exit::ERROR, "catalog --plan"),
            (401, "x", Exit::DENIED, "--broker-user"),
            (403, "x", Exit::DENIED, "broker.credentials"),
            (409, "x", Exit::CONFLICT, "another id"),
            (410, "x", Exit::ERROR, "gone"),
            (412, "x", Exit::ERROR, "version 2.17 of the API: choose another with --api-version"),
            (422, "ConcurrencyError", Exit::CONFLICT, "wait"),
            (422, "RequiresApp", Exit::ERROR, "application"),
            (500, "x", Exit::ERROR, "again later"),
            (503, "x", Exit::ERROR, "again later"),
        ] {
            let error = refused(ErrorFormat::Osb, status, &json!({"error": code, "description": "why"}));
            assert_eq!(exit(&error), expected, "{status} {code}");
            let lines = more(&error).unwrap();
            assert!(lines.starts_with(&format!("status: {status}")) && lines.contains(fix), "{lines}");
        }
        let body = json!({"description": "no", "instance_usable": false, "update_repeatable": true});
        let lines = more(&refused(ErrorFormat::Osb, 422, &body)).unwrap();
        assert!(lines.contains("no longer be used") && lines.contains("tried again"), "{lines}");
    }

    #[test]
    fn everything_that_is_wrong_with_a_launch_is_told_in_printable_lines() {
        let field_errors = json!([
            {"field": "region", "message": "is none\u{1b}[31m", "hint": "choose one"},
            {"field": "amount", "message": "must be 1 to 45"},
        ]);
        let lines = more(&launch(400, &json!({"flaws": field_errors, "hint": "choose one"}))).unwrap();
        let expected = "region: is none [31m (choose one)\namount: must be 1 to 45\n\
            status: 400, code: invalid_request\nrequest: t\nfix: choose one";
        assert_eq!(lines, expected);
        assert!(more(&launch(401, &json!({}))).unwrap().contains("fix: give --token"));
        let busy = more(&launch(409, &json!({"code": "has_instances", "hint": "add terminate=true"})));
        assert!(busy.unwrap().ends_with("fix: give --terminate if they may be lost"));
    }

    #[test]
    fn the_status_of_serverless_runtimes_decides_about_the_exit_code_and_the_fix() {
        for (status, expected, fix) in [
            (400, Exit::ERROR, ""),
            (401, Exit::DENIED, "--password-file"),
            (403, Exit::DENIED, "administrator"),
            (404, Exit::ERROR, "serverless list"),
            (422, Exit::ERROR, "oneflow-template"),
            (423, Exit::CONFLICT, "--wait"),
            (500, Exit::ERROR, ""),
            (503, Exit::ERROR, "later"),
            (504, Exit::ERROR, "later"),
        ] {
            let body = json!({"error": "the flavours", "message": "why"});
            let error = refused(ErrorFormat::Cognit, status, &body);
            assert_eq!(exit(&error), expected, "{status}");
            let lines = more(&error).unwrap();
            assert!(lines.starts_with(&format!("status: {status}")) && lines.contains(fix), "{lines}");
            assert_eq!(lines.contains("fix: "), !fix.is_empty(), "{lines}");
        }
        let failed = CallError::failed(ErrorFormat::Cognit, Error::of_status(StatusCode::CONFLICT, ""));
        assert_eq!(exit(&failed), Exit::OPERATION_FAILED);
    }
}
