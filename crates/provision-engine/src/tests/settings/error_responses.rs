//! What is wrong is refused or warned of, with its place and in words that help.

use std::fmt::Write;

use ::launch::model::builder_identity::ServiceIdentities;
use ::launch::model::identity::ServiceIdentity;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;

#[track_caller]
fn warned(yaml: &str, expected: &[&str]) {
    let (_, warnings) = load(yaml, &[], &[]).unwrap();
    assert_eq!(warnings.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
}

#[test]
fn a_bad_value_is_named_with_its_place_and_what_was_expected() {
    refused(
        "# one\n\nserver:\n  listen: here\n",
        "provision-engine.yaml:4:11: server.listen: expected an address such as 127.0.0.1:1337, got \"here\"",
    );
    refused(
        "server: {listen: 1337}",
        "provision-engine.yaml:1:18: server.listen: expected an address such as 127.0.0.1:1337, got 1337",
    );
    refused(
        "server:\n  public_metrics: yes",
        "provision-engine.yaml:2:19: server.public_metrics: expected true or false, got \"yes\"",
    );
    refused(
        "log:\n  to:\n    - stdout\n    - printer",
        "provision-engine.yaml:4:7: log.to: expected a list of stdout, stderr, file, syslog, \
         got \"printer\"",
    );
    refused(
        "log: {format: xml}",
        "provision-engine.yaml:1:15: log.format: expected one of text, json, got \"xml\"",
    );
    refused(
        "log: {to: [stdout, printer]}",
        "provision-engine.yaml:1:20: log.to: expected a list of stdout, stderr, file, syslog, \
         got \"printer\"",
    );
    refused(
        "log:\n  level: infoo",
        "provision-engine.yaml:2:10: log.level: expected a level (error, warn, info, debug, trace, off) \
         or pairs such as engine=debug,info, got \"infoo\"",
    );
    refused("data_dir: [a]", "provision-engine.yaml:1:11: data_dir: expected a path, got a list");
    refused(
        "sandbox: {url: 'ftp://ann:pw@h'}",
        "provision-engine.yaml:1:16: sandbox.url: expected a URL that begins with http:// or https://, \
         got \"ftp://ann:***@h\"",
    );
}

#[test]
fn an_issuer_is_good_for_programs_or_for_people_and_a_client_needs_one() {
    let refused = |oidc: &str, message: &str| {
        let error = load(&format!("osb: {{oidc: {oidc}}}"), &[], &[]).unwrap_err().to_string();
        assert!(error.ends_with(message), "{error}");
    };
    refused("{issuer: 'https://i'}", "osb.oidc.issuer: issuer needs an audience or a client_id beside it");
    refused("{client_id: c}", "osb.oidc.client_id: client_id needs an issuer beside it");
    refused(
        "{issuer: 'https://i', audience: a, client_secret_file: /s}",
        "osb.oidc.client_secret_file: client_secret_file needs a client_id beside it",
    );
    let people =
        good("osb: {oidc: {issuer: 'https://i', client_id: c, client_secret_file: /s}}").identity.oidc;
    assert_eq!((people.client_id.as_deref(), people.audience), (Some("c"), None));
    assert_eq!(people.scopes, "openid profile email groups");
}

#[test]
fn numbers_and_times_out_of_range_are_refused_with_the_range() {
    refused(
        "store: {connections: 0}",
        "provision-engine.yaml:1:22: store.connections: expected a whole number from 1 to 8, got 0",
    );
    refused(
        "store: {connections: 9}",
        "provision-engine.yaml:1:22: store.connections: expected a whole number from 1 to 8, got 9",
    );
    refused(
        "store: {lease: 999ms}",
        "provision-engine.yaml:1:16: store.lease: expected a time from 1s to 10m, got \"999ms\"",
    );
    refused(
        "store: {lease: 5}",
        "provision-engine.yaml:1:16: store.lease: expected a time from 1s to 10m, got 5",
    );
    for bad in ["0", "-1", "1.5", "99999999999999999999999999", "many", "'7'", "true", ".nan"] {
        let error = load(&format!("engine: {{max_running: {bad}}}"), &[], &[]).unwrap_err().to_string();
        let expected =
            "provision-engine.yaml:1:23: engine.max_running: expected a whole number from 1 to 1000000, got ";
        assert!(error.starts_with(expected), "{error}");
    }
    refused(
        "engine: {limits: {greeter: 0}}",
        "provision-engine.yaml:1:28: engine.limits.greeter: expected a whole number from 1 to 100000, got 0",
    );
    refused(
        "engine:\n  retry:\n    max: 500ms\n",
        "provision-engine.yaml:3:10: engine.retry.max: expected at least engine.retry.first (1s), got 500ms",
    );
}

#[test]
fn every_setting_of_the_table_is_read_and_checked() {
    for setting in &crate::app().table() {
        let path = setting.path.replace('*', "greeter");
        let (wrong, nature) =
            if let ValueKind::Map(_) = setting.kind { ("[]", "a list") } else { ("{}", "a map") };
        let error = load(&format!("{path}: {wrong}"), &[], &[]).unwrap_err();
        let expected = format!(
            "provision-engine.yaml:1:{}: {path}: expected {}, got {nature}",
            path.len() + 3,
            setting.kind
        );
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn an_identity_has_three_fields_and_each_is_a_short_text() {
    let yaml = |identity: &str| format!("launch: {{service_identities: {identity}}}");
    let whole = r#"{"000013": {org_id: "13", account_number: "0000013", entitlements: [rhel]}, "*": {}}"#;
    let (config, warnings) = load(&yaml(whole), &[], &[]).unwrap();
    assert_eq!(warnings, []);
    let identity = ServiceIdentity {
        org_id: Some("13".into()),
        account_number: Some("0000013".into()),
        entitlements: vec!["rhel".into()],
    };
    let expected = [("000013".to_owned(), identity), ("*".to_owned(), ServiceIdentity::default())];
    assert_eq!(config.section::<::launch::Settings>().identities, ServiceIdentities::new(expected.into()));
    let long = format!(r#"{{"13": {{org_id: "{}"}}}}"#, "1".repeat(65));
    for wrong in [
        r#"{"13": 7}"#,
        r#"{"a b": {}}"#,
        r#"{"13": {account_number: 13}}"#,
        r#"{"13": {account: "13"}}"#,
        r#"{"13": {entitlements: rhel}}"#,
        r#"{"13": {entitlements: ["rh el"]}}"#,
        &long,
    ] {
        let error = load(&yaml(wrong), &[], &[]).unwrap_err().to_string();
        assert!(error.contains("launch.service_identities: expected a map of organisations"), "{error}");
    }
}

#[test]
fn all_problems_are_told_at_once() {
    refused(
        "server: {listen: here}\nstore: {connections: 0}\nengine: 5\n",
        "provision-engine.yaml:3:9: engine: expected a map of settings, got a number\n\
         provision-engine.yaml:1:18: server.listen: expected an address such as 127.0.0.1:1337, \
         got \"here\"\n\
         provision-engine.yaml:2:22: store.connections: expected a whole number from 1 to 8, got 0",
    );
}

#[test]
fn what_is_not_a_map_or_not_yaml_is_refused_with_its_place() {
    refused("- a\n", "provision-engine.yaml:1:1: expected a map of settings, got a list");
    refused("hello", "provision-engine.yaml:1:1: expected a map of settings, got text");
    refused("server: [1", "provision-engine.yaml:1:9: unclosed bracket '['");
    refused("a: b: c", "provision-engine.yaml:1:5: mapping values are not allowed in this context");
    refused(
        "a:\n\tb: 1",
        "provision-engine.yaml:2:2: tabs disallowed within this context (block indentation)",
    );
    refused(
        "{}\n---\n{}\n",
        "provision-engine.yaml:3:1: only single YAML document expected but multiple found",
    );
    refused(
        "log: {level: info}\nlog: {}\n",
        "provision-engine.yaml:2:1: duplicate mapping key: log not allowed here",
    );
    refused(
        "log: {level: info, :level: warn}",
        "provision-engine.yaml:1:28: log.level: given twice, first at provision-engine.yaml:1:14",
    );
    let error = super::load_bytes(b"log:\n  le\xff", &[], &[]).unwrap_err();
    assert_eq!(error.to_string(), "provision-engine.yaml:2:5: expected text in UTF-8");
}

#[test]
fn unknown_keys_are_warnings_with_an_image_event() {
    warned(
        "server:\n  listn: here\n",
        &["provision-engine.yaml:2:3: unknown setting `server.listn` is ignored: did you mean `listen`?"],
    );
    warned(
        ":sevrer:\n  anything: 1\nlisten: x\n",
        &[
            "provision-engine.yaml:1:1: unknown setting `sevrer` is ignored: did you mean `server`?",
            "provision-engine.yaml:3:1: unknown setting `listen` is ignored: did you mean `server.listen`?",
        ],
    );
    warned("colour: blue", &["provision-engine.yaml:1:1: unknown setting `colour` is ignored"]);
    warned(
        "runtime:\n  hello_world: false",
        &[
            "provision-engine.yaml:2:3: `runtime.hello_world` is ignored: this release has no such setting any more; \
           remove it",
        ],
    );
}

/// Pieces from which broken files are put together: more likely to reach deep places than noise is.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "server:", "\n  listen: ", "\n", "  ", "\t", ":", "- ", "[", "]", "{", "}", ",", "&a ", "*a", "<<: *a",
    "!!int ", "!!binary ", "!x ", "'", "\"", "|", ">", "%YAML 1.2\n", "---\n", "...\n", "# c", "? ", "~",
    "1e999", "-.inf", "0x", "engine:\n  limits:\n    ", "default: ", "\u{feff}", "\u{0}", "é", "\\x",
    "store: {lease: ", "log.to: ",
];

#[test]
fn no_bytes_make_it_panic() {
    let mut random = StdRng::seed_from_u64(1337);
    for _ in 0..2_000 {
        let mut bytes = Vec::new();
        for _ in 0..random.random_range(0..40) {
            if random.random_bool(0.1) {
                bytes.push(random.random());
            } else {
                bytes.extend(PIECES[random.random_range(0..PIECES.len())].as_bytes());
            }
        }
        let _ = load_bytes(&bytes, &[], &[]);
        let text = String::from_utf8_lossy(&bytes);
        let _ = load(
            "",
            &[("PROVISION_ENGINE_LOG__TO", &text), ("PROVISION_ENGINE_ENGINE", &text)],
            &[(&text, &text)],
        );
    }
    for deep in ["[".repeat(100_000), "{a: ".repeat(100_000), "- ".repeat(100_000), "? ".repeat(100_000)] {
        assert!(load(&deep, &[], &[]).is_err());
    }
    let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for n in 1..20 {
        let alias = format!("*a{},", n - 1);
        writeln!(bomb, "a{n}: &a{n} [{}]", alias.repeat(9)).unwrap();
    }
    assert!(load(&bomb, &[], &[]).is_err());
}
