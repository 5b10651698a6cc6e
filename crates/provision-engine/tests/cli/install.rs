//! `install.sh` into a directory of its own: what it puts there, that it works there, and that it goes again.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use ::opennebula::OpenNebulaOptions;
use rustix::process::{Pid, Signal};
use serde_json::Value;

use crate::engine_conf::get;
use crate::stage::{DataDirectory, Ran, Sandbox};

const PROGRAM: &str = env!("CARGO_BIN_EXE_provision-engine");
const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A root of its own, and whatever was installed there.
struct Root {
    dir: tempfile::TempDir,
    /// The engines that were seen to run here.
    started: RefCell<Vec<i32>>,
}

impl Root {
    fn new() -> Root {
        Root { dir: tempfile::tempdir().unwrap(), started: RefCell::default() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn install(&self, words: &[&str]) -> Ran {
        ran(command(Path::new(REPOSITORY).join("install.sh"))
            .env("PREFIX", self.dir.path())
            .env("PROVISION_ENGINE_BINARY", PROGRAM)
            .args(words))
    }

    #[track_caller]
    fn installed(&self, words: &[&str]) {
        let ran = self.install(words);
        assert_eq!(ran.code, Some(0), "{words:?}: {ran:?}");
    }

    /// An installed command, such as `provision-engine-server start`.
    #[track_caller]
    fn run(&self, code: i32, name: &str, words: &[&str]) -> Ran {
        let ran = ran(command(self.path("usr/local/bin").join(name)).args(words));
        let entry = fs::read(self.path("var/lib/provision-engine/provision-engine.pid")).unwrap_or_default();
        let entry: Value = serde_json::from_slice(&entry).unwrap_or_default();
        let pid = entry["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
        self.started.borrow_mut().extend(pid);
        assert_eq!(ran.code, Some(code), "{name} {words:?}: {ran:?}");
        ran
    }

    /// Every path below the root, without the manual pages, of which there are many.
    fn tree(&self) -> BTreeSet<String> {
        let mut paths = BTreeSet::new();
        let mut open = vec![self.dir.path().to_owned()];
        while let Some(dir) = open.pop() {
            for entry in fs::read_dir(dir).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_dir() {
                    open.push(entry.path());
                }
                let path = entry.path().strip_prefix(self.dir.path()).unwrap().to_str().unwrap().to_owned();
                if !path.contains("/man1/") {
                    paths.insert(path);
                }
            }
        }
        paths
    }

    /// As a configuration management does it: one line of a kind is replaced.
    fn edit(&self, key: &str, line: &str) {
        let path = self.path("etc/provision-engine/engine.conf");
        let text = fs::read_to_string(&path).unwrap();
        let found = text.lines().filter(|line| line.starts_with(key)).count();
        assert_eq!(found, 1, "{key} in {text}");
        let lines = text.lines().map(|old| if old.starts_with(key) { line } else { old });
        fs::write(&path, lines.collect::<Vec<_>>().join("\n") + "\n").unwrap();
    }

    #[track_caller]
    fn url(&self) -> String {
        let status: Value =
            serde_json::from_str(&self.run(0, "provision-engine", &["status", "-o", "json"]).out).unwrap();
        status["url"].as_str().unwrap().to_owned()
    }
}

impl Drop for Root {
    /// Nothing that a failed test has started stays, whatever has become of the installation and its files.
    fn drop(&mut self) {
        let prefix = format!("PROVISION_ENGINE_PREFIX={}\0", self.dir.path().display());
        for pid in self.started.take() {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            if String::from_utf8_lossy(&environment).contains(&prefix)
                && let Some(pid) = Pid::from_raw(pid)
            {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
        }
    }
}

/// A program with next to nothing around it, and with an end.
fn command(program: impl AsRef<Path>) -> Command {
    let mut command = Command::new("timeout");
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", "/nonexistent").current_dir("/").arg("120").arg(program.as_ref());
    command
}

fn ran(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

const INSTALLED: [&str; 25] = [
    "etc",
    "etc/provision-engine",
    "etc/provision-engine/engine.conf",
    "etc/provision-engine/schemas",
    "etc/provision-engine/schemas/config.json",
    "etc/provision-engine/schemas/error.json",
    "etc/provision-engine/schemas/serverless_runtime.json",
    "etc/systemd",
    "etc/systemd/system",
    "etc/systemd/system/provision-engine.service",
    "opt",
    "opt/provision-engine",
    "opt/provision-engine/bin",
    "opt/provision-engine/bin/provision-engine",
    "opt/provision-engine/bin/provision-engine-server",
    "opt/provision-engine/share",
    "opt/provision-engine/share/completions",
    "usr",
    "usr/local",
    "usr/local/bin",
    "usr/local/bin/provision-engine",
    "usr/local/bin/provision-engine-server",
    "var",
    "var/log",
    "var/log/provision-engine",
];

fn expected() -> BTreeSet<String> {
    let shells = ["bash", "fish", "zsh"]
        .map(|shell| format!("opt/provision-engine/share/completions/provision-engine.{shell}"));
    let man = ["opt/provision-engine/share/man", "opt/provision-engine/share/man/man1"].map(str::to_owned);
    INSTALLED.map(str::to_owned).into_iter().chain(shells).chain(man).collect()
}

#[test]
fn it_installs_starts_serves_restarts_stops_and_is_gone_again() {
    let root = Root::new();
    root.installed(&[]);
    assert_eq!(root.tree(), expected());
    let link = fs::read_link(root.path("opt/provision-engine/bin/provision-engine")).unwrap();
    assert_eq!(link, fs::canonicalize(PROGRAM).unwrap());

    let place = DataDirectory::new();
    let sandbox = Sandbox::start(&place);
    let OpenNebulaOptions { oned, oneflow, .. } = OpenNebulaOptions::beside(&sandbox.url);
    root.edit(":one_xmlrpc:", &format!(":one_xmlrpc: {oned}"));
    root.edit(":oneflow_server:", &format!(":oneflow_server: {oneflow}"));
    root.edit(":host:", ":host: 127.0.0.1");
    root.edit(":port:", ":port: 0");
    assert_eq!(root.run(0, "provision-engine-server", &["start"]).out, "provision-engine-server started\n");
    let first = root.url();
    assert_eq!(get(&format!("{first}/readyz")).0, 200);
    assert_eq!(get(&format!("{first}/server/version")), (200, "\"1.3.3\"".to_owned()));
    let again = root.run(1, "provision-engine-server", &["start"]);
    assert!(again.out.starts_with("provision-engine-server is already running (pid "), "{again:?}");

    assert_eq!(root.run(0, "provision-engine-server", &["restart"]).out, "provision-engine-server started\n");
    assert_eq!(get(&format!("{}/readyz", root.url())).0, 200);
    let body = r#"{"SERVERLESS_RUNTIME": {"FAAS": {"FLAVOUR": "nature"}}}"#;
    let url = format!("{}/serverless-runtimes", root.url());
    let made =
        Command::new("curl").args(["-sS", "-u", "cognit:cognitpass", &url, "-d", body]).output().unwrap();
    let made = String::from_utf8(made.stdout).unwrap();
    assert!(made.contains("\"STATE\":\"PENDING\""), "{made}");
    root.run(0, "provision-engine-server", &["stop"]);
    let logs = root.path("var/log/provision-engine");
    for (name, line) in [
        ("engine.log", "]  INFO -- : Serverless Runtime created"),
        ("CloudClient.log", "]  INFO -- : oned: makes a document of kind 1337, for cognit"),
        ("api.log", "\"POST /serverless-runtimes HTTP/1.1\" 201 "),
    ] {
        let text = fs::read_to_string(logs.join(name)).unwrap();
        assert!(text.contains(line), "{name}: {text}");
    }
    root.run(0, "provision-engine-server", &["start"]);
    assert_eq!(root.run(0, "provision-engine-server", &["stop"]).out, "provision-engine-server stopped\n");
    root.run(3, "provision-engine", &["status"]);
    assert_eq!(
        root.run(1, "provision-engine-server", &["stop"]).out,
        "provision-engine-server is not running\n"
    );

    root.installed(&["clean", "purge"]);
    assert_eq!(root.tree(), BTreeSet::new());
}

#[test]
fn a_pid_file_of_a_dead_server_is_no_obstacle() {
    let root = Root::new();
    root.installed(&[]);
    root.edit(":port:", ":port: 0");
    let data = root.path("var/lib/provision-engine");
    fs::create_dir_all(&data).unwrap();
    fs::write(data.join("provision-engine.pid"), "{\"pid\":4194304,\"listen\":\"127.0.0.1:1\"}").unwrap();
    root.run(0, "provision-engine-server", &["start", "debug"]);
    root.run(0, "provision-engine-server", &["stop"]);
    assert!(fs::read_to_string(data.join("provision-engine.out")).unwrap().contains(" DEBUG "));
}

#[test]
fn both_spellings_of_copy_copy() {
    for words in [&["copy"][..], &["install", "copy"]] {
        let root = Root::new();
        root.installed(words);
        assert_eq!(root.tree(), expected());
        let program = root.path("opt/provision-engine/bin/provision-engine");
        let metadata = fs::symlink_metadata(&program).unwrap();
        assert!(metadata.is_file() && metadata.permissions().mode() & 0o777 == 0o755, "{metadata:?}");
        for schema in ["serverless_runtime", "error", "config"] {
            let schema = root.path(&format!("etc/provision-engine/schemas/{schema}.json"));
            assert!(fs::symlink_metadata(&schema).unwrap().is_file());
            let schema: serde_json::Value = serde_json::from_slice(&fs::read(schema).unwrap()).unwrap();
            assert_eq!(schema["type"], "object");
        }
        assert!(root.run(0, "provision-engine", &["--version"]).out.starts_with("provision-engine "));
        // And back to links, over the copies.
        root.installed(&["install"]);
        assert!(fs::symlink_metadata(&program).unwrap().is_symlink());
        root.installed(&["purge"]);
        assert_eq!(root.tree(), BTreeSet::new());
    }
}

#[test]
fn what_an_operator_wrote_is_kept_until_everything_is_removed() {
    let root = Root::new();
    root.installed(&[]);
    let conf = root.path("etc/provision-engine/engine.conf");
    fs::write(&conf, ":port: 0\n:timeout: 31\n").unwrap();
    root.run(0, "provision-engine-server", &["start"]);
    let url = root.url();
    root.installed(&["copy"]);
    assert_eq!(
        get(&format!("{url}/healthz")).0,
        200,
        "an installation over a running engine leaves it alone"
    );

    root.installed(&["clean"]);
    assert_eq!(fs::read_to_string(&conf).unwrap(), ":port: 0\n:timeout: 31\n");
    let tree = root.tree();
    assert!(tree.contains("var/log/provision-engine/engine.log"), "{tree:?}");
    assert!(tree.contains("var/lib/provision-engine/engine.db"), "{tree:?}");
    assert!(
        !tree.contains("var/lib/provision-engine/provision-engine.pid"),
        "it was stopped first: {tree:?}"
    );
    for gone in [
        "opt/provision-engine",
        "usr/local/bin/provision-engine",
        "etc/systemd/system/provision-engine.service",
    ] {
        assert!(!tree.contains(gone), "{gone}");
    }

    fs::write(root.path("opt/stranger"), "").unwrap();
    root.installed(&["clean", "purge"]);
    assert_eq!(root.tree(), ["opt", "opt/stranger"].map(str::to_owned).into());
    root.installed(&["purge"]);
}

#[test]
fn a_running_engine_is_stopped_even_if_its_configuration_is_broken() {
    let root = Root::new();
    root.installed(&[]);
    root.edit(":port:", ":port: 0");
    root.run(0, "provision-engine-server", &["start"]);
    let url = root.url();
    root.edit(":port:", ":port: [");
    let purged = root.install(&["purge"]);
    assert!(purged.code == Some(0) && purged.out.contains("stopped     the running engine"), "{purged:?}");
    assert_eq!(root.tree(), BTreeSet::new());
    let address = url.strip_prefix("http://").unwrap();
    assert!(std::net::TcpStream::connect(address).is_err(), "{url} still answers");
}

#[test]
fn anything_else_prints_the_usage_and_does_nothing() {
    let root = Root::new();
    for words in
        [&["help"][..], &["--help"], &["clean", "all"], &["copy", "install"], &["install", "purge"], &["x y"]]
    {
        let ran = root.install(words);
        assert_eq!(ran.code, Some(1), "{words:?}");
        assert!(ran.out.starts_with("Usage: ./install.sh"), "{words:?}: {ran:?}");
    }
    assert_eq!(root.tree(), BTreeSet::new());
    root.installed(&[]);
    for words in [&[][..], &["status"], &["start", "now"], &["--help"]] {
        let ran = root.run(1, "provision-engine-server", words);
        assert_eq!(ran.out, "Usage: provision-engine-server {start|stop|restart} <debug>\n");
    }
}

#[test]
fn without_a_program_it_says_how_to_build_one() {
    let root = Root::new();
    let script = Path::new(REPOSITORY).join("install.sh");
    let ran = ran(command(script).env("PREFIX", root.dir.path()).env("CARGO_TARGET_DIR", "/nonexistent"));
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("cargo build --release"), "{ran:?}");
    assert_eq!(root.tree(), BTreeSet::new());
}

#[test]
fn a_package_is_put_together_below_its_own_directory() {
    let root = Root::new();
    let script = || {
        let mut command = command(Path::new(REPOSITORY).join("install.sh"));
        command.env("DESTDIR", root.dir.path()).env("PROVISION_ENGINE_BINARY", PROGRAM);
        command
    };
    let installed = ran(script().arg("copy"));
    assert_eq!(installed.code, Some(0), "{installed:?}");
    let command = fs::read_link(root.path("usr/local/bin/provision-engine-server")).unwrap();
    assert_eq!(command, Path::new("/opt/provision-engine/bin/provision-engine-server"));
    let unit = fs::read_to_string(root.path("etc/systemd/system/provision-engine.service")).unwrap();
    assert!(unit.contains("\nExecStart=/opt/provision-engine/bin/provision-engine serve\n"), "{unit}");
    assert!(!unit.contains('@') && unit.contains("\nLimitNOFILE=65536\n"), "{unit}");
    let data_dir = "\nEnvironment=PROVISION_ENGINE_DATA_DIR=/var/lib/provision-engine\n";
    assert_eq!(unit.contains(data_dir), rustix::process::geteuid().is_root(), "{unit}");
    assert_eq!(ran(script().arg("purge")).code, Some(0));
    assert_eq!(root.tree(), BTreeSet::new());
}

#[test]
fn no_service_runs_as_root_and_nothing_is_linked_into_a_home_folder() {
    for who in [None, Some("root"), Some("ann")] {
        let root = Root::new();
        let home = root.path("home/ann");
        fs::create_dir_all(&home).unwrap();
        // The same file under another name, because the program is large.
        let built = home.join("provision-engine");
        fs::hard_link(PROGRAM, &built).or_else(|_| fs::copy(PROGRAM, &built).map(drop)).unwrap();
        let prefix = root.path("system");
        let mut script = command(Path::new(REPOSITORY).join("install.sh"));
        script.env("PREFIX", &prefix).env("PROVISION_ENGINE_BINARY", &built).env("HOME", &home);
        let installed = ran(script.envs(who.map(|who| ("SUDO_USER", who))));
        assert_eq!(installed.code, Some(0), "{installed:?}");
        let unit = fs::read_to_string(prefix.join("etc/systemd/system/provision-engine.service")).unwrap();
        let user = unit.lines().find_map(|line| line.strip_prefix("User=")).unwrap();
        assert_ne!(user, "root", "{who:?}");
        let is_root = rustix::process::geteuid().is_root();
        let expected = match who {
            Some("root") => Some("provision-engine"),
            None => is_root.then_some("provision-engine"),
            other => other,
        };
        assert!(expected.is_none_or(|expected| expected == user), "{who:?}: {user}");
        let program = fs::symlink_metadata(prefix.join("opt/provision-engine/bin/provision-engine")).unwrap();
        assert!(program.is_file(), "a link into {}", home.display());
    }
}

#[test]
fn a_prefix_that_cannot_be_one_is_refused() {
    let script = Path::new(REPOSITORY).join("install.sh");
    for prefix in ["relative/path", "/tmp/with space", "/tmp/with'quote", "/tmp/$HOME", "/tmp/line\nbreak"] {
        let ran = ran(command(&script).env("PREFIX", prefix).env("PROVISION_ENGINE_BINARY", PROGRAM));
        assert_eq!(ran.code, Some(1), "{prefix}: {ran:?}");
        assert!(ran.err.starts_with("install.sh: PREFIX must be "), "{prefix}: {ran:?}");
    }
}
