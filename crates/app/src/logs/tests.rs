mod components;

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use tracing_appender::non_blocking::NonBlockingBuilder;

use super::outputs::Output;
use super::*;

struct Noon;

impl FormatTime for Noon {
    fn format_time(&self, w: &mut Writer<'_>) -> fmt::Result {
        w.write_str("2026-01-02T12:00:00Z")
    }
}

#[derive(Clone, Default)]
struct LogBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for LogBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn settings(flags: &[(&str, &str)]) -> config::LogSettings {
    let flags: Vec<_> = flags.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    crate::App::new("test").load(None, std::iter::empty(), &flags).unwrap().0.log
}

/// What the code writes to the log under these settings.
fn written(flags: &[(&str, &str)], code: impl FnOnce()) -> String {
    let log = settings(flags);
    let page = LogBuffer::default();
    let (queue, worker) = NonBlockingBuilder::default().finish(page.clone());
    let outputs = Outputs { format: log.format, all: vec![Output::Stream(queue)] };
    let subscriber = subscriber(&log, outputs, Noon, None).unwrap();
    tracing::subscriber::with_default(subscriber, code);
    // Dropping the worker waits until everything is written.
    drop(worker);
    let bytes = page.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

fn work() {
    let request = tracing::info_span!("request", request.id = "r1", status = tracing::field::Empty);
    request.record("status", 202);
    let _request = request.entered();
    let _operation =
        tracing::info_span!("operation", operation.id = %42, attempt = 1, skipped = Some("x")).entered();
    tracing::info!(target: "engine::runner", attempt = 2, ok = true, note = "two words", "said hello to Ann");
}

#[test]
fn a_json_line_has_the_fields_of_all_spans_side_by_side() {
    assert_eq!(
        written(&[("log.format", "json")], work),
        "{\"time\":\"2026-01-02T12:00:00Z\",\"level\":\"INFO\",\"target\":\"engine::runner\",\
         \"message\":\"said hello to Ann\",\"request.id\":\"r1\",\"status\":202,\"operation.id\":\"42\",\
         \"attempt\":2,\"skipped\":\"x\",\"ok\":true,\"note\":\"two words\"}\n",
    );
}

#[test]
fn a_text_line_has_them_too() {
    assert_eq!(
        written(&[], work),
        "2026-01-02T12:00:00Z  INFO engine::runner: said hello to Ann request.id=r1 status=202 \
         operation.id=42 attempt=2 skipped=x ok=true note=\"two words\"\n",
    );
}

#[test]
fn a_field_never_takes_the_place_of_a_lines_own_name() {
    let line = written(&[("log.format", "json")], || tracing::warn!(level = 3, time = "late", "odd"));
    let value: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&value["level"], &value["level_"]), (&"WARN".into(), &3.into()));
    assert_eq!(value["time_"], "late");
}

#[test]
fn a_line_of_the_log_crate_keeps_its_own_target() {
    let line = written(&[], || {
        tracing::info!(target: "log", { log.target = "rustls::client", log.line = 7 }, "shook hands");
    });
    assert_eq!(line, "2026-01-02T12:00:00Z  INFO rustls::client: shook hands\n");
}

#[test]
fn nothing_from_outside_can_begin_a_line_of_its_own() {
    let evil = "a\nfake line \u{1b}[2J";
    for format in ["text", "json"] {
        let text = written(&[("log.format", format)], || tracing::info!(name = evil, "hello {evil}"));
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}

#[test]
fn levels_are_set_by_target_and_spans_are_kept_at_any_level() {
    let code = || {
        let _span = tracing::info_span!("request", request.id = "r1").entered();
        tracing::debug!(target: "engine", "shown");
        tracing::info!(target: "other", "hidden");
        tracing::warn!(target: "other", "shown too");
    };
    assert_eq!(
        written(&[("log.level", "engine=debug,warn")], code),
        "2026-01-02T12:00:00Z DEBUG engine: shown request.id=r1\n\
         2026-01-02T12:00:00Z  WARN other: shown too request.id=r1\n",
    );
    assert_eq!(written(&[("log.level", "off")], code), "");
}

#[test]
fn an_error_is_told_with_its_causes() {
    let inner = io::Error::other("no route");
    let error = LogError::File { path: "/x".to_owned(), source: inner };
    let line = written(&[], || tracing::warn!(error = &error as &dyn std::error::Error, "lost"));
    assert!(line.ends_with("lost error=\"log.file: cannot open /x: no route\"\n"), "{line}");
}

/// A disk that takes a few bytes and is then full until an operator makes room.
#[derive(Default)]
struct Disk {
    room: usize,
    content: Vec<u8>,
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let fits = bytes.len().min(self.room);
        if fits == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.room -= fits;
        self.content.extend(&bytes[..fits]);
        Ok(fits)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_loses_lines_and_the_next_good_one_stands_alone() {
    let mut disk = Disk { room: 6, ..Disk::default() };
    let mut is_torn = false;
    let mut line =
        |disk: &mut Disk, text: &str| outputs::whole_line(disk, &mut is_torn, text.as_bytes()).is_ok();
    assert!(line(&mut disk, "one\n"));
    assert!(!line(&mut disk, "two\n"));
    assert!(!line(&mut disk, "three\n"));
    disk.room = 100;
    assert!(line(&mut disk, "four\n"));
    assert!(line(&mut disk, "five\n"));
    assert_eq!(String::from_utf8(disk.content).unwrap(), "one\ntw\nfour\nfive\n");
}

#[test]
fn a_log_on_a_device_that_is_always_full_never_fails() {
    let log = settings(&[("log.to", "file,file"), ("log.file", "/dev/full")]);
    let (outputs, guard) = outputs::open(&log).unwrap();
    assert_eq!(outputs.all.len(), 1);
    tracing::subscriber::with_default(subscriber(&log, outputs, Noon, None).unwrap(), || {
        for _ in 0..100 {
            tracing::info!("hello");
        }
    });
    drop(guard);
}

#[test]
fn the_log_file_is_private_and_follows_a_rotation() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("deep/engine.log");
    let reopen = Arc::default();
    let mut file = outputs::LogFile::open(&path, Arc::clone(&reopen)).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

    file.write_all(b"one\n").unwrap();
    std::fs::rename(&path, dir.path().join("old")).unwrap();
    file.write_all(b"two\n").unwrap();
    reopen.store(true, std::sync::atomic::Ordering::Relaxed);
    file.write_all(b"three\n").unwrap();
    assert_eq!(std::fs::read_to_string(dir.path().join("old")).unwrap(), "one\ntwo\n");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "three\n");
}

#[test]
fn a_file_that_cannot_be_opened_is_told_at_once() {
    let log = settings(&[("log.to", "file"), ("log.file", "/dev/null/engine.log")]);
    let error = outputs::open(&log).err().unwrap();
    assert_eq!(error.to_string(), "log.file: cannot open /dev/null/engine.log");
}
