//! `engine.log`, `CloudClient.log` and `api.log`: what is in them, in which form, and how they are put aside.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use engine::{Clock, Timestamp};
use tempfile::TempDir;
use tracing::{debug, error, info, info_span, warn};

use super::*;
use crate::logs::component_file::{ComponentFile, FileLimits};

/// 2023-08-28 18:31:34 UTC.
const MOMENT: i64 = 1_693_247_494;

/// A clock that stands still until the test sets it.
#[derive(Default)]
struct Hands(AtomicI64);

impl Hands {
    fn turn(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

#[async_trait]
impl Clock for Hands {
    fn now(&self) -> Timestamp {
        Timestamp((MOMENT + self.0.load(Ordering::Relaxed)) * 1_000_000)
    }

    async fn sleep(&self, _: Duration) {}

    fn chance(&self) -> u64 {
        0
    }
}

/// A directory for logs, and what code writes there.
struct Shelf(TempDir);

impl Shelf {
    fn new() -> Shelf {
        Shelf(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        let pid = format!("#{}]", std::process::id());
        fs::read_to_string(self.path(name)).unwrap().replace(&pid, "#2724]")
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// What the code leaves here under these settings.
    fn log(&self, flags: &[(&str, &str)], code: impl FnOnce()) {
        let directory = self.0.path().to_str().unwrap();
        let log = settings(&[&[("log.directory", directory), ("log.to", "[]")], flags].concat());
        let (outputs, mut logs) = outputs::open(&log).unwrap();
        let daemon = self.path("daemon");
        let components = Components::open(&log.components, &daemon, Arc::new(Hands::default()), &mut logs);
        let subscriber = subscriber(&log, outputs, Noon, components.unwrap()).unwrap();
        tracing::subscriber::with_default(subscriber, code);
        drop(logs);
    }

    fn file(&self, limits: FileLimits, clock: &Arc<Hands>) -> ComponentFile {
        let clock = Arc::clone(clock) as Arc<dyn Clock>;
        ComponentFile::open(self.path("engine.log"), limits, true, clock, Arc::default()).unwrap()
    }
}

const HEADER: &str = concat!(
    "# Logfile created on 2023-08-28 18:31:34 +0000 by provision-engine/",
    env!("CARGO_PKG_VERSION"),
    "\n"
);
const LARGE: FileLimits = FileLimits { bytes: 1_000_000, keep: 10 };

#[test]
fn the_lines_look_as_operators_know_them() {
    let shelf = Shelf::new();
    shelf.log(&[("log.severity", "debug")], || {
        announce(
            "127.0.0.1:1337".parse().unwrap(),
            "http://localhost:2633/RPC2",
            "http://a:pw@localhost:2474",
        );
        info!(target: "serverless", "Received request to Create a Serverless Runtime");
        info!(target: "opennebula", "Creating oneflow Service for Serverless Runtime");
        debug!(target: "serverless", "Response Body: {{\"NAME\":\"x\"}}");
        info!(target: "engine::runner", "not for this log");
        warn!(target: "store", tries = 2, "the database is slow");
        error!(target: "serverless", "broken");
    });
    assert_eq!(
        shelf.read("engine.log"),
        format!(
            "{HEADER}\
             I, [2023-08-28 18:31:34 #2724]  INFO -- : Initializing Provision Engine component: engine\n\
             I, [2023-08-28 18:31:34 #2724]  INFO -- : Using oned at http://localhost:2633/RPC2\n\
             I, [2023-08-28 18:31:34 #2724]  INFO -- : Using oneflow at http://a:***@localhost:2474\n\
             I, [2023-08-28 18:31:34 #2724]  INFO -- : Received request to Create a Serverless Runtime\n\
             D, [2023-08-28 18:31:34 #2724] DEBUG -- : Response Body: {{\"NAME\":\"x\"}}\n\
             W, [2023-08-28 18:31:34 #2724]  WARN -- : the database is slow tries=2\n\
             E, [2023-08-28 18:31:34 #2724] ERROR -- : broken\n"
        ),
    );
    assert_eq!(
        shelf.read("CloudClient.log"),
        format!(
            "{HEADER}\
             I, [2023-08-28 18:31:34 #2724]  INFO -- : Initializing Provision Engine component: CloudClient\n\
             I, [2023-08-28 18:31:34 #2724]  INFO -- : Creating oneflow Service for Serverless Runtime\n"
        ),
    );
    assert_eq!(
        shelf.read("api.log"),
        format!(
            "[2023-08-28 18:31:34] INFO  provision-engine {}\n\
             [2023-08-28 18:31:34] INFO  provision-engine#start: pid={} port=1337\n",
            env!("CARGO_PKG_VERSION"),
            std::process::id(),
        ),
    );
}

#[test]
fn an_access_has_the_common_form_and_cannot_forge_another_one() {
    let shelf = Shelf::new();
    // Requests are written down however little the engine itself is to say.
    shelf.log(&[("log.severity", "error")], || {
        let request = "POST /serverless-runtimes HTTP/1.1";
        info!(target: "access", host = "127.0.0.1", user = "-", request, status = 201, bytes = 821,
            seconds = 2.374_56, "answered");
        let request = "GET /\"\n1.1.1.1 - - x HTTP/1.1";
        info!(target: "access", host = "::1", request, status = 404, bytes = 0, seconds = 0.0, "answered");
        info!(target: "serverless", "hidden");
    });
    assert_eq!(
        shelf.read("api.log"),
        "127.0.0.1 - - [28/Aug/2023:18:31:34 +0000] \"POST /serverless-runtimes HTTP/1.1\" 201 821 2.3746\n\
         ::1 - - [28/Aug/2023:18:31:34 +0000] \"GET /\\\"\\n1.1.1.1 - - x HTTP/1.1\" 404 0 0.0000\n",
    );
    assert_eq!(shelf.read("engine.log"), HEADER);
}

#[test]
fn the_severity_decides_and_failure_says_to_which_request_it_belongs() {
    let code = || {
        let _request = info_span!("request", request.id = "r1").entered();
        debug!(target: "opennebula", "one");
        info!(target: "opennebula", "two");
        warn!(target: "opennebula", "three");
        error!(target: "opennebula", "four\nfive");
    };
    for (severity, expected) in [("debug", 5), ("info", 4), ("warn", 3), ("error", 2)] {
        let shelf = Shelf::new();
        // How much the other outputs say makes no difference.
        shelf.log(&[("log.severity", severity), ("log.level", "off")], code);
        let text = shelf.read("CloudClient.log");
        assert_eq!(text.lines().count(), expected, "{severity}: {text}");
        assert!(text.ends_with(" ERROR -- : four\\nfive request.id=r1\n"), "{text}");
        assert!(!text.contains("two request.id"), "{text}");
    }
}

#[test]
fn syslog_takes_the_place_of_two_files_under_the_name_of_the_component() {
    let shelf = Shelf::new();
    let daemon = UnixDatagram::bind(shelf.path("daemon")).unwrap();
    shelf.log(&[("log.system", "syslog"), ("log.severity", "warn")], || {
        info!(target: "opennebula", "hidden");
        warn!(target: "opennebula", "away");
        warn!(target: "serverless", "here");
        info!(target: "access", request = "GET / HTTP/1.1", status = 200, "answered");
    });
    let mut buffer = [0; 1024];
    for (priority, name, text) in [(12, "CloudClient", "away"), (12, "engine", "here")] {
        let length = daemon.recv(&mut buffer).unwrap();
        let message = String::from_utf8_lossy(&buffer[..length]);
        assert_eq!(message, format!("<{priority}>{name}[{}]: {text}", std::process::id()));
    }
    assert_eq!(shelf.names(), ["api.log", "daemon"]);
    assert_eq!(shelf.read("api.log").lines().count(), 1);
}

#[test]
fn a_start_puts_the_last_log_aside() {
    let shelf = Shelf::new();
    let clock = Arc::new(Hands::default());
    for text in ["one\n", "two\n", "three\n"] {
        shelf.file(LARGE, &clock).write_all(text.as_bytes()).unwrap();
    }
    let aside = |n| format!("engine.log.{}", MOMENT + n);
    // The second and the third start were in the same second.
    assert_eq!(shelf.names(), ["engine.log".to_owned(), aside(0), aside(1)]);
    assert_eq!(shelf.read(&aside(0)), format!("{HEADER}one\n"));
    assert_eq!(shelf.read(&aside(1)), format!("{HEADER}two\n"));
    assert_eq!(shelf.read("engine.log"), format!("{HEADER}three\n"));
}

#[test]
fn a_start_that_logged_nothing_leaves_nothing_behind() {
    let shelf = Shelf::new();
    let clock = Arc::new(Hands::default());
    for _ in 0..3 {
        drop(shelf.file(LARGE, &clock));
        clock.turn(1);
    }
    assert_eq!(shelf.names(), ["engine.log"]);
    assert_eq!(shelf.read("engine.log").lines().count(), 1);
}

#[test]
fn a_large_log_is_put_aside_and_the_oldest_go() {
    let shelf = Shelf::new();
    let clock = Arc::new(Hands::default());
    let limits = FileLimits { bytes: 200, keep: 3 };
    fs::write(shelf.path("engine.log.note"), "not ours").unwrap();
    let mut file = shelf.file(limits, &clock);
    for n in 0..100 {
        clock.turn(1);
        file.write_all(format!("line {n:03} {}\n", "x".repeat(30)).as_bytes()).unwrap();
    }
    let names = shelf.names();
    assert_eq!(names.len(), 5, "{names:?}");
    assert!(names.contains(&"engine.log.note".to_owned()), "{names:?}");
    for name in names.iter().filter(|name| *name != "engine.log.note") {
        let text = shelf.read(name);
        assert!(text.len() <= 200 && text.starts_with("# Logfile created on "), "{text}");
    }
    assert!(shelf.read("engine.log").contains("line 099"));

    let none = FileLimits { bytes: 200, keep: 0 };
    drop(file);
    drop(shelf.file(none, &clock));
    assert_eq!(shelf.names(), ["engine.log", "engine.log.note"]);
}

#[test]
fn a_log_that_was_moved_away_is_begun_anew_when_asked() {
    let shelf = Shelf::new();
    let log = settings(&[("log.directory", shelf.0.path().to_str().unwrap())]);
    let mut logs = Logs::default();
    let components =
        Components::open(&log.components, &shelf.path("daemon"), Arc::new(Hands::default()), &mut logs);
    let (outputs, _none) = outputs::open(&settings(&[("log.to", "[]")])).unwrap();
    let subscriber = subscriber(&log, outputs, Noon, components.unwrap()).unwrap();
    for name in ["engine.log", "CloudClient.log", "api.log"] {
        fs::rename(shelf.path(name), shelf.path(&format!("{name}.old"))).unwrap();
    }
    logs.reopen();
    tracing::subscriber::with_default(subscriber, || {
        announce("127.0.0.1:1337".parse().unwrap(), "http://a", "http://b");
    });
    drop(logs);
    assert_eq!(shelf.read("engine.log").lines().count(), 4);
    assert_eq!(shelf.read("CloudClient.log").lines().count(), 2);
    assert_eq!(shelf.read("api.log").lines().count(), 2);
    assert_eq!(shelf.read("engine.log.old"), HEADER);
}

#[test]
fn a_full_disk_is_told_once_and_stops_no_one() {
    let shelf = Shelf::new();
    std::os::unix::fs::symlink("/dev/full", shelf.path("engine.log")).unwrap();
    let told = written(&[], || {
        let mut file = shelf.file(LARGE, &Arc::default());
        for _ in 0..100 {
            file.write_all(b"hello\n").unwrap();
        }
    });
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(told.contains("writing a log file failed; lines are lost until it succeeds"), "{told}");
    assert!(told.contains("engine.log") && told.contains("No space left"), "{told}");
    assert!(fs::symlink_metadata(shelf.path("engine.log")).unwrap().is_symlink());
}

fn refused(directory: &str) -> String {
    let log = settings(&[("log.directory", directory)]);
    let clock = Arc::new(Hands::default());
    let opened = Components::open(&log.components, Path::new("/dev/null"), clock, &mut Logs::default());
    opened.err().unwrap().to_string()
}

#[test]
fn a_directory_that_cannot_be_used_is_told_at_once() {
    assert_eq!(
        refused("/dev/null/logs"),
        "log.directory: cannot open /dev/null/logs: make it writable for this user, or name another directory"
    );
}

#[test]
fn a_second_engine_does_not_put_aside_the_logs_of_the_first() {
    let shelf = Shelf::new();
    let directory = shelf.0.path().to_str().unwrap().to_owned();
    shelf.log(&[], || {
        info!(target: "serverless", "one");
        let expected =
            format!("log.directory: another engine writes its logs to {directory}: name another directory");
        assert_eq!(refused(&directory), expected);
        info!(target: "serverless", "two");
    });
    assert_eq!(shelf.read("engine.log").lines().count(), 3);
    assert_eq!(shelf.names(), ["CloudClient.log", "api.log", "engine.log"]);
}
