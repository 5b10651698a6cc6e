//! Plain words: no coined word in a name, one type for a name, and subjects that exist.
#![expect(clippy::unwrap_used, reason = "a test may fail wherever it stands")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::{check, declared, files, root};

/// Words that were coined here. Each has a word of the field in the glossary of ARCHITECTURE.md.
const COINED: &str = "\
    adrift alongside bell bells bury complaint complaints deed deeds desk door doors errand errands \
    estate exam fate flaw flaws graveyard house hush ingredients intake knob knobs knock mailbox \
    mischief pacer parting portrait portray portrayed pulse refusal refusals rehearsal rehearse \
    retreat steward stranger teller tongue trial trials trouble upkeep visitor vouched wish wishes";

/// Names that were replaced in these folders: `public_keys`, `sandbox`, `principal`, `region` or `location`, `source`,
/// and the name of the test fixture. They stay where they are saved or public: in strings and in fields of APIs.
const REPLACED: [&str; 9] =
    ["pubkey", "pubkeys", "far_side", "mark_tag", "caller", "callers", "place", "places", "world"];
const REPLACED_IN: [&str; 5] = [
    "crates/console/src/",
    "crates/app/src/",
    "crates/server/src/",
    "crates/engine/src/",
    "crates/products/launch/src/",
];

/// Participles and other names that do not say which thing it is.
const NOT_A_TYPE: &str = "\
    Answered Asked Care Ended Found Given Heard Held Kept Known Left Looked Made Said Seen Sent \
    Shown Taken Told Wanted";

/// Names that many things share on purpose: each workflow and each list has one.
const SHARED_TYPES: [&str; 7] = ["Error", "Filters", "Input", "Params", "Rows", "Settings", "State"];
const DEFINITIONS_MAX: usize = 3;

/// Subjects that do not exist, each cut in two so that this file has none of them.
const NO_SUBJECTS: [(&str, &str); 4] = [("some", "body"), ("no", "body"), ("any", "body"), ("who", "ever")];

fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut was_small = false;
    for letter in name.chars() {
        let begins = letter.is_uppercase() && was_small;
        if !letter.is_alphanumeric() || begins {
            parts.push(String::new());
        }
        if letter.is_alphanumeric() {
            parts.last_mut().expect("there is always one").extend(letter.to_lowercase());
        }
        was_small = letter.is_lowercase() || letter.is_numeric();
    }
    parts
}

fn coined(name: &str) -> Option<String> {
    parts(name).into_iter().find(|part| COINED.split_whitespace().any(|word| word == part))
}

/// The names of files, types and functions, and of what `let` or a parameter binds.
fn bound(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = line.strip_prefix("let ").map(|rest| rest.strip_prefix("mut ").unwrap_or(rest));
    let rest = rest.or_else(|| line.contains(": &").then_some(line))?;
    rest.split(|one: char| !one.is_alphanumeric() && one != '_').next()
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The type that a line defines. An alias within an `impl` or a trait is none.
fn defined<'a>(lines: &[&'a str], at: usize) -> Option<&'a str> {
    let line = lines[at].trim_start();
    let line = line.strip_prefix("pub").map_or(line, |rest| {
        rest.strip_prefix('(')
            .and_then(|rest| rest.split_once(')'))
            .map_or(rest, |(_, rest)| rest)
            .trim_start()
    });
    let (keyword, rest) = line.split_once(' ')?;
    if !["struct", "enum", "trait", "type"].contains(&keyword) {
        return None;
    }
    let name = rest.split(|one: char| !one.is_alphanumeric()).next().filter(|name| !name.is_empty())?;
    if !name.starts_with(char::is_uppercase) {
        return None;
    }
    let depth = indent(lines[at]);
    if keyword == "type" && depth > 0 {
        let outside =
            lines[..at].iter().rev().find(|line| !line.trim().is_empty() && indent(line) < depth)?;
        let is_module = outside.starts_with("mod ") || outside.contains(" mod ") || outside.contains("fn ");
        return is_module.then_some(name);
    }
    Some(name)
}

fn types(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().collect();
    (0..lines.len()).filter_map(|at| defined(&lines, at)).collect()
}

#[test]
fn no_name_has_a_coined_word() {
    let mut broken = Vec::new();
    for (path, text) in files(".rs") {
        broken.extend(coined(&path).map(|word| format!("{path}: \"{word}\" in the name of the file")));
        for name in types(&text) {
            broken.extend(coined(name).map(|word| format!("{path}: \"{word}\" in the type {name}")));
            if NOT_A_TYPE.split_whitespace().any(|word| word == name) {
                broken.push(format!("{path}: the type {name} does not say which thing it is"));
            }
        }
        let functions = text.lines().filter_map(declared);
        broken.extend(functions.filter_map(|name| {
            coined(name).map(|word| format!("{path}: \"{word}\" in the function {name}"))
        }));
    }
    for (path, _) in files(".html") {
        broken.extend(coined(&path).map(|word| format!("{path}: \"{word}\" in the name of the file")));
    }
    check("use the word of the field, see the glossary in ARCHITECTURE.md", &broken);
}

#[test]
fn replaced_names_stay_out() {
    let mut broken = Vec::new();
    for (path, text) in files(".rs") {
        if !REPLACED_IN.iter().any(|folder| path.starts_with(folder)) {
            continue;
        }
        let file = path.split('/').map(|part| part.trim_end_matches(".rs"));
        let lines = || text.lines();
        let names =
            file.chain(types(&text)).chain(lines().filter_map(declared)).chain(lines().filter_map(bound));
        let is_replaced = |name: &&str| REPLACED.contains(&parts(name).join("_").as_str());
        broken.extend(names.filter(is_replaced).map(|name| format!("{path}: {name}")));
    }
    check("use the name that replaced it, see REPLACED", &broken);
}

#[test]
fn a_type_name_is_used_for_one_thing() {
    let mut places: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut definitions: BTreeMap<String, usize> = BTreeMap::new();
    for (path, text) in files(".rs") {
        for name in types(&text) {
            places.entry(name.to_owned()).or_default().insert(path.clone());
            *definitions.entry(name.to_owned()).or_default() += 1;
        }
    }
    let is_shared = |name: &str| SHARED_TYPES.contains(&name) || name.ends_with("Args");
    let many = definitions.iter().filter(|(name, count)| **count > DEFINITIONS_MAX && !is_shared(name));
    let broken: Vec<String> =
        many.map(|(name, count)| format!("{name} is defined {count} times: {:?}", places[name])).collect();
    check("give each type a name of its own; three definitions of one name at most", &broken);
}

/// The documents beside the crates.
fn documents() -> Vec<(String, String)> {
    let mut folders = vec![root()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
            let is_ours = !["crates", "target", "node_modules"].contains(&name.as_str());
            if path.is_dir() && is_ours && !name.starts_with('.') && !name.ends_with("/target") {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                found.push((name, fs::read_to_string(path).unwrap()));
            }
        }
    }
    found
}

#[test]
fn prose_has_subjects_that_exist() {
    let subjects = NO_SUBJECTS.map(|(head, tail)| format!("{head}{tail}"));
    let mut broken = Vec::new();
    let texts = files(".rs").into_iter().chain(files(".html")).chain(files(".md")).chain(documents());
    for (path, text) in texts {
        for (at, line) in text.lines().enumerate() {
            let words = line.split(|one: char| !one.is_alphanumeric() && one != '_');
            let found = words.map(str::to_lowercase).find(|word| subjects.contains(word));
            broken.extend(found.map(|word| format!("{path}:{}: \"{word}\"", at + 1)));
        }
    }
    check("name the server, the worker, the step, the client, the user or the operator", &broken);
}
