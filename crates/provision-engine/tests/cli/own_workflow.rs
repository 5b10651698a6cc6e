//! Workflows of one's own: the folders that `workflows init` writes run with the commands it prints, and so does the guide.

use std::fs;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};

use rustix::process::{Pid, Signal};

use crate::stage::DataDirectory;

const GUIDE: &str = include_str!("../../../../docs/guide/own-workflow.md");
const NAME: &str = "acme.database";
/// The port of the service in every folder.
const PORT: &str = "8780";

/// A port that is free and stays so: it is below those that the kernel chooses.
pub(crate) fn free_port() -> u16 {
    static TRIED: AtomicU16 = AtomicU16::new(0);
    let first = 29_000 + 10 * u16::try_from(std::process::id() % 300).unwrap();
    let mut ports = (0..100).map(|_| first + TRIED.fetch_add(1, Ordering::Relaxed));
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}

/// Go keeps what it compiled of its standard library.
fn go_cache() -> PathBuf {
    let own = Path::new(env!("CARGO_BIN_EXE_provision-engine")).with_file_name("go-build");
    std::env::var_os("GOCACHE").map_or(own, PathBuf::from)
}

/// Runs lines in one shell, and ends what they leave in the background. Answers what they print.
#[track_caller]
fn run(place: &DataDirectory, folder: &Path, lines: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_provision-engine")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("timeout");
    // A quiet machine needs a tenth of it, also where Go compiles its standard library.
    shell.args(["--foreground", "--kill-after=10", "280", "bash", "-c", &format!("set -eu\n{lines}")]);
    shell
        .env_clear()
        .env("PATH", path)
        .env("HOME", place.path(""))
        .env("PROVISION_ENGINE_DATA_DIR", place.path("data"));
    shell.env("PROVISION_ENGINE_PREFIX", place.path("root"));
    shell.env("PROVISION_ENGINE_SERVER__LISTEN", format!("127.0.0.1:{}", free_port()));
    // Nothing is fetched.
    shell
        .env("GOCACHE", go_cache())
        .env("GOPROXY", "off")
        .env("GOTOOLCHAIN", "local")
        .env("PYTHONDONTWRITEBYTECODE", "1");
    // Files and not pipes: a service in the background keeps them open.
    let (out, err) = (place.path("shell.out"), place.path("shell.err"));
    shell
        .stdout(fs::File::create(&out).unwrap())
        .stderr(fs::File::create(&err).unwrap())
        .stdin(Stdio::null());
    let mut child = shell.current_dir(folder).process_group(0).spawn().unwrap();
    let group = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    let status = child.wait().unwrap();
    let _ = rustix::process::kill_process_group(group, Signal::KILL);
    let (out, err) = (fs::read_to_string(out).unwrap(), fs::read_to_string(err).unwrap());
    assert!(status.success(), "{status}\n{out}\n{err}");
    out
}

/// Lets the service of a folder listen on a port of its own.
fn use_port(folder: &Path, port: u16) {
    for file in fs::read_dir(folder).unwrap().chain(fs::read_dir(folder.join("build")).into_iter().flatten())
    {
        let path = file.unwrap().path();
        let is_text = ["py", "yaml", "mts", "mjs", "go"]
            .iter()
            .any(|end| path.extension().is_some_and(|is| is == *end));
        if is_text {
            let text = fs::read_to_string(&path).unwrap();
            fs::write(&path, text.replace(PORT, &port.to_string())).unwrap();
        }
    }
}

/// The folder, the three commands that are printed, and the tests in the folder.
#[track_caller]
fn init_and_run(language: &str, tests: &str) {
    let place = DataDirectory::new();
    let folder = place.path("own");
    fs::create_dir(&folder).unwrap();
    let init = |code: i32| {
        let mut command = place.command(&["workflows", "init", NAME, "--language", language]);
        command.current_dir(&folder);
        let ran = DataDirectory::spawn(command).end();
        assert_eq!(ran.code, Some(code), "{}\n{}", ran.out, ran.err);
        format!("{}{}", ran.out, ran.err)
    };
    let printed = init(0);
    let readme = fs::read_to_string(folder.join("README.md")).unwrap();
    let commands = readme.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    assert_eq!(commands.lines().count(), 3);
    for command in commands.lines() {
        assert!(printed.lines().any(|line| line.trim() == command), "{command} is not printed\n{printed}");
    }
    let secret = fs::metadata(folder.join(format!("{NAME}.secret"))).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&secret.permissions()) & 0o777, 0o600);
    init(1); // It overwrites nothing.

    use_port(&folder, free_port());
    let stop = "provision-engine stop";
    let ended = "trap 'provision-engine stop --timeout 0s --force >/dev/null 2>&1 || true' EXIT";
    let out = run(&place, &folder, &format!("{ended}\n{commands}\nls data\n{tests}\n{stop}\n"));
    for part in ["database-red.json", "name-red.json"] {
        assert!(out.contains(part), "{part} was not created\n{out}");
    }
}

#[test]
fn a_new_folder_in_python_runs_with_the_three_commands_that_are_printed() {
    init_and_run("python", "python3 -m unittest");
}

#[test]
fn a_new_folder_in_typescript_runs_with_the_three_commands_that_are_printed() {
    init_and_run("typescript", "node --test build/service.test.mjs");
}

#[test]
fn a_new_folder_in_go_runs_with_the_three_commands_that_are_printed() {
    init_and_run("go", "go test ./...");
}

#[test]
fn the_guide_leads_from_nothing_to_a_workflow_that_survives_kills() {
    let place = DataDirectory::new();
    let blocks = GUIDE.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines: String = blocks.collect();
    for part in ["/tmp/own", PORT, "workflows init"] {
        assert!(lines.contains(part), "the guide no longer has {part:?}");
    }
    let (folder, port) = (place.path("own"), free_port());
    let init = lines.lines().find(|line| line.contains("workflows init")).unwrap();
    let moved = format!("{init}\nsed -i 's/{PORT}/{port}/' service.py {NAME}.yaml");
    let lines = lines.replace(init, &moved).replace("/tmp/own", folder.to_str().unwrap());
    let lines = lines.replace(&format!("127.0.0.1:{PORT}"), &format!("127.0.0.1:{port}"));
    let ended = "trap 'kill -9 $(jobs -p) 2>/dev/null || true
        provision-engine stop --timeout 0s --force >/dev/null 2>&1 || true' EXIT";
    let out = run(&place, &place.path(""), &format!("{ended}\n{lines}"));
    let last = out.rsplit("answers.db").next().unwrap();
    for team in ["ada", "bob", "cleo", "dan", "eve", "red", "blue"] {
        assert_eq!(last.matches(&format!("database-{team}.json")).count(), 1, "{team}\n{out}");
    }
    assert!(!last.contains("database-no") && !last.contains("name-no") && !last.contains("green"), "{out}");
    assert!(!folder.exists());
}
