use std::io::Write;
use std::net::TcpListener;

use super::*;

/// A control whose program is this test binary, which plays the engine in `pretend_to_serve`.
fn control(temporary: &tempfile::TempDir) -> Control {
    Control::new(DataDir::new(temporary.path().join("data"))).unwrap()
}

/// The test runner takes what it does not know for a filter, so the child can find its part in it.
fn part(control: &Control, part: &str) -> Vec<OsString> {
    let words = ["--exact", "background::tests::pretend_to_serve", "--nocapture"];
    let mut arguments: Vec<OsString> = words.iter().map(OsString::from).collect();
    arguments.push(format!("part={part}={}", control.dir.path().display()).into());
    arguments
}

/// Does nothing, except in the child processes of the tests below.
#[test]
fn pretend_to_serve() {
    let Some(argument) =
        std::env::args().find_map(|argument| argument.strip_prefix("part=").map(str::to_owned))
    else {
        return;
    };
    let (part, dir) = argument.split_once('=').unwrap();
    println!("playing {part}");
    if part == "broken" {
        std::process::exit(7);
    }
    let lock = DataDirLock::acquire(&DataDir::new(dir)).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let _file = PidFile::create(&lock, listener.local_addr().unwrap(), None).unwrap();
    let answer = if part == "well" { "HTTP/1.1 200 OK\r\n\r\n" } else { "HTTP/1.1 503 No\r\n\r\n" };
    // Ends by itself, should the test that started it be gone.
    for _ in 0..500 {
        if let Ok((mut stream, _)) = listener.accept() {
            stream.set_nonblocking(false).unwrap();
            let mut request = [0; 1024];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(answer.as_bytes());
        }
        sleep(Duration::from_millis(10));
    }
}

#[test]
fn it_starts_once_and_stops_once() {
    let temporary = tempfile::tempdir().unwrap();
    let control = control(&temporary);
    let arguments = part(&control, "well");
    assert_eq!(control.status().unwrap().exit_code(), 3);

    let StartResult::Now(first) = control.start(&arguments, Duration::from_secs(15)).unwrap() else {
        panic!("not now")
    };
    let status = control.status().unwrap();
    assert_eq!(status, Status::Running(first.clone()));
    assert_eq!(status.exit_code(), 0);
    let again = control.start(&arguments, Duration::from_secs(15)).unwrap();
    assert!(
        again.to_string().starts_with(&format!("already running (pid {}) at http://127.0.0.1:", first.pid))
    );
    let error_response = DataDirLock::acquire(&control.dir).unwrap_err().to_string();
    assert!(
        error_response.starts_with(&format!("another provision-engine (pid {})", first.pid)),
        "{error_response}"
    );

    let StartResult::Now(second) =
        control.restart(&arguments, Duration::from_secs(15), Duration::from_secs(5), false).unwrap()
    else {
        panic!("not restarted")
    };
    assert_ne!(first.pid, second.pid);

    let stopped = control.stop(Duration::from_secs(5), false).unwrap();
    assert_eq!(stopped, Stopped::Now { pid: second.pid });
    // The child was ended by a signal, so it could not remove its file.
    assert_eq!(control.status().unwrap(), Status::Stale);
    assert_eq!(control.stop(Duration::ZERO, false).unwrap(), Stopped::WasNotRunning);
}

#[test]
fn it_starts_again_at_once_after_each_kill() {
    let temporary = tempfile::tempdir().unwrap();
    let control = control(&temporary);
    let arguments = part(&control, "well");
    let mut pids = std::collections::BTreeSet::new();
    for _ in 0..20 {
        let started = control.start(&arguments, Duration::from_secs(15)).unwrap();
        let StartResult::Now(running) = started else { panic!("{started}, although it was killed") };
        pids.insert(running.pid);
        process::signal(running.pid, Signal::KILL).unwrap();
    }
    assert_eq!(pids.len(), 20);
}

#[test]
fn an_engine_that_stops_again_is_told_with_what_it_printed() {
    let temporary = tempfile::tempdir().unwrap();
    let control = control(&temporary);
    control.dir.create().unwrap();
    fs::write(control.dir.output_file(), "from an earlier start\n").unwrap();
    let error = control.start(&part(&control, "broken"), Duration::from_secs(15)).unwrap_err().to_string();
    assert!(error.starts_with("provision-engine has stopped again (exit status: 7); the end of "), "{error}");
    assert!(error.contains("playing broken"), "{error}");
    assert!(!error.contains("earlier"), "{error}");
}

#[test]
fn an_engine_that_is_never_healthy_is_stopped() {
    let temporary = tempfile::tempdir().unwrap();
    let control = control(&temporary);
    let error = control.start(&part(&control, "ill"), Duration::from_millis(100)).unwrap_err().to_string();
    assert!(error.starts_with("provision-engine was not healthy after 100ms and was stopped; "), "{error}");
    assert!(!matches!(control.status().unwrap(), Status::Running(_)));
    DataDirLock::acquire(&control.dir).unwrap();
}

#[test]
fn a_program_that_cannot_be_started_is_named() {
    let temporary = tempfile::tempdir().unwrap();
    let control = Control { program: PathBuf::from("/nowhere/engine"), ..control(&temporary) };
    let error = control.start(&[], Duration::ZERO).unwrap_err();
    assert_eq!(error.to_string(), "cannot start /nowhere/engine");
}

#[test]
fn an_engine_that_ignores_the_signal_is_killed_only_by_force() {
    let temporary = tempfile::tempdir().unwrap();
    let mut child = Command::new("sh")
        .args(["-c", "trap '' TERM; echo ready; while :; do read x; done"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = [0; 6];
    child.stdout.take().unwrap().read_exact(&mut ready).unwrap();
    let program = fs::read_link(format!("/proc/{}/exe", child.id())).unwrap();
    let control = Control { program, ..control(&temporary) };
    let pid = child.id();
    pid_file(&control, pid);

    let error = control.stop(Duration::from_millis(40), false).unwrap_err();
    assert_eq!(error.to_string(), format!("pid {pid} is still running after 40ms: wait, or use --force"));
    assert_eq!(control.stop(Duration::ZERO, true).unwrap(), Stopped::Killed { pid });
    child.wait().unwrap();
}

#[test]
fn a_pid_file_of_a_dead_or_other_process_is_stale() {
    let temporary = tempfile::tempdir().unwrap();
    let mut control = control(&temporary);
    pid_file(&control, u32::MAX);
    assert_eq!(control.status().unwrap(), Status::Stale);
    assert_eq!(control.status().unwrap().to_string(), "not running (stale pid file)");

    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    pid_file(&control, child.id());
    assert_eq!(control.status().unwrap(), Status::Stale);

    pid_file(&control, std::process::id());
    assert!(matches!(control.status().unwrap(), Status::Running(_)));
    control.program = PathBuf::from("/bin/other");
    assert_eq!(control.status().unwrap(), Status::Stale);
    assert_eq!(control.stop(Duration::ZERO, true).unwrap(), Stopped::WasNotRunning);
    write_entry(&control, std::process::id(), std::env::current_exe().ok());
    assert!(matches!(control.status().unwrap(), Status::Running(_)), "a server under another name");

    fs::write(control.dir.pid_file(), "no JSON").unwrap();
    assert_eq!(control.status().unwrap(), Status::Stale);
}

#[test]
fn the_pid_file_lives_as_long_as_its_value() {
    let temporary = tempfile::tempdir().unwrap();
    let control = control(&temporary);
    let lock = DataDirLock::acquire(&control.dir).unwrap();
    pid_file(&control, u32::MAX);
    let file = PidFile::create(&lock, "127.0.0.1:1337".parse().unwrap(), None).unwrap();
    let text = fs::read_to_string(control.dir.pid_file()).unwrap();
    let program = std::env::current_exe().unwrap();
    let expected = serde_json::json!({
        "pid": std::process::id(), "listen": "127.0.0.1:1337", "program": program,
    });
    assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), expected);
    drop(file);
    assert_eq!(control.status().unwrap(), Status::NotRunning);

    let file = PidFile::create(&lock, "127.0.0.1:1337".parse().unwrap(), None).unwrap();
    pid_file(&control, u32::MAX);
    drop(file);
    assert_eq!(control.status().unwrap(), Status::Stale);
}

#[test]
fn only_the_last_lines_are_shown() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("out");
    let lines: Vec<String> = (0..100).map(|n| format!("line {n}")).collect();
    fs::write(&path, lines.join("\n")).unwrap();
    let tail = tail(&path, 0);
    assert_eq!(tail.lines().count(), 1 + TAIL_LINES);
    assert!(tail.ends_with("\n  line 98\n  line 99"), "{tail}");
}

#[test]
fn a_running_engine_says_where_and_since_when() {
    let running = Running {
        pid: 7,
        listen: "[::1]:80".parse().unwrap(),
        local: None,
        since: time::macros::datetime!(2026-01-02 3:04:05.6 UTC),
        program: PathBuf::from("/bin/provision-engine"),
    };
    assert_eq!(running.to_string(), "running (pid 7) at http://[::1]:80 since 2026-01-02T03:04:05Z");
}

fn pid_file(control: &Control, pid: u32) {
    write_entry(control, pid, None);
}

fn write_entry(control: &Control, pid: u32, program: Option<PathBuf>) {
    control.dir.create().unwrap();
    let entry = ProcessEntry { pid, listen: "127.0.0.1:1337".parse().unwrap(), local: None, program };
    fs::write(control.dir.pid_file(), serde_json::to_vec(&entry).unwrap()).unwrap();
}
