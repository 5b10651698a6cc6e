//! Commands that need no server: help, tables, configuration, completions and manual pages.

use serde_json::Value;

use crate::stage::DataDirectory;

#[test]
fn a_command_that_is_not_understood_is_an_error_and_help_is_not() {
    let place = DataDirectory::new();
    for wrong in
        [&[][..], &["frobnicate"], &["serve", "--colour"], &["operations"], &["operations", "show", "abc"]]
    {
        let ran = place.expect(2, wrong);
        assert!(ran.out.is_empty() && !ran.err.is_empty(), "{wrong:?}: {ran:?}");
    }
    for right in [&["--help"][..], &["serve", "--help"], &["operations", "submit", "-h"], &["--version"]] {
        let ran = place.expect(0, right);
        assert!(!ran.out.is_empty() && ran.err.is_empty(), "{right:?}: {ran:?}");
    }
    assert!(place.expect(0, &["operations", "submit", "--help"]).out.contains("Examples:"));
    let version = place.expect(0, &["version"]).out;
    assert_eq!(version, place.expect(0, &["--version"]).out);
    assert_eq!(version.trim().split(' ').nth(1), place.json(&["version"])["version"].as_str());
}

#[test]
fn plans_are_shown_without_a_server_in_every_form() {
    let place = DataDirectory::new();
    let table = place.expect(0, &["plan", "demo.hello"]).out;
    assert!(table.starts_with("WEIGHT") && table.contains("    10  greet"), "{table}");
    assert!(!table.contains('\x1b'), "no colours where there is no terminal");
    assert!(place.expect(0, &["plan", "demo.hello", "-o", "wide"]).out.contains("greeter"));
    let names = place.expect(0, &["plan", "demo.hello", "-o", "name"]).out;
    assert!(names.starts_with("greet\n") && names.contains("\nrest\n"), "{names}");
    let json = place.json(&["plan", "demo.hello"]);
    assert_eq!(json["steps"][0]["name"], "greet");
    let yaml = place.expect(0, &["plan", "demo.hello", "-o", "yaml"]).out;
    assert_eq!(serde_saphyr::from_str::<Value>(&yaml).unwrap(), json);
    assert_eq!(place.json(&["steps"])["items"][0], json);
    assert!(place.expect(0, &["steps", "-o", "name"]).out.starts_with("demo.hello/greet\n"));
    assert!(place.expect(1, &["plan", "no.such"]).err.contains("known are demo.hello"));
}

#[test]
fn a_good_configuration_is_shown_with_its_origins_and_without_its_secrets() {
    let place =
        DataDirectory::new().env("PROVISION_ENGINE_STORE__DATABASE_URL", "postgres://me:s3cret@host/db");
    place.write("provision-engine.yaml", "server:\n  listen: 127.0.0.1:8080\n  listn: 1\n");
    let checked = place.expect(0, &["config", "check"]);
    assert!(checked.out.is_empty(), "{checked:?}");
    assert!(checked.err.contains("provision-engine.yaml:3:3: unknown setting `server.listn`"), "{checked:?}");
    assert!(checked.err.contains("did you mean `listen`?"), "{checked:?}");
    let report = place.json(&["config", "check"]);
    assert_eq!(
        (report["warnings"].as_array().unwrap().len(), &report["problems"]),
        (1, &Value::Array(vec![]))
    );
    let shown = place.expect(0, &["config", "show", "-o", "wide", "--log-level", "debug"]).out;
    assert!(shown.contains("provision-engine.yaml:2:11"), "{shown}");
    assert!(shown.contains("command line") && shown.contains("PROVISION_ENGINE_SERVER__LISTEN"), "{shown}");
    assert!(!shown.contains("s3cret"), "{shown}");
    assert_eq!(place.json(&["config", "show"])["server"]["listen"], "127.0.0.1:8080");
    assert!(place.expect(0, &["config", "reference"]).out.starts_with("# Settings"));
}

#[test]
fn a_bad_configuration_is_an_error_with_its_place_for_every_command() {
    let place = DataDirectory::new();
    place.write("bad.yaml", "server:\n  listen: nowhere\nengine: {max_running: 0}\n");
    for command in [&["config", "check"][..], &["config", "show"], &["serve"], &["start"], &["keys", "list"]]
    {
        let ran = place.expect(1, &[command, &["--config", "bad.yaml"]].concat());
        assert!(
            ran.err.contains("bad.yaml:2:11: server.listen: expected an address"),
            "{command:?}: {ran:?}"
        );
        assert!(ran.err.contains("bad.yaml:3:23: engine.max_running"), "{command:?}: {ran:?}");
        assert!(ran.out.is_empty(), "{ran:?}");
    }
    place.write("bad.yaml", "server:\n  listen: nowhere\n  lisen: 1\nengine: {max_running: 0}\n");
    let both = place.expect(1, &["config", "check", "--config", "bad.yaml"]).err;
    assert!(both.contains("bad.yaml:3:3: unknown setting `server.lisen`"), "{both}");
    let json = place.expect(1, &["config", "check", "--config", "bad.yaml", "-o", "json"]).out;
    // Without a cloud the launch API is off, and the console asks for it alone.
    place.write("proxies.yaml", "launch: {trusted_proxies: 10.0.0.0/33}\n");
    let ran = place.expect(1, &["serve", "--config", "proxies.yaml", "--listen", "127.0.0.1:0"]);
    assert!(ran.err.contains("launch.trusted_proxies: \"10.0.0.0/33\" is no address"), "{ran:?}");
    let report: Value = serde_json::from_str(&json).unwrap();
    let count = |field: &str| report[field].as_array().unwrap().len();
    assert_eq!((count("problems"), count("warnings")), (2, 1), "{json}");
    assert!(place.expect(1, &["config", "check", "--config", "none.yaml"]).err.contains("none.yaml"));
}

#[test]
fn shells_get_their_completions_and_people_their_pages() {
    let place = DataDirectory::new();
    for (shell, part) in
        [("bash", "complete -o default -F"), ("zsh", "#compdef provision-engine"), ("fish", "complete -c")]
    {
        let ran = place.expect(0, &["completions", shell]);
        assert!(ran.out.contains(part) && ran.out.contains("complete --") && ran.err.is_empty(), "{shell}");
    }
    assert!(place.expect(0, &["completions", "elvish"]).out.contains("operations"));
    place.expect(2, &["completions", "cmd.exe"]);
    assert!(place.expect(0, &["man"]).out.contains(".TH"));
    let dir = place.path("pages");
    place.expect(0, &["man", "--dir", dir.to_str().unwrap()]);
    for page in ["provision-engine.1", "provision-engine-operations-submit.1", "provision-engine-serve.1"] {
        assert!(dir.join(page).exists(), "{page}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = DataDirectory::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = place.command(&["completions", "bash"]).stdout(writer).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_command_without_a_server_says_how_to_get_one() {
    let place = DataDirectory::new().env("PROVISION_ENGINE_SERVER", "http://127.0.0.1:1");
    let ran = place.expect(1, &["operations", "list"]);
    assert!(ran.err.contains("cannot reach http://127.0.0.1:1") && ran.err.contains("--server"), "{ran:?}");
    assert!(place.expect(2, &["--server", "nonsense", "operations", "list"]).err.contains("not a URL"));
    assert!(place.expect(2, &["--server", "ftp://x", "operations", "list"]).err.contains("http://"));
}
