//! `engine.log`, `CloudClient.log` and `api.log` of a real server.

use std::fs;
use std::path::PathBuf;

use rustix::process::Signal;

use crate::engine_conf::get;
use crate::stage::{DataDirectory, ServerProcess, until_or};

/// A server with an `engine.conf` and its logs in `logs`.
fn server(place: &DataDirectory, conf: &str) -> ServerProcess {
    place.write("engine.conf", conf);
    place.serve(&["--engine-conf", "engine.conf"])
}

fn place() -> DataDirectory {
    DataDirectory::new().env("PROVISION_ENGINE_LOG__DIRECTORY", "logs")
}

fn read(place: &DataDirectory, name: &str) -> String {
    fs::read_to_string(place.path("logs").join(name)).unwrap_or_default()
}

/// A log has these words in one of its lines, sooner or later.
#[track_caller]
fn wait_for(place: &DataDirectory, name: &str, words: &[&str]) -> String {
    until_or(
        || {
            read(place, name)
                .lines()
                .find(|line| words.iter().all(|word| line.contains(word)))
                .map(str::to_owned)
        },
        || format!("{name} has no {words:?}:\n{}", read(place, name)),
    )
}

/// The files that were put aside, without their times.
fn aside(place: &DataDirectory, name: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(place.path("logs")).unwrap().map(|entry| entry.unwrap().path());
    let prefix = format!("{name}.");
    entries.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(&prefix)).collect()
}

#[test]
fn requests_leave_their_lines_in_each_log() {
    let place = place();
    let server = server(&place, ":log:\n  :level: 1\n");
    let (status, _) = get(&format!("{}/serverless-runtimes/1", server.url));
    assert_eq!(status, 401);

    let line = wait_for(&place, "api.log", &["\"GET /serverless-runtimes/1 HTTP/1.1\" 401 "]);
    assert!(line.starts_with("127.0.0.1 - - ["), "{line}");
    let line = wait_for(&place, "engine.log", &["Response HTTP Return Code: 401"]);
    let pid = format!(" #{}]  INFO -- : Response HTTP Return Code: 401", server.going.pid());
    assert!(line.starts_with("I, [") && line.ends_with(&pid), "{line}");
    let engine = read(&place, "engine.log");
    let lines: Vec<&str> = engine.lines().take(4).collect();
    assert!(lines[0].starts_with("# Logfile created on "), "{engine}");
    for (line, text) in lines[1..].iter().zip([
        "Initializing Provision Engine component: engine",
        "Using oned at http://localhost:2633/RPC2",
        "Using oneflow at http://localhost:2474",
    ]) {
        assert!(line.ends_with(&format!("  INFO -- : {text}")), "{line}");
    }
    wait_for(&place, "CloudClient.log", &["Initializing Provision Engine component: CloudClient"]);
    let started = format!("pid={} port={}", server.going.pid(), server.url.rsplit(':').next().unwrap());
    wait_for(&place, "api.log", &["provision-engine#start: ", &started]);
    server.stop();
}

#[test]
fn the_level_of_the_file_decides_what_is_written() {
    let place = place();
    let server = server(&place, ":log:\n  :level: 2\n");
    get(&format!("{}/serverless-runtimes/1", server.url));
    wait_for(&place, "api.log", &["\"GET /serverless-runtimes/1 HTTP/1.1\" 401 "]);
    server.stop();
    assert_eq!(read(&place, "engine.log").lines().count(), 1, "{}", read(&place, "engine.log"));
}

#[test]
fn a_start_puts_the_last_logs_aside_and_a_hangup_begins_new_ones() {
    let place = place();
    server(&place, ":log:\n  :level: 1\n").stop();
    let second = server(&place, ":log:\n  :level: 1\n");
    for name in ["engine.log", "CloudClient.log", "api.log"] {
        assert_eq!(aside(&place, name).len(), 1, "{name}");
    }
    let moved = place.path("logs").join("moved");
    fs::rename(place.path("logs").join("api.log"), &moved).unwrap();
    let before = fs::read_to_string(&moved).unwrap();
    second.going.signal(Signal::HUP);
    // The signal and the request are on different ways, so it may take more than one.
    until_or(
        || {
            get(&format!("{}/serverless-runtimes/1", second.url));
            read(&place, "api.log").contains("GET /serverless-runtimes/1").then_some(())
        },
        || format!("api.log was not begun anew; it was {before}"),
    );
    second.stop();
}

#[test]
fn a_second_server_leaves_the_logs_of_the_first_alone() {
    let place = place();
    let first = server(&place, ":port: 0\n");
    let ran = place.expect(1, &["serve", "--engine-conf", "engine.conf"]);
    assert!(ran.err.contains("another provision-engine"), "{ran:?}");
    let other = place.path("other");
    let ran = place.expect(
        1,
        &[
            "serve",
            "--engine-conf",
            "engine.conf",
            "--data-dir",
            other.to_str().unwrap(),
            "--listen",
            "127.0.0.1:0",
        ],
    );
    assert!(ran.err.contains("another engine writes its logs to logs"), "{ran:?}");
    assert!(aside(&place, "engine.log").is_empty());
    first.stop();
}
