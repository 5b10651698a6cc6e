//! Where log lines go. Streams and files are written by threads of their own, behind queues that rather lose
//! lines than make the engine wait.

use std::borrow::Cow;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tracing::Level;
use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};

use super::LogError;
use super::line::LogLine;
use super::syslog::{Syslog, Tag};
use crate::config::{self, LogFormat, LogOutput};

/// How many lines may wait for a slow output.
const QUEUE: usize = 16_384;

/// Where the log daemon of the system listens.
pub(super) const DAEMON: &str = "/dev/log";

pub(super) enum Output {
    Stream(NonBlocking),
    Syslog(Syslog),
}

/// All outputs; each line is put into words once and then given to every one.
pub(super) struct Outputs {
    pub(super) format: LogFormat,
    pub(super) all: Vec<Output>,
}

impl Outputs {
    pub(super) fn write(&self, line: &LogLine) {
        let mut text = match self.format {
            LogFormat::Text => line.text(),
            LogFormat::Json => line.json(),
        };
        text.push('\n');
        let bare = match self.format {
            LogFormat::Text => Cow::Owned(line.text_without_time()),
            LogFormat::Json => Cow::Borrowed(text.trim_end()),
        };
        for output in &self.all {
            output.write(line.level, &text, &bare);
        }
    }
}

impl Output {
    /// A whole line, which ends in a line feed, or else the same without what a log daemon adds itself.
    pub(super) fn write(&self, level: Level, line: &str, bare: &str) {
        match self {
            // The queue counts what it cannot take; there is nowhere to report it.
            Output::Stream(queue) => drop(queue.clone().write_all(line.as_bytes())),
            Output::Syslog(syslog) => syslog.send(level, bare),
        }
    }
}

/// Keeps the outputs going and writes what is still queued when it is dropped.
#[derive(Default)]
pub struct Logs {
    counters: Vec<ErrorCounter>,
    syslog_lost: Arc<AtomicUsize>,
    reopen: Vec<Arc<AtomicBool>>,
    // Dropping these waits, bounded, for the queues to be written.
    workers: Vec<WorkerGuard>,
    /// The right to the directory of the components, until everything is written.
    directory: Option<File>,
}

impl Logs {
    /// How many lines were lost because an output was too slow or not there.
    pub fn lost(&self) -> usize {
        let queued: usize = self.counters.iter().map(ErrorCounter::dropped_lines).sum();
        queued + self.syslog_lost.load(Ordering::Relaxed)
    }

    /// Opens the log files anew with their next lines, after a program that rotates logs has moved them away.
    pub fn reopen(&self) {
        for file in &self.reopen {
            file.store(true, Ordering::Relaxed);
        }
    }

    /// The flag that tells one more file to open itself anew.
    pub(super) fn reopened(&mut self) -> Arc<AtomicBool> {
        let flag = Arc::<AtomicBool>::default();
        self.reopen.push(Arc::clone(&flag));
        flag
    }

    pub(super) fn hold(&mut self, directory: File) {
        self.directory = Some(directory);
    }

    pub(super) fn syslog(&self, path: &Path, tag: Tag) -> Output {
        Output::Syslog(Syslog::new(path, tag, Arc::clone(&self.syslog_lost)))
    }

    pub(super) fn queue(&mut self, name: &str, writer: impl Write + Send + 'static) -> Output {
        let builder = NonBlockingBuilder::default().lossy(true).buffered_lines_limit(QUEUE).thread_name(name);
        let (queue, worker) = builder.finish(writer);
        self.counters.push(queue.error_counter());
        self.workers.push(worker);
        Output::Stream(queue)
    }
}

pub(super) fn open(log: &config::LogSettings) -> Result<(Outputs, Logs), LogError> {
    let mut logs = Logs::default();
    let mut all = Vec::new();
    for (index, output) in log.to.iter().enumerate() {
        if log.to[..index].contains(output) {
            continue;
        }
        all.push(match output {
            LogOutput::Stdout => logs.queue("log-stdout", io::stdout()),
            LogOutput::Stderr => logs.queue("log-stderr", io::stderr()),
            LogOutput::File => {
                let file = LogFile::open(&log.file, logs.reopened())
                    .map_err(|source| LogError::File { path: log.file.display().to_string(), source })?;
                logs.queue("log-file", file)
            }
            LogOutput::Syslog => logs.syslog(Path::new(DAEMON), Tag::PROGRAM),
        });
    }
    Ok((Outputs { format: log.format, all }, logs))
}

/// A file that is appended to. A full disk costs lines, and the lines after it begin on a line of their own.
pub(super) struct LogFile {
    path: PathBuf,
    file: File,
    is_torn: bool,
    reopen: Arc<AtomicBool>,
}

impl LogFile {
    pub(super) fn open(path: &Path, reopen: Arc<AtomicBool>) -> io::Result<LogFile> {
        if let Some(dir) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        }
        Ok(LogFile { path: path.to_owned(), file: append(path)?, is_torn: false, reopen })
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

impl Write for LogFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.reopen.swap(false, Ordering::Relaxed)
            && let Ok(file) = append(&self.path)
        {
            self.file = file;
        }
        whole_line(&mut self.file, &mut self.is_torn, line)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes the line or gives it up: a log that retries on a full disk would never get to the next line.
pub(super) fn whole_line(file: &mut impl Write, is_torn: &mut bool, line: &[u8]) -> io::Result<usize> {
    let start: &[u8] = if *is_torn { b"\n" } else { b"" };
    let written = file.write_all(start).and_then(|()| file.write_all(line));
    *is_torn = written.is_err();
    written.map(|()| line.len())
}
