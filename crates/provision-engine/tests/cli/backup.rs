//! `backup`, and the restore as the guide prints it.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::stage::DataDirectory;

const GUIDE: &str = include_str!("../../../../docs/guide/backup.md");

#[test]
fn a_copy_of_a_database_in_use_is_whole_and_private() {
    let place = DataDirectory::new();
    let server = place.serve(&["--sandbox"]);
    let id = place.expect(0, &["operations", "submit", "demo.hello", "--wait"]).out;
    let made = place.expect(0, &["backup", "copy.db"]);
    assert!(made.out.trim() == "copy.db" && made.err.contains("keys.json"), "{made:?}");
    assert_eq!(std::fs::metadata(place.path("copy.db")).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(place.expect(1, &["backup", "copy.db"]).err.contains("cannot copy"), "nothing is overwritten");
    assert!(place.expect(1, &["backup", "no/such/place"]).err.contains("cannot copy"));
    server.stop();

    let other = DataDirectory::new();
    std::fs::create_dir(other.path("data")).unwrap();
    std::fs::copy(place.path("copy.db"), other.data("engine.db")).unwrap();
    std::fs::copy(place.data("keys.json"), other.data("keys.json")).unwrap();
    let server = other.serve(&["--sandbox"]);
    let token = std::fs::read_to_string(place.data("admin.token")).unwrap();
    let shown = other.json(&["operations", "show", id.trim(), "--token", token.trim()]);
    assert_eq!(shown["phase"], "succeeded");
    server.stop();
}

#[test]
fn the_guide_leads_from_a_backup_to_a_restored_server() {
    let dir = tempfile::tempdir().unwrap();
    let blocks = GUIDE.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let script = blocks.fold(String::from("set -eu\n"), |script, block| script + block);
    let data = dir.path().join("data");
    let script = script.replace("/tmp/backup-try", data.to_str().unwrap());
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_provision-engine")).parent().unwrap();
    let mut shell = Command::new("timeout");
    shell.args(["100", "bash", "-c", &script]).env_clear().env("HOME", dir.path());
    shell.env("PATH", format!("{}:{}", program.display(), std::env::var("PATH").unwrap()));
    shell
        .env("PROVISION_ENGINE_SERVER__LISTEN", "127.0.0.1:0")
        .env("PROVISION_ENGINE_PREFIX", dir.path().join("root"));
    let ran = shell.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{out}\n{err}");
    let ids: Vec<&str> = out.lines().filter(|line| line.len() == 36).collect();
    assert!(ids.len() == 2 && ids[0] == ids[1], "the operation is there again: {out}\n{err}");
}
