//! Users, from the command line.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::stage::DataDirectory;

/// Runs a command with this on its stdin; answers how it ended and all that it said.
fn with_input(place: &DataDirectory, arguments: &[&str], input: &str) -> (Option<i32>, String) {
    let mut command = place.command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    (output.status.code(), said)
}

fn roles(place: &DataDirectory) -> Vec<(String, String)> {
    let listed = place.json(&["users", "list"]);
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|user| (text(&user["name"]), text(&user["role"])))
        .collect()
}

#[test]
fn people_are_added_changed_and_removed() {
    let place = DataDirectory::new();
    let _server = place.serve(&[]);
    let made = place.expect(0, &["users", "create", "ada", "--role", "operator"]);
    assert_eq!(made.out.trim().split('-').map(str::len).collect::<Vec<_>>(), [5; 4], "{made:?}");
    assert!(made.err.contains("it is not shown again"), "{made:?}");
    let (code, said) =
        with_input(&place, &["users", "create", "ben", "--role", "reader", "--password"], "twelve herons\n");
    assert!(code == Some(0) && said.contains("ben is created") && !said.contains("heron"), "{said}");
    let expect = [("ada", "operator"), ("admin", "admin"), ("ben", "reader")];
    assert_eq!(roles(&place), expect.map(|(name, role)| (name.to_owned(), role.to_owned())));
    assert_eq!(place.expect(0, &["users", "list", "-o", "name"]).out, "ada\nadmin\nben\n");

    let json = place.json(&["users", "create", "cleo", "--role", "launcher"]);
    assert!(json["password"].is_string() && json["role"] == "launcher", "{json}");
    assert_eq!(place.json(&["users", "role", "cleo", "reader"])["role"], "reader");
    assert_eq!(place.json(&["users", "sign-out", "cleo"])["sessions"], 0);
    let (code, said) = with_input(&place, &["users", "password", "cleo"], "thirteen herons\n");
    assert!(code == Some(0) && said.contains("cleo has a new password") && !said.contains("heron"), "{said}");
    assert!(place.expect(0, &["users", "delete", "cleo"]).err.contains("cleo is deleted"));
    assert!(place.expect(1, &["users", "delete", "cleo"]).err.contains("user-not-found"));
}

#[test]
fn what_would_lock_everyone_out_or_is_weak_is_refused() {
    let place = DataDirectory::new();
    let _server = place.serve(&[]);
    assert!(place.expect(5, &["users", "delete", "admin"]).err.contains("last-admin-user"));
    assert!(place.expect(5, &["users", "role", "admin", "reader"]).err.contains("last-admin-user"));
    assert!(place.expect(5, &["users", "create", "admin", "--role", "reader"]).err.contains("user-exists"));
    assert!(place.expect(2, &["users", "create", "x", "--role", "broker"]).err.contains("platform"));
    place.expect(2, &["users", "create", "x", "--role", "king"]);
    let (code, said) = with_input(&place, &["users", "password", "admin"], "herons\n");
    assert!(code == Some(1) && said.contains("weak-password") && !said.contains("heron"), "{said}");
    let nothing = place.expect(1, &["users", "password", "admin"]);
    assert!(nothing.err.contains("no password"), "{nothing:?}");
    assert_eq!(roles(&place).len(), 1);
}

#[test]
fn the_first_start_makes_the_first_user_and_no_later_one_does() {
    let place = DataDirectory::new();
    let server = place.serve(&[]);
    let said = server.going.err();
    let file = place.data("console-password");
    let line = format!("console         {}/ (user and password in {})", server.url, file.display());
    assert!(said.contains(&line), "{said}");
    let made = std::fs::read_to_string(&file).unwrap();
    let (user, password) = made.trim().split_once(':').unwrap();
    assert_eq!((user, password.len()), ("admin", 23), "{made}");
    assert!(!said.contains(password), "{said}");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(server.stop().code, Some(0));

    std::fs::remove_file(&file).unwrap();
    let server = place.serve(&[]);
    let said = server.going.err();
    assert!(said.contains("provision-engine users list"), "{said}");
    assert!(!file.exists(), "its owner has removed it");
    assert_eq!(roles(&place).len(), 1);
}
