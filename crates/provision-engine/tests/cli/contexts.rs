//! `login`, `logout` and `config use-context`.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::stage::DataDirectory;

/// Another user of the same machine, with a home of its own and no data directory.
fn user(place: &DataDirectory, arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
    let mut command = place.command(arguments);
    command.env_remove("PROVISION_ENGINE_DATA_DIR").env("HOME", place.path("home"));
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let ran = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (ran.status.code(), text(ran.stdout), text(ran.stderr))
}

#[test]
fn a_user_logs_in_once_and_switches_between_servers() {
    let (one, two) = (DataDirectory::new(), DataDirectory::new());
    let servers = (one.serve(&["--sandbox"]), two.serve(&["--sandbox"]));
    let token = |place: &DataDirectory| std::fs::read_to_string(place.data("admin.token")).unwrap();
    let run = |arguments: &[&str]| user(&one, arguments, "");

    let (code, out, err) = user(&one, &["login", &servers.0.url, "--name", "one"], &token(&one));
    assert_eq!(code, Some(0), "{err}");
    assert!(!(out + &err).contains("pe_"), "a token is never printed");
    let file = one.path("home").join(".config/provision-engine/contexts.json");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(user(&one, &["login", &servers.1.url, "--name", "two"], &token(&two)).0, Some(0));

    let id = two.submit(&[]);
    assert_eq!(run(&["operations", "show", &id, "-o", "name"]).1.trim(), id, "the last login is in use");
    assert_eq!(run(&["operations", "show", &id, "--context", "one"]).0, Some(1), "another server");
    let (code, _, err) = run(&["config", "use-context", "one"]);
    assert!(code == Some(0) && err.contains(&servers.0.url), "{err}");
    assert_eq!(run(&["operations", "show", &id]).0, Some(1));
    let (_, out, err) = run(&["operations", "submit", "demo.hello", "--context", "two"]);
    assert!(err.contains(&format!("operations watch {} --context two", out.trim())), "{err}");

    let listed = run(&["config", "contexts"]).1;
    assert!(listed.contains("*        one") && listed.contains("two") && !listed.contains("pe_"), "{listed}");
    let (code, _, err) = run(&["config", "use-context", "three"]);
    assert!(code == Some(2) && err.contains("known: one, two"), "{err}");
    // A data directory that is named means its server.
    let dir = two.path("data");
    assert_eq!(run(&["operations", "show", &id, "--data-dir", dir.to_str().unwrap()]).0, Some(0));

    assert_eq!(run(&["logout"]).0, Some(0));
    assert!(!std::fs::read_to_string(&file).unwrap().contains("\"one\""));
    assert_eq!(run(&["logout", "two"]).0, Some(0));
    assert!(!std::fs::read_to_string(&file).unwrap().contains("pe_"));
}

#[test]
fn a_login_that_the_server_refuses_stores_nothing() {
    let place = DataDirectory::new();
    let server = place.serve(&[]);
    let (code, _, err) = user(&place, &["login", &server.url], "pe_wrong\n");
    assert_eq!(code, Some(6), "{err}");
    assert!(!err.contains("pe_wrong"), "{err}");
    assert!(!place.path("home").exists(), "nothing was stored");
    assert_eq!(user(&place, &["login", "nonsense"], "x\n").0, Some(2));
    assert_eq!(user(&place, &["login", &server.url, "--name", "a b"], "x\n").0, Some(2));
    assert_eq!(user(&place, &["login", "http://127.0.0.1:1"], "x\n").0, Some(1));
}
