//! What somebody asks of a launch: cancel, retry, clean up, leave, terminate.

use axum::extract::Path;
use axum::response::Response;
use serde_json::json;

use super::super::LAUNCH;
use console::{Fields, Flash, Visitor, confirm, path};

struct Wish {
    verb: &'static str,
    done: &'static str,
    /// What is asked before something is lost, and the word that says yes.
    question: Option<(&'static str, &'static str)>,
}

fn wish(verb: &str) -> Option<Wish> {
    let wish = |verb, done| Wish { verb, done, question: None };
    let harm = |verb, done, question, yes| Wish { verb, done, question: Some((question, yes)) };
    Some(match verb {
        "cancel" => harm(
            "cancel",
            "It is being cancelled. What it made is taken back.",
            "Cancel this launch? What it made is taken back.",
            "Cancel the launch",
        ),
        "terminate" => harm(
            "terminate",
            "The machines are being terminated.",
            "Terminate all machines of this launch? What is on them is lost.",
            "Terminate",
        ),
        "retry" => wish("retry", "It begins again."),
        "cleanup" => wish("cleanup", "What is left over is being taken back."),
        "detach" => wish("detach", "You have left it."),
        _ => return None,
    })
}

pub(super) async fn act(
    visitor: Visitor,
    Path((id, verb)): Path<(String, String)>,
    fields: Fields,
) -> Response {
    let Some(wish) = wish(&verb) else {
        return console::Trouble::missing("page at this address").page(&visitor);
    };
    let back = format!("/console/launches/{}", path::part(&id));
    if let Some((question, yes)) = wish.question
        && !confirm::is_confirmed(&fields)
    {
        return confirm::page(&visitor, &super::SECTION, question, yes, &back, &fields);
    }
    let terminates = verb == "cancel" && fields.text("terminate") == "yes";
    let query = if terminates { "?terminate=true" } else { "" };
    let path = format!("{LAUNCH}/launches/{}/{}{query}", path::part(&id), wish.verb);
    match visitor.api.post(&path, &json!({})).await {
        Ok(_) => Flash::good(wish.done).at(&back),
        Err(trouble) if verb == "cancel" && !terminates => {
            let line = "It has machines already: say also that they may be terminated.";
            let is_that = trouble.hint.as_deref().is_some_and(|hint| hint.contains("terminate=true"));
            Flash::bad(if is_that { line.to_owned() } else { trouble.line() }).at(&back)
        }
        Err(trouble) => Flash::bad(trouble.line()).at(&back),
    }
}
