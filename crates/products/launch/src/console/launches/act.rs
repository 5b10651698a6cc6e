//! Actions on a launch: cancel, retry, clean up, leave, terminate.

use axum::extract::Path;
use axum::response::Response;
use serde_json::json;

use super::super::LAUNCH;
use console::{Fields, Flash, SignedIn, confirm, path};

struct LaunchAction {
    verb: &'static str,
    done: &'static str,
    /// What is asked before something is lost, and the word that says yes.
    question: Option<(&'static str, &'static str)>,
}

fn action(verb: &str) -> Option<LaunchAction> {
    let action = |verb, done| LaunchAction { verb, done, question: None };
    let harm = |verb, done, question, yes| LaunchAction { verb, done, question: Some((question, yes)) };
    Some(match verb {
        "cancel" => harm(
            "cancel",
            "Cancel requested. What it created is undone.",
            "Cancel this launch? What it created is undone.",
            "Cancel the launch",
        ),
        "terminate" => harm(
            "terminate",
            "The instances are being terminated.",
            "Terminate all instances of this launch? What is on them is lost.",
            "Terminate",
        ),
        "retry" => action("retry", "Retry started."),
        "cleanup" => action("cleanup", "Clean-up started."),
        "detach" => action("detach", "You left the launch."),
        _ => return None,
    })
}

pub(super) async fn act(
    signed_in: SignedIn,
    Path((id, verb)): Path<(String, String)>,
    fields: Fields,
) -> Response {
    let Some(action) = action(&verb) else {
        return console::PageError::missing("page at this address").page(&signed_in);
    };
    let back = format!("/console/launches/{}", path::part(&id));
    if let Some((question, yes)) = action.question
        && !confirm::is_confirmed(&fields)
    {
        return confirm::page(&signed_in, &super::SECTION, question, yes, &back, &fields);
    }
    let terminates = verb == "cancel" && fields.text("terminate") == "yes";
    let query = if terminates { "?terminate=true" } else { "" };
    let path = format!("{LAUNCH}/launches/{}/{}{query}", path::part(&id), action.verb);
    match signed_in.api.post(&path, &json!({})).await {
        // A page of a launch that is over would remove it at once.
        Ok(_) if ["terminate", "cleanup"].contains(&action.verb) => Flash::good(action.done).at(&back),
        Ok(_) => Flash::good(action.done).while_running().at(&back),
        Err(page_error) if verb == "cancel" && !terminates => {
            let line = "It has instances already: say also that they may be terminated.";
            let is_that = page_error.hint.as_deref().is_some_and(|hint| hint.contains("terminate=true"));
            Flash::bad(if is_that { line.to_owned() } else { page_error.line() }).at(&back)
        }
        Err(page_error) => Flash::bad(page_error.line()).at(&back),
    }
}
