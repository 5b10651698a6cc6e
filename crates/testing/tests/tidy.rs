//! The structure of the workspace: which crate may use which, and that there is one of each.
//!
//! A list of exceptions may only shrink: an entry that is not needed any more fails, too.
#![expect(clippy::unwrap_used, reason = "a test may fail wherever it stands")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

#[path = "tidy/words.rs"]
mod words;

const FILE_LINES_MAX: usize = 400;
const FUNCTION_LINES_MAX: usize = 70;

/// Files that are longer, with their lines.
const LONG_FILES: [(&str, usize); 2] = [
    ("crates/provision-engine/tests/workflows/external.rs", 429),
    ("crates/provision-engine/tests/workflows/runtime.rs", 472),
];

/// Functions that are longer, with their lines.
const LONG_FUNCTIONS: [(&str, &str, usize); 1] =
    [("crates/server/src/sentence.rs", "every_kind_of_event_is_one_sentence", 80)];

/// The error of all APIs, which alone is made of an error of the store.
const API_ERROR: &str = "Failure";
/// Types that are made of one, too. `ImageEventError` is no answer of an API.
const OTHER_STORE_ERRORS: [&str; 3] = ["AuthError", "ImageEventError", "LaunchApiError"];

/// The loop that reads the body of a response and limits its size.
const BODY_READER: &str = "crates/clients/http-client/src/answer.rs";
/// Others: the client kit and the conformance suite depend on nothing of ours, and the benchmark keeps no body.
const OTHER_BODY_READERS: [&str; 3] = [
    "crates/api/src/client/answer.rs",
    "crates/bench/src/console/browser.rs",
    "crates/conformance/src/wire.rs",
];

/// What clients share. They are below `crates/clients` and are clients of no system.
const SHARED_BY_CLIENTS: [&str; 4] = ["cloud", "http-client", "identity", "xml"];
/// Below `crates/clients`, but a test.
const CLIENT_TESTS: &str = "client-tests";

/// Files below the `src/api` of a product that name a client, and the client.
const CLIENTS_IN_APIS: &[(&str, &str)] = &[];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The files below `crates` that are called so or end so, by their path from the root.
fn files(ending: &str) -> Vec<(String, String)> {
    let root = root();
    let mut folders = vec![root.join("crates")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                if !name.ends_with("/target") {
                    folders.push(path);
                }
            } else if name.ends_with(ending) {
                found.push((name, fs::read_to_string(path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

fn is_production(path: &str) -> bool {
    !path.contains("/tests/") && !path.ends_with("/tests.rs")
}

/// The lines before the tests that stand in the same file.
fn without_inline_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let begins =
        |pair: &[&str]| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{');
    lines.windows(2).position(begins).unwrap_or(lines.len())
}

/// The name of the function that a line declares.
fn declared(line: &str) -> Option<&str> {
    let is_modifier = |word: &&str| word.starts_with("pub") || ["const", "async", "unsafe"].contains(word);
    let mut words = line.trim_start().split(' ').skip_while(is_modifier);
    let name = words.next().filter(|word| *word == "fn").and(words.next())?;
    name.split(['(', '<']).next()
}

/// Every function with a body of several lines, and its lines from the signature to the last brace.
fn functions(text: &str) -> Vec<(&str, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (first, line) in lines.iter().enumerate() {
        let Some(name) = declared(line) else { continue };
        let rest = &lines[first..];
        let Some(opening) = rest.iter().position(|line| line.ends_with(['{', ';', '}'])) else { continue };
        if !rest[opening].ends_with('{') {
            continue;
        }
        let indent = &line[..line.len() - line.trim_start().len()];
        let closes = |line: &&str| line.strip_prefix(indent) == Some("}");
        if let Some(last) = rest.iter().position(closes) {
            found.push((name, last + 1));
        }
    }
    found
}

/// The packages of the workspace, by name.
fn packages() -> BTreeMap<String, Value> {
    let arguments = ["metadata", "--no-deps", "--offline", "--format-version=1"];
    let ran = Command::new(env!("CARGO")).args(arguments).current_dir(root()).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let metadata: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages.map(|package| (package["name"].as_str().unwrap().to_owned(), package.clone())).collect()
}

fn manifest(package: &Value) -> String {
    let path = Path::new(package["manifest_path"].as_str().unwrap());
    path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned()
}

/// The crates of ours that a package is built from. Those that only its tests use do not count.
fn uses(package: &Value, ours: &BTreeMap<String, Value>) -> BTreeSet<String> {
    let dependencies = package["dependencies"].as_array().unwrap().iter();
    let built_from = dependencies.filter(|one| one["kind"] != "dev").map(|one| one["name"].as_str().unwrap());
    built_from.filter(|name| ours.contains_key(*name)).map(str::to_owned).collect()
}

#[track_caller]
fn check(rule: &str, broken: &[String]) {
    assert!(broken.is_empty(), "{rule}:\n  {}", broken.join("\n  "));
}

/// What is found must be what is listed.
#[track_caller]
fn check_list(rule: &str, found: &BTreeSet<String>, listed: &BTreeSet<String>) {
    let new = found.difference(listed).map(|one| format!("{one}: not allowed"));
    let old =
        listed.difference(found).map(|one| format!("{one}: is not there any more, remove it from the list"));
    check(rule, &new.chain(old).collect::<Vec<_>>());
}

#[test]
fn files_are_short() {
    let lines = files(".rs").into_iter().map(|(path, text)| (path, without_inline_tests(&text)));
    let long =
        lines.filter(|(_, lines)| *lines > FILE_LINES_MAX).map(|(path, lines)| format!("{path} {lines}"));
    let listed = LONG_FILES.map(|(path, lines)| format!("{path} {lines}"));
    let rule = "split files of more than 400 lines by noun; if one shrank, lower its number in LONG_FILES";
    check_list(rule, &long.collect(), &listed.into());
}

#[test]
fn functions_are_short() {
    let mut long = BTreeSet::new();
    for (path, text) in files(".rs") {
        let functions = functions(&text).into_iter().filter(|(_, lines)| *lines > FUNCTION_LINES_MAX);
        long.extend(functions.map(|(name, lines)| format!("{path} {name} {lines}")));
    }
    let listed = LONG_FUNCTIONS.map(|(path, name, lines)| format!("{path} {name} {lines}"));
    let rule = "split functions of more than 70 lines; if one shrank, lower its number in LONG_FUNCTIONS";
    check_list(rule, &long, &listed.into());
}

#[test]
fn every_module_says_what_it_is() {
    let production = files(".rs").into_iter().filter(|(path, _)| is_production(path));
    let silent = production.filter(|(_, text)| !text.starts_with("//!")).map(|(path, _)| path);
    check("begin the file with a line of documentation (//!)", &silent.collect::<Vec<_>>());
}

#[test]
fn one_type_of_the_apis_is_made_of_an_error_of_the_store() {
    let mut found = BTreeSet::new();
    for (path, text) in files(".rs") {
        if path.starts_with("crates/store/") {
            continue;
        }
        let conversions = text.lines().filter(|line| line.starts_with("impl From<"));
        let made = conversions.filter_map(|line| line.split_once("StoreError> for "));
        found.extend(made.map(|(_, line)| line.trim_end_matches(" {").to_owned()));
    }
    let listed = OTHER_STORE_ERRORS.into_iter().chain([API_ERROR]).map(str::to_owned);
    let rule = "return the error of all APIs, and let it alone have `From<StoreError>`";
    check_list(rule, &found, &listed.collect());
}

#[test]
fn one_loop_reads_the_body_of_a_response() {
    let production = files(".rs").into_iter().filter(|(path, _)| is_production(path));
    let found = production.filter(|(_, text)| text.contains("while let Some(chunk)")).map(|(path, _)| path);
    let listed = OTHER_BODY_READERS.into_iter().chain([BODY_READER]).map(str::to_owned);
    let rule = "read bodies with `http_client::Answer`, which limits their size";
    check_list(rule, &found.collect(), &listed.collect());
}

#[test]
fn crates_use_only_what_is_below_them() {
    let ours = packages();
    let mut broken = Vec::new();
    for (name, package) in &ours {
        let is_client = manifest(package).starts_with("crates/clients/") && name != CLIENT_TESTS;
        let allowed: Vec<&str> = match name.as_str() {
            "engine" | "api" | "sandbox" | "conformance" | "config" | "xml" => vec![],
            "store" | "testing" => vec!["engine", "api"],
            "declared" => vec!["config", "engine", "external-step"],
            "server" => vec!["api", "declared", "engine", "http-client"],
            "console" => vec!["api", "engine", "server"],
            "app" => {
                let kit = ["api", "config", "console", "declared", "engine"];
                [&kit[..], &["http-client", "sandbox", "server", "store"]].concat()
            }
            // Its resources are objects of a Kubernetes API.
            "infrastructure-manager" => vec!["engine", "http-client", "kubernetes"],
            _ if is_client => ["engine", "api"].into_iter().chain(SHARED_BY_CLIENTS).collect(),
            _ => continue,
        };
        let wrong = uses(package, &ours).into_iter().filter(|one| !allowed.contains(&one.as_str()));
        broken.extend(wrong.map(|one| format!("{name} uses {one}, and may use {allowed:?}")));
    }
    check("remove the dependency, or move the code to the crate that may have it", &broken);
}

#[test]
fn no_product_uses_another() {
    let ours = packages();
    let is_product = |package: &Value| manifest(package).starts_with("crates/products/");
    let mut broken = Vec::new();
    for (name, package) in ours.iter().filter(|(_, package)| is_product(package)) {
        let others = uses(package, &ours).into_iter().filter(|one| is_product(&ours[one]));
        broken.extend(others.map(|one| format!("{name} uses {one}")));
    }
    check("products know nothing of one another: move what both need to the platform", &broken);
}

/// Whether a file names a crate, and not a module of that name, which it declares or imports.
fn names_crate(text: &str, name: &str) -> bool {
    let is_part = |one: char| one.is_alphanumeric() || "_:".contains(one);
    let mut is_local = false;
    let mut is_named = false;
    for (at, _) in text.match_indices(name) {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        is_local |= after.starts_with([';', ',', '}'])
            && !before.ends_with(|one: char| one.is_alphanumeric() || one == '_');
        is_named |= after.starts_with("::") && !before.ends_with(is_part);
    }
    is_named && !is_local
}

#[test]
fn the_workflows_of_a_product_know_no_http_server_and_its_api_no_client() {
    let clients: Vec<String> = packages()
        .into_iter()
        .filter(|(name, package)| {
            manifest(package).starts_with("crates/clients/") && !SHARED_BY_CLIENTS.contains(&name.as_str())
        })
        .map(|(name, _)| name.replace('-', "_"))
        .collect();
    let (mut broken, mut named) = (Vec::new(), BTreeSet::new());
    for (path, text) in files(".rs").into_iter().filter(|(path, _)| path.starts_with("crates/products/")) {
        if path.contains("/src/workflows/") && names_crate(&text, "axum") {
            broken.push(format!("{path}: a step answers no request, remove axum"));
        }
        if path.contains("/src/api/") {
            let found = clients.iter().filter(|client| names_crate(&text, client));
            named.extend(found.map(|client| format!("{path} {client}")));
        }
    }
    let listed = CLIENTS_IN_APIS.iter().map(|(path, client)| format!("{path} {client}"));
    check_list("leave the calls of an API to clients to steps", &named, &listed.collect());
    check("products keep HTTP out of their workflows", &broken);
}

#[test]
fn every_crate_is_a_member_with_the_lints_of_the_workspace() {
    let members: BTreeSet<String> = packages().values().map(manifest).collect();
    let mut broken = Vec::new();
    for (path, text) in files("/Cargo.toml") {
        if !members.contains(&path) {
            broken.push(format!("{path}: add it to the members in Cargo.toml"));
        }
        if !text.contains("[lints]\nworkspace = true") && !text.contains("lints.workspace = true") {
            broken.push(format!("{path}: add [lints] with workspace = true"));
        }
    }
    check("every Cargo.toml below crates is of the workspace", &broken);
}

/// How the base64 of a private key begins, in the forms in which keys are written: RSA and others in DER, and those of
/// OpenSSH. `?` is any character.
const PRIVATE_KEY_STARTS: [&str; 6] =
    ["MII???IBA", "MHcCAQEE", "MIG?AgEA", "MIH?AgEB", "MC4CAQAw", "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAA"];
/// A shorter text is no key.
const PRIVATE_KEY_CHARS_MIN: usize = 60;

fn holds_private_key(line: &str) -> bool {
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    let starts = |text: &str, start: &str| {
        text.bytes().take_while(is_base64).count() >= PRIVATE_KEY_CHARS_MIN
            && start.bytes().zip(text.bytes()).all(|(wanted, byte)| wanted == b'?' || wanted == byte)
    };
    let places = line.match_indices(['M', 'b']).map(|(at, _)| &line[at..]);
    places.into_iter().any(|text| PRIVATE_KEY_STARTS.iter().any(|start| starts(text, start)))
}

/// Scanners for secrets report one, and rightly: it is in every copy for ever. A key that a test or the sandbox needs is
/// generated when it is needed.
#[test]
fn no_file_holds_a_private_key() {
    let (mut folders, mut broken) = (vec![root()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_made = ["target", ".git", "node_modules"].iter().any(|name| path.ends_with(name));
            if path.is_dir() && !is_made {
                folders.push(path);
            } else if let Ok(text) = fs::read_to_string(&path) {
                let found = text.lines().enumerate().filter(|(_, line)| holds_private_key(line));
                broken.extend(found.map(|(number, _)| format!("{}:{}", path.display(), number + 1)));
            }
        }
    }
    check("no file holds a private key", &broken);
}

/// Pages that say where things are in the code.
const MAPS: [&str; 5] = [
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "docs/design/products.md",
    "docs/design/saving.md",
    "docs/design/testing.md",
];

#[test]
fn every_source_file_that_a_page_names_exists() {
    let sources: Vec<String> = files(".rs").into_iter().map(|(path, _)| format!("/{path}")).collect();
    let mut broken = Vec::new();
    for map in MAPS {
        let text = fs::read_to_string(root().join(map)).unwrap();
        let is_source = |name: &&str| Path::new(name).extension().is_some_and(|end| end == "rs");
        for name in text.split('`').skip(1).step_by(2).filter(is_source) {
            // Names with a choice or a placeholder stand for several files.
            let is_one = !name.contains(['{', '<', ' ', '*']);
            let end = format!("/{}", name.replacen("pe/", "provision-engine/", 1));
            if is_one && !sources.iter().any(|source| source.ends_with(&end)) {
                broken.push(format!("{map}: {name}"));
            }
        }
    }
    check("every source file that a page names exists", &broken);
}
