//! How a launch ended: the instances and how to log in, or what went wrong and what to do.

use anyhow::Result;

use super::show::instances;
use crate::client::LaunchDetails;
use app::cli::Global;
use app::exit::Exit;
use app::hint;
use app::output::{self, Format, note, printable};

/// Prints the end of a launch. Only a launch that has what was asked for is a good one.
pub(crate) fn conclude(global: &Global, launch: &LaunchDetails) -> Result<Exit> {
    print_for_scripts(global, launch)?;
    if matches!(global.output, Format::Table | Format::Wide) && !launch.instances.is_empty() {
        let mut parts = vec![instances(launch).to_text()];
        let logins: Vec<String> = launch.logins().collect();
        parts.extend((!logins.is_empty()).then(|| logins.join("\n")));
        output::data(&parts.join("\n\n"))?;
    }
    lines(launch).iter().for_each(note);
    Ok(if launch.has_succeeded() { Exit::GOOD } else { Exit::OPERATION_FAILED })
}

/// What scripts see of it. People are told in other ways.
pub(crate) fn print_for_scripts(global: &Global, launch: &LaunchDetails) -> Result<()> {
    match global.output {
        Format::Json | Format::Yaml => output::print_value(global.output, launch),
        Format::Table | Format::Wide | Format::Name => Ok(()),
    }
}

/// What people should know, and what they can do.
fn lines(launch: &LaunchDetails) -> Vec<String> {
    let id = launch.id;
    let mut lines = vec![format!("launch {id}: {}", printable(&launch.state.replace('_', " ")))];
    lines.extend(launch.warnings.iter().map(|warning| format!("warning: {}", printable(warning))));
    if let Some(error) = launch.error.as_ref().filter(|_| !launch.has_succeeded()) {
        lines.push(format!("error: {}", printable(&error.message)));
        lines.extend(error.hint.as_deref().map(|hint| format!("fix: {}", printable(hint))));
    }
    for left in &launch.leftovers {
        let (kind, name) = (printable(&left.kind.replace('_', " ")), printable(&left.id));
        lines.push(format!("left over: {kind} {name}: {}", printable(&left.note)));
    }
    match launch.state.as_str() {
        "failed_dirty" => {
            let again = hint::command(&format!("launches cleanup {id} --wait"));
            lines.push(format!("try again to clean up: {again}"));
        }
        "failed" if launch.error.as_ref().is_some_and(|error| error.retryable) => {
            let again = hint::command(&format!("launches retry {id} --wait"));
            lines.push(format!("it may succeed later: {again}"));
        }
        _ => {}
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::client::launch_with;

    #[test]
    fn a_bad_end_says_what_is_left_and_what_to_do() {
        let dirty = launch_with(&json!({
            "state": "failed_dirty",
            "error": {"message": "no\ncapacity", "hint": "ask for fewer", "retryable": true},
            "leftovers": [{"kind": "key_pair", "id": "key-1", "note": "the account denies it"}],
        }));
        let text = lines(&dirty).join("\n");
        for part in [
            "failed dirty",
            "error: no capacity",
            "fix: ask for fewer",
            "left over: key pair key-1: the account denies it",
            "launches cleanup 00000000-",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let failed = launch_with(&json!({"state": "failed", "error": {"message": "m", "retryable": true}}));
        assert!(lines(&failed).join("\n").contains("launches retry"));
    }

    #[test]
    fn a_good_end_tells_its_warnings_and_no_error() {
        let good = launch_with(&json!({
            "state": "succeeded_with_warnings", "warnings": ["no address"], "error": {"message": "old"},
        }));
        let text = lines(&good).join("\n");
        assert!(text.contains("succeeded with warnings") && text.contains("warning: no address"), "{text}");
        assert!(!text.contains("old"), "{text}");
    }
}
