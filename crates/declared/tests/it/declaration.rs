//! What a declaration may say, and what is refused with its place.

use declared::{Declaration, Reach};

use crate::service::declaration;

const URL: &str = "https://steps.example/";

fn wrong(from: &str, to: &str) -> (u64, String) {
    let text = declaration(URL);
    assert!(text.contains(from), "{from}");
    let wrong = Declaration::parse(&text.replacen(from, to, 1), Reach::default()).err();
    let wrong = wrong.unwrap_or_else(|| panic!("{to} is taken"));
    (wrong.line, wrong.to_string())
}

#[test]
fn what_is_wrong_is_refused_with_its_place_and_the_fix() {
    for (from, to, line, parts) in [
        ("weight: 10", "weight: 0", 17, ["column", "weight must be a whole number from 1"]),
        ("weight: 10", "weight: 70000", 17, ["column", "to 65535"]),
        ("weight: 10, ", "", 17, ["column", "weight is missing"]),
        ("name: look", "name: reserve", 18, ["reserve", "used twice"]),
        ("name: look", "name: retrigger", 18, ["retrigger", "choose another"]),
        ("name: look", "name: a.b", 18, ["letters, digits", "column"]),
        ("undo: reserve/undo", "udno: reserve/undo", 17, ["no field udno", "did you mean undo?"]),
        ("deadline: 2h", "dead_line: 2h", 14, ["dead_line", "did you mean deadline?"]),
        ("deadline: 2h", "deadline: 2 hours", 14, ["deadline must be a time", "2h"]),
        ("type: object", "type: objekt", 5, ["params", "type: object"]),
        ("type: string, pattern", "type: strin, pattern", 5, ["JSON Schema", "strin"]),
        ("\"^[a-z]{2,20}$\"", "\"[\"", 5, ["JSON Schema", "params"]),
        ("type: string, writeOnly", "type: integer, writeOnly", 5, ["password", "must be string"]),
        (
            "enum: [small, large]",
            "type: object, properties: {x: {writeOnly: true}}",
            5,
            ["writeOnly", "inside"],
        ),
        (URL, "http://steps.example/", 15, ["without TLS", "workflows.allow_http"]),
        (URL, "https://169.254.169.254/", 15, ["metadata", "workflows.allow_link_local"]),
        (URL, "https://[fe80::1]/", 15, ["link-local", "name another host"]),
        ("url: create,", "url: \"https://metadata.google.internal/x\",", 19, ["metadata", "column"]),
        ("url: create,", "url: \"//169.254.169.254/x\",", 19, ["metadata", "column"]),
        ("acme.database", "database", 2, ["at least one dot", "column"]),
        ("acme.database", "acme..x", 2, ["at least one dot", "column"]),
        ("on_failure: undo", "on_failure: explode", 13, ["undo or keep", "column"]),
        ("effect: none", "effect: some", 18, ["none, idempotent or once", "column"]),
        ("url: look, effect: none", "url: look, undo: x, effect: none", 18, ["effect none", "no undo"]),
        ("\"size = large\"", "\"size > large\"", 21, ["when must be one of", "has STEP.KEY"]),
        ("\"size = large\"", "\"colour = red\"", 21, ["no param colour", "size"]),
        ("\"size = large\"", "\"password = x\"", 21, ["writeOnly", "password"]),
        ("has create.key", "has finish.key", 22, ["finish", "does not run before"]),
        ("has create.key", "has nothing.key", 22, ["nothing", "does not run before"]),
        ("sees: [password]", "sees: [team]", 19, ["team", "no writeOnly param"]),
        ("database:{team}", "database:{taem}", 12, ["no param taem", "team"]),
        ("at_most: 5ms", "at_most: 1000000h", 20, ["at_most", "must be a time"]),
        ("limit: 2", "limit: 0", 20, ["limit must be a whole number", "column"]),
        ("timeout: 300ms", "timeout: 6m", 19, ["timeout must be a time", "5m"]),
        ("steps:", "steps: []\nothers:", 0, ["line", "others"]),
        ("title: Looking", "title: [x]", 18, ["title must be a text", "a list"]),
    ] {
        let (found, text) = wrong(from, to);
        assert!(parts.iter().all(|part| text.contains(part)), "{to}: {text}");
        assert!(line == 0 || found == line, "{to} is in line {line}: {text}");
    }
}

#[test]
fn limits_hold() {
    let text = declaration(URL);
    let more = |text: String, number: u32| {
        text + &format!("  - {{name: s{number}, weight: 50, title: More, url: x}}\n")
    };
    let many = (0..101).fold(String::new(), more);
    let error = Declaration::parse(&(text.clone() + &many), Reach::default()).err().unwrap().to_string();
    assert!(error.contains("106 steps"), "{error}");
    let long = text.clone() + &" ".repeat(256 * 1024);
    let error = Declaration::parse(&long, Reach::default()).err().unwrap().to_string();
    assert!(error.contains("at most 262144"), "{error}");
    let secret = text + "secret: short\n";
    let error = Declaration::parse(&secret, Reach::default()).err().unwrap().to_string();
    assert!(error.contains("32 characters") && !error.contains("short"), "{error}");
}

#[test]
fn form_order_and_secret_do_not_count_for_the_digest() {
    let parse =
        |text: &str| Declaration::parse(text, Reach::default()).unwrap_or_else(|wrong| panic!("{wrong}"));
    let text = declaration(URL);
    let one = parse(&text);
    let with_secret = parse(&format!("# a comment\n{text}secret: {}\n", "x".repeat(32)));
    assert_eq!(one.digest, with_secret.digest);
    assert!(!with_secret.text.contains("xxxx") && one.text == text);
    assert_eq!(parse(&with_secret.text).digest, one.digest, "what is kept reads back");
    assert_ne!(parse(&text.replace("deadline: 2h", "deadline: 3h")).digest, one.digest);
    let weights: Vec<u16> =
        parse(&text.replace("weight: 15", "weight: 99")).steps.iter().map(|s| s.weight).collect();
    assert!(weights.is_sorted(), "{weights:?}");
}
