//! External systems quote what they were sent when they refuse it. Secrets in it are removed before it is saved.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::prelude::*;
use serde_json::Value;

use super::reach::parameters;
use crate::model::params::ImageChoice;
use crate::workflows::launch::Launch;

const MASK: &str = "<secret>";
/// Shorter texts are too common to be a secret, and masking them would make every message unreadable.
const CHARS_MIN: usize = 4;
/// It is unknown which word of a text is the secret; those of this length are all taken for one.
const WORD_CHARS_MIN: usize = 6;
/// So much of an encoded text is enough to tell that it is quoted.
const ENCODED_CHARS: usize = 24;
/// The members of a build request that are credentials.
const SECRET_MEMBERS: [&str; 3] = ["password", "activation-key", "activation_key"];

/// The text without what this launch keeps secret. What cannot be opened cannot have been sent.
pub(crate) fn masked(op: &Operation<Launch>, text: &str) -> String {
    secrets(op).iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), MASK))
}

/// The longest first, so that none is cut by another.
fn secrets(op: &Operation<Launch>) -> Vec<String> {
    let mut all = Vec::new();
    let sealed = parameters(op).ok().and_then(|parameters| parameters.user_data.as_ref());
    if let Some(text) = sealed.and_then(|sealed| op.open(sealed).ok()) {
        all.extend(of_user_data(text.expose_secret()));
    }
    if let ImageChoice::Build(build) = &op.params.image
        && let Ok(text) = op.open(&build.request)
        && let Ok(request) = serde_json::from_str(text.expose_secret())
    {
        of_request(&request, false, &mut all);
    }
    all.retain(|secret| secret.chars().count() >= CHARS_MIN);
    all.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    all
}

/// Line by line, because messages are put into one line; word by word, because a message may quote one of them; and as
/// it is sent.
fn of_user_data(text: &str) -> Vec<String> {
    let encoded = STANDARD.encode(text);
    let lines = text.lines().flat_map(|line| [line.trim().to_owned(), one_line(line)]);
    let words = text.split(|c: char| c.is_whitespace() || "=:\"',;()[]{}<>".contains(c));
    let words = words.filter(|word| word.chars().count() >= WORD_CHARS_MIN).map(str::to_owned);
    lines.chain(words).chain([encoded.chars().take(ENCODED_CHARS).collect(), encoded.clone()]).collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn of_request(value: &Value, is_secret: bool, all: &mut Vec<String>) {
    match value {
        Value::String(text) if is_secret => all.extend([text.clone(), one_line(text)]),
        Value::Array(items) => items.iter().for_each(|item| of_request(item, is_secret, all)),
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            of_request(value, is_secret || SECRET_MEMBERS.contains(&name.as_str()), all);
        }),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_found_at_any_depth_and_packages_are_not() {
        let request = serde_json::json!({"customizations": {
            "packages": ["nginx"],
            "users": [{"name": "ann", "password": "hunter2"}],
            "subscription": {"activation-key": "abc-def", "organization": 7},
        }});
        let mut all = Vec::new();
        of_request(&request, false, &mut all);
        all.dedup();
        all.sort();
        assert_eq!(all, ["abc-def", "hunter2"]);
    }

    #[test]
    fn every_line_of_user_data_is_known_also_as_it_is_sent() {
        let known = of_user_data("#!/bin/sh\n  echo   hunter2\n");
        for part in
            ["echo   hunter2", "echo hunter2", "hunter2", &STANDARD.encode("#!/bin/sh\n  echo   hunter2\n")]
        {
            assert!(known.iter().any(|one| one == part), "{part}: {known:?}");
        }
    }
}
