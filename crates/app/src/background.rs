//! The engine in the background: start, stop, restart and status, by way of its pid file.

mod process;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::config::Period;
use crate::paths::{DataDir, DataDirError, DataDirLock};
use process::{Health, health};

pub(crate) use process::reachable;

/// How long to pause between two looks at another process.
const PAUSE: Duration = Duration::from_millis(20);

/// How long a killed process may take to disappear.
const AFTER_KILL: Duration = Duration::from_secs(5);

/// How much of its output is shown when the engine does not start.
const TAIL_LINES: usize = 20;
const TAIL_BYTES: u64 = 16 * 1024;

/// What the pid file says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ProcessEntry {
    pid: u32,
    listen: SocketAddr,
    /// Where commands on the same machine are answered, if `listen` speaks TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    local: Option<SocketAddr>,
    /// The program that runs, which may have another name than the one that reads this file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    program: Option<PathBuf>,
}

impl ProcessEntry {
    fn read(path: &Path) -> io::Result<Option<ProcessEntry>> {
        match fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The pid file of this process. It is there from when the engine listens until this value is dropped.
#[derive(Debug)]
pub(crate) struct PidFile {
    path: PathBuf,
}

impl PidFile {
    /// Only the holder of the lock can write it, so an older pid file is always that of a dead process.
    pub(crate) fn create(
        lock: &DataDirLock,
        listen: SocketAddr,
        local: Option<SocketAddr>,
    ) -> Result<PidFile> {
        let path = lock.dir().pid_file();
        let program = std::env::current_exe().ok();
        let entry = ProcessEntry { pid: std::process::id(), listen, local, program };
        let draft = path.with_extension("pid.new");
        // Written aside and moved into place, so that a reader never sees half of it.
        fs::write(&draft, serde_json::to_vec(&entry)?)
            .and_then(|()| fs::rename(&draft, &path))
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(PidFile { path })
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        // A file that another user has put there meanwhile is not ours to remove.
        if let Ok(Some(entry)) = ProcessEntry::read(&self.path)
            && entry.pid == std::process::id()
        {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// An engine in the background.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Running {
    pub pid: u32,
    pub listen: SocketAddr,
    pub local: Option<SocketAddr>,
    pub since: OffsetDateTime,
    program: PathBuf,
}

impl Running {
    /// For people and browsers.
    pub(crate) fn url(&self) -> String {
        let scheme = if self.local.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.listen)
    }

    /// For commands on the same machine, which need no certificate.
    pub(crate) fn near(&self) -> SocketAddr {
        self.local.unwrap_or(self.listen)
    }
}

impl fmt::Display for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = self.since.replace_nanosecond(0).unwrap_or(self.since);
        let since = since.format(&Rfc3339).map_err(|_| fmt::Error)?;
        write!(f, "running (pid {}) at {} since {since}", self.pid, self.url())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Status {
    Running(Running),
    /// There is a pid file, but its process is gone or is another program by now.
    Stale,
    NotRunning,
}

impl Status {
    /// As init scripts do it: 0 when it runs, 3 when it does not.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Status::Running(_) => 0,
            Status::Stale | Status::NotRunning => 3,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Status::Running(running) => running.fmt(f),
            Status::Stale => f.write_str("not running (stale pid file)"),
            Status::NotRunning => f.write_str("not running"),
        }
    }
}

#[derive(Debug)]
pub(crate) enum StartResult {
    Now(Running),
    Already(Running),
}

impl fmt::Display for StartResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartResult::Now(running) => running.fmt(f),
            StartResult::Already(running) => write!(f, "already {running}"),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    Now { pid: u32 },
    Killed { pid: u32 },
    WasNotRunning,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stopped::Now { pid } => write!(f, "stopped (pid {pid})"),
            Stopped::Killed { pid } => write!(f, "killed (pid {pid})"),
            Stopped::WasNotRunning => f.write_str("not running"),
        }
    }
}

/// How the engine of one data directory is controlled.
#[derive(Debug)]
pub(crate) struct Control {
    dir: DataDir,
    /// The program that is started. By its name a process is known where the pid file has no program.
    program: PathBuf,
}

impl Control {
    pub(crate) fn new(dir: DataDir) -> Result<Control> {
        let program = std::env::current_exe().context("cannot find the program's own file")?;
        Ok(Control { dir, program })
    }

    pub(crate) fn status(&self) -> Result<Status> {
        let path = self.dir.pid_file();
        let entry = match ProcessEntry::read(&path) {
            Ok(Some(entry)) => entry,
            Ok(None) => return Ok(Status::NotRunning),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
            Err(_) => return Ok(Status::Stale),
        };
        let program = entry.program.unwrap_or_else(|| self.program.clone());
        if !process::is_running(entry.pid, &program) {
            return Ok(Status::Stale);
        }
        // The file is written when the engine begins to listen, so its age is the engine's.
        let Ok(written) = fs::metadata(&path).and_then(|metadata| metadata.modified()) else {
            return Ok(Status::NotRunning);
        };
        Ok(Status::Running(Running {
            pid: entry.pid,
            listen: entry.listen,
            local: entry.local,
            since: written.into(),
            program,
        }))
    }

    /// Starts this program again with `arguments`, in the background, and waits until it is healthy. When it
    /// is not within `timeout`, it is stopped and the error ends with the last lines that it printed.
    pub(crate) fn start(&self, arguments: &[OsString], timeout: Duration) -> Result<StartResult> {
        if let Status::Running(running) = self.status()? {
            // A process that was killed a moment ago still has a pid, and listens no longer.
            let may_be_ending = matches!(health(running.near()), Health::Bad);
            if !may_be_ending || !Control::wait_until_gone(running.pid, &running.program, AFTER_KILL) {
                return Ok(StartResult::Already(running));
            }
        }
        self.dir.create()?;
        self.wait_until_unlocked();
        let path = self.dir.output_file();
        let output = OpenOptions::new().create(true).append(true).mode(0o600).open(&path);
        let output = output.with_context(|| format!("cannot open {}", path.display()))?;
        let before = output.metadata().map_or(0, |metadata| metadata.len());
        let mut child = Command::new(&self.program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            // Signals for the terminal's programs, such as Ctrl-C, are not for the engine.
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {}", self.program.display()))?;
        match self.wait_until_healthy(&mut child, timeout) {
            Ok(running) => Ok(StartResult::Now(running)),
            Err(error) => {
                // A start that failed leaves nothing behind. Both calls fail only if it has ended by itself.
                let _ = child.kill();
                let _ = child.wait();
                bail!("{error}{}", tail(&path, before))
            }
        }
    }

    /// Asks the engine to stop and waits for at most `grace`; with `force` it is killed then.
    pub(crate) fn stop(&self, grace: Duration, force: bool) -> Result<Stopped> {
        let Status::Running(Running { pid, program, .. }) = self.status()? else {
            return Ok(Stopped::WasNotRunning);
        };
        process::signal(pid, Signal::TERM).with_context(|| format!("cannot stop pid {pid}"))?;
        if Control::wait_until_gone(pid, &program, grace) {
            return Ok(Stopped::Now { pid });
        }
        if !force {
            bail!("pid {pid} is still running after {}: wait, or use --force", written(grace));
        }
        process::signal(pid, Signal::KILL).with_context(|| format!("cannot kill pid {pid}"))?;
        if !Control::wait_until_gone(pid, &program, AFTER_KILL) {
            bail!("pid {pid} does not go away although it was killed");
        }
        Ok(Stopped::Killed { pid })
    }

    /// Stops the engine, if it runs, and starts it.
    pub(crate) fn restart(
        &self,
        arguments: &[OsString],
        timeout: Duration,
        grace: Duration,
        force: bool,
    ) -> Result<StartResult> {
        self.stop(grace, force)?;
        self.start(arguments, timeout)
    }

    fn wait_until_healthy(&self, child: &mut Child, timeout: Duration) -> Result<Running> {
        let mut spent = Duration::ZERO;
        loop {
            if let Some(status) = child.try_wait()? {
                bail!("provision-engine has stopped again ({status})");
            }
            match self.status()? {
                // The pid tells our engine from another program that answers at the same address.
                Status::Running(running) if running.pid == child.id() => match health(running.near()) {
                    Health::Good => return Ok(running),
                    Health::Bad => {}
                    Health::Silent => spent += process::PROBE_LIMIT,
                },
                _ => {}
            }
            if spent >= timeout {
                bail!("provision-engine was not healthy after {} and was stopped", written(timeout));
            }
            sleep(PAUSE);
            spent += PAUSE;
        }
    }

    /// The kernel releases the lock of a killed process after its pid. A lock that stays is reported by the server.
    fn wait_until_unlocked(&self) {
        let mut spent = Duration::ZERO;
        while spent < AFTER_KILL && matches!(DataDirLock::acquire(&self.dir), Err(DataDirError::InUse { .. }))
        {
            sleep(PAUSE);
            spent += PAUSE;
        }
    }

    fn wait_until_gone(pid: u32, program: &Path, limit: Duration) -> bool {
        let mut spent = Duration::ZERO;
        while process::is_running(pid, program) {
            if spent >= limit {
                return false;
            }
            sleep(PAUSE);
            spent += PAUSE;
        }
        true
    }
}

fn written(duration: Duration) -> String {
    Period::millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)).to_string()
}

/// The last lines printed since the file was `before` bytes long, or what to read when there are none.
fn tail(path: &Path, before: u64) -> String {
    let text = read_tail(path, before).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    if lines.is_empty() {
        return format!("; it printed nothing to {}", path.display());
    }
    let last = lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n  ");
    format!("; the end of {}:\n  {last}", path.display())
}

fn read_tail(path: &Path, before: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(before.max(length.saturating_sub(TAIL_BYTES))))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}
