//! The commands of the README run as they are printed: in order, in one shell, with an empty home directory, as the
//! current user and as another one.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};

use rustix::process::geteuid;

const README: &str = include_str!("../../../../README.md");
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const PROGRAM: &str = env!("CARGO_BIN_EXE_provision-engine");
/// The user id and group id of the other user. They need no entry in `/etc/passwd`.
const OTHER_USER: u32 = 65_534;
/// Ends what a failing line leaves in the background.
const TRAP: &str = "trap 'kill $(jobs -p) 2>/dev/null || true
    provision-engine stop --timeout 0s --force >/dev/null 2>&1 || true' EXIT\n";

fn blocks() -> impl Iterator<Item = &'static str> {
    README.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next())
}

/// Cargo has built the program already, and `./test` would run this test again.
fn without_cargo(line: &str) -> String {
    match line.strip_prefix("cargo run -- ") {
        Some(arguments) => format!("target/debug/provision-engine {arguments}\n"),
        None if line == "cargo build" || line == "./test" => String::new(),
        None => format!("{line}\n"),
    }
}

/// The first of `PORTS` free ports: a sandbox also takes those that follow its own. They are below the ports that the
/// kernel chooses, so that no other process gets one while the server is down after a kill.
fn free_ports() -> u16 {
    const PORTS: u16 = 10;
    static TRIED: AtomicU16 = AtomicU16::new(0);
    let first = 20_000 + PORTS * u16::try_from(std::process::id() % 800).unwrap();
    let mut groups = (0..100).map(|_| first + PORTS * TRIED.fetch_add(1, Ordering::Relaxed));
    let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    groups.find(|port| (*port..port + PORTS).all(is_free)).unwrap()
}

/// Runs all blocks. Ports and the data directory are the test's own, and there are fewer operations to kill.
#[track_caller]
fn run_as(other_user: Option<u32>) {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::create_dir_all(path("target/debug")).unwrap();
    fs::create_dir(path("home")).unwrap();
    fs::create_dir(path("tmp")).unwrap();
    let program = path("target/debug/provision-engine");
    if let Some(id) = other_user {
        // The directory in which cargo builds may be closed to the other user.
        fs::copy(PROGRAM, &program).unwrap();
        fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        for name in ["", "home", "tmp", "target", "target/debug"] {
            chown(path(name), Some(id), Some(id)).unwrap();
        }
    } else {
        symlink(PROGRAM, &program).unwrap();
    }

    let lines: String = blocks().flat_map(str::lines).map(without_cargo).collect();
    for part in ["127.0.0.1:1337", "127.0.0.1:4711", "/tmp/try", "--count 1000"] {
        assert!(lines.contains(part), "the README no longer has {part:?}");
    }
    let listen = format!("127.0.0.1:{}", free_ports());
    let lines = lines
        .replace("127.0.0.1:1337", &listen)
        .replace("127.0.0.1:4711", &format!("127.0.0.1:{}", free_ports()))
        .replace("/tmp/try", path("try").to_str().unwrap())
        .replace("--count 1000", "--count 200");
    let mut shell = Command::new("timeout");
    shell.args(["--kill-after=10", "120", "bash", "-c", &format!("set -eu\n{TRAP}{lines}")]);
    shell.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    shell.env("HOME", path("home")).env("TMPDIR", path("tmp")).current_dir(dir.path()).stdin(Stdio::null());
    // The server takes the test's port, and no configuration of this computer.
    shell.env("PROVISION_ENGINE_SERVER__LISTEN", &listen).env("PROVISION_ENGINE_PREFIX", path("root"));
    if let Some(id) = other_user {
        shell.uid(id).gid(id);
    }

    let ran = shell.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{}\n{out}\n{err}", ran.status);
    let counted = "{\"greeter/greet\":{\"made\":200,\"taken_back\":0,\"standing\":200,";
    for part in [counted, "ssh ec2-user@127.", "\"workflow\":\"demo.hello\"", "\nadmin:"] {
        assert!(out.contains(part), "nothing printed {part:?}\n{out}\n{err}");
    }
    for name in ["home", "tmp"] {
        let left = fs::read_dir(path(name)).unwrap().next();
        assert!(left.is_none(), "{left:?} is left in the directory {name}");
    }
}

#[test]
fn the_readme_runs_as_the_current_user() {
    run_as(None);
}

#[test]
fn the_readme_runs_as_another_user() {
    if geteuid().is_root() {
        run_as(Some(OTHER_USER));
    } else {
        eprintln!("skipped: only root can run the README as another user");
    }
}

#[test]
fn the_readme_begins_with_the_demonstration_and_all_tests() {
    assert_eq!(blocks().next(), Some("cargo run -- demo\n./test\n"));
    let test = fs::metadata(Path::new(ROOT).join("test")).unwrap();
    assert!(test.is_file() && test.permissions().mode() & 0o111 != 0, "./test is not executable");
    for line in blocks().flat_map(str::lines) {
        let is_known = line == "cargo build" || line.starts_with("cargo run -- ");
        assert!(is_known || !line.starts_with("cargo"), "no test runs {line:?}");
        assert!(!line.contains('#'), "an interactive zsh passes the comment as arguments: {line:?}");
    }
}

/// The links of a page that lead to files.
fn links(page: &str) -> impl Iterator<Item = &str> {
    let targets = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://") && !target.starts_with('#'))
}

#[test]
fn links_of_the_front_pages_lead_to_files_and_the_index_has_every_guide() {
    let root = Path::new(ROOT);
    for page in ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs/README.md"] {
        let text = fs::read_to_string(root.join(page)).unwrap();
        for link in links(&text) {
            let file = link.split('#').next().unwrap();
            let target = root.join(page).with_file_name(file);
            assert!(target.exists(), "{page} links to {link}, which does not exist");
        }
    }
    let index = fs::read_to_string(root.join("docs/README.md")).unwrap();
    for guide in fs::read_dir(root.join("docs/guide")).unwrap() {
        let name = guide.unwrap().file_name().into_string().unwrap();
        assert!(index.contains(&format!("(guide/{name})")), "docs/README.md does not list {name}");
    }
}
