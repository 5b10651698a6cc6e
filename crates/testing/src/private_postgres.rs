//! A Postgres server of our own for tests and measurements, thrown away afterwards.
//!
//! It lives in a temporary directory and listens on a free loopback port. It trusts everybody on this
//! machine, so it must never hold anything that matters.
//!
//! The server is gone when its [`PrivatePostgres`] is dropped, and also when our process dies in any other
//! way: a small watchdog process holds the other end of a pipe, and tidies up when our end closes. So it is
//! fine to keep one server in a `static` for a whole test run. Should the watchdog die too, the next start
//! finds the directory, sees that no process holds its lock, and tidies up then.

mod programs;
mod standby;

use std::env;
use std::fs::{self, File};
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;
use tracing::{debug, warn};

use self::programs::{Account, find_programs};

const DIR_PREFIX: &str = "provision-engine-postgres-";
const MAX_CONNECTIONS: u16 = 200;
const WAIT_SECONDS: &str = "30";
/// Another process may take the port between our look and the server's start.
const PORT_TRIES: usize = 5;
/// A killed server's processes notice one after the other that it is gone.
const DYING_TRIES: usize = 50;
const DYING_PAUSE: Duration = Duration::from_millis(100);
const LOG_TAIL_LINES: usize = 20;

/// Waits for the end of its input, stops the server of the data directory `$2`, and removes `$1`.
///
/// A process id in an old file may belong to another process by now, so the process has to name the directory.
/// A dead process that no process has waited for names nothing, and that is right too. A server that was killed leaves its
/// file, and with it the shared memory of its lock, which it names in line 7.
const TIDY_UP: &str = r#"
trap '' HUP INT TERM
data=$2
runs() {
    if [ -e /proc/self ]; then grep -qF -- "$data" "/proc/$pid/cmdline"; else kill -0 "$pid"; fi
}
cat >/dev/null
pid=$(sed -n 1p "$data/postmaster.pid")
segment=$(sed -n '7s/^ *\([0-9]*\) *\([0-9]*\)$/\1 *\2/p' "$data/postmaster.pid")
if [ -n "$pid" ] && runs; then
    kill -QUIT "$pid"
    tries=0
    while runs && [ "$tries" -lt 100 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
fi
if [ -e "$data/postmaster.pid" ] && [ -n "$segment" ] && grep -q "^ *$segment " /proc/sysvipc/shm; then
    ipcrm -m "${segment#*\*}"
fi
rm -rf -- "$1"
"#;

#[derive(Debug, thiserror::Error)]
pub enum PrivatePostgresError {
    #[error("no PostgreSQL here: install PostgreSQL, on Debian: apt-get install postgresql")]
    NotFound,
    #[error(
        "PostgreSQL does not run as root, and there is no user `postgres` to run it as: \
         install PostgreSQL, on Debian: apt-get install postgresql"
    )]
    NoAccount,
    #[error("the database name {0:?} has other characters than a-z, 0-9 and _")]
    BadName(String),
    #[error("cannot {doing}")]
    Io { doing: String, source: io::Error },
    #[error("{program} failed: {output}")]
    Failed { program: String, output: String },
}

type Result<T> = std::result::Result<T, PrivatePostgresError>;

#[derive(Debug, Clone)]
pub struct PrivatePostgresOptions {
    /// Without this a commit does not wait for the disk: much faster, and lost when the machine stops.
    pub durable: bool,
    pub shared_buffers: String,
    /// Further settings, by the names of `postgresql.conf`. They win over ours.
    pub settings: Vec<(String, String)>,
    /// Where the server's own directory is made, for example on a small tmpfs. Otherwise where all temporary
    /// files go. As root, the user `postgres` must be able to reach it.
    pub parent_dir: Option<PathBuf>,
}

impl Default for PrivatePostgresOptions {
    fn default() -> Self {
        let shared_buffers = "128MB".into();
        PrivatePostgresOptions { durable: false, shared_buffers, settings: Vec::new(), parent_dir: None }
    }
}

/// A running server, unless it was stopped on purpose.
#[derive(Debug)]
pub struct PrivatePostgres {
    programs: PathBuf,
    account: Account,
    port: u16,
    watchdog: Child,
    home: TempDir,
    /// Held as long as we live, so that others know that the directory is in use.
    _lock: File,
}

impl PrivatePostgres {
    /// Makes a database cluster and starts its server. Blocks for a second or a few.
    pub fn start(options: &PrivatePostgresOptions) -> Result<PrivatePostgres> {
        let mut server = PrivatePostgres::without_data(options)?;
        server.initialise(options)?;
        server.start_on_a_free_port()?;
        Ok(server)
    }

    /// A directory with its lock and its watchdog. Dropping it takes everything back.
    fn without_data(options: &PrivatePostgresOptions) -> Result<PrivatePostgres> {
        let account = Account::for_server()?;
        let programs = find_programs(account)?;
        let parent = options.parent_dir.clone().unwrap_or_else(env::temp_dir);
        let parent = parent.canonicalize().map_err(io(format!("find {}", parent.display())))?;
        remove_leftovers(&parent, account);

        let home = tempfile::Builder::new()
            .prefix(DIR_PREFIX)
            .tempdir_in(&parent)
            .map_err(io(format!("make a directory in {}", parent.display())))?;
        let lock = take_lock(home.path()).map_err(io("lock the directory of the server"))?;
        let watchdog = tidy_up(home.path(), Stdio::piped()).map_err(io("start the watchdog"))?;
        let server = PrivatePostgres { programs, account, port: 0, watchdog, home, _lock: lock };
        if account.is_another {
            chown(server.home.path(), Some(account.uid), Some(account.gid))
                .map_err(io("give the directory to the user `postgres`"))?;
        }
        Ok(server)
    }

    /// `postgres://postgres@127.0.0.1:port/database`; the database `postgres` is always there.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@{}:{}/{database}", Ipv4Addr::LOCALHOST, self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process id of the server, if it runs. Killing that process is a fair test.
    pub fn pid(&self) -> Option<u32> {
        let text = fs::read_to_string(self.pid_file()).ok()?;
        let pid = text.lines().next()?.trim().parse().ok()?;
        is_running(pid, &self.data_dir()).then_some(pid)
    }

    pub fn create_database(&self, name: &str) -> Result<()> {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if name.is_empty() || !name.chars().all(is_plain) {
            return Err(PrivatePostgresError::BadName(name.into()));
        }
        self.execute(&format!("create database \"{name}\""))
    }

    /// The server dies as in a crash and comes back on the same port. What was committed but not yet on the
    /// disk is recovered from the log.
    pub fn restart_immediate(&self) -> Result<()> {
        self.control("restart", &["-m", "immediate", "-l", &self.log_file()])
    }

    /// The server dies as in a crash. Stopping a server that does not run is fine.
    pub fn stop_immediate(&self) -> Result<()> {
        match self.pid() {
            Some(_) => self.control("stop", &["-m", "immediate"]),
            None => Ok(()),
        }
    }

    /// Starts a server that was stopped or killed, on the same port.
    pub fn start_again(&self) -> Result<()> {
        let mut tries = 0;
        loop {
            tries += 1;
            if self.pid().is_none() {
                // A killed server leaves this file, and the next one takes a dead process that no process has
                // waited for as a living one. Without the file it still refuses while a part of the old one
                // lives.
                let _ = fs::remove_file(self.pid_file());
            }
            match self.control("start", &["-l", &self.log_file()]) {
                Err(error) if tries < DYING_TRIES && says_that_the_old_server_lives(&error) => {
                    thread::sleep(DYING_PAUSE);
                }
                answer => return answer,
            }
        }
    }

    fn initialise(&self, options: &PrivatePostgresOptions) -> Result<()> {
        let data = self.data_dir().display().to_string();
        let plain = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"];
        self.run("initdb", &[["--pgdata", &data].as_slice(), &plain].concat())?;
        self.append_settings(&all_settings(options))
    }

    fn start_on_a_free_port(&mut self) -> Result<()> {
        let mut tries = 0;
        loop {
            tries += 1;
            self.port = free_port().map_err(io("find a free port"))?;
            self.append_settings(&[("port".into(), self.port.to_string())])?;
            match self.start_again() {
                Err(error) if tries < PORT_TRIES && error.to_string().contains("Address already in use") => {
                    debug!(port = self.port, "port already in use, trying another one");
                }
                answer => return answer,
            }
        }
    }

    /// Later lines win over earlier ones, so this also changes a setting.
    fn append_settings(&self, settings: &[(String, String)]) -> Result<()> {
        let doing = "write the server's configuration";
        let path = self.data_dir().join("postgresql.conf");
        let mut file = File::options().append(true).open(path).map_err(io(doing))?;
        for (name, value) in settings {
            writeln!(file, "{name} = '{}'", value.replace('\'', "''")).map_err(io(doing))?;
        }
        Ok(())
    }

    fn execute(&self, statement: &str) -> Result<()> {
        self.run("psql", &["-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", statement, &self.url("postgres")])
    }

    fn control(&self, verb: &str, arguments: &[&str]) -> Result<()> {
        let data = self.data_dir().display().to_string();
        let common = [verb, "--wait", "--timeout", WAIT_SECONDS, "--pgdata", &data];
        self.run("pg_ctl", &[&common, arguments].concat())
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Result<()> {
        let mut command = self.account.command(&self.programs.join(program));
        let read_before = fs::metadata(self.log_file()).map_or(0, |metadata| metadata.len());
        let Output { status, stdout, stderr } =
            command.args(arguments).output().map_err(io(format!("run {program}")))?;
        if status.success() {
            return Ok(());
        }
        let mut output = format!("{status}\n");
        output.push_str(&String::from_utf8_lossy(&stdout));
        output.push_str(&String::from_utf8_lossy(&stderr));
        let log = fs::read(self.log_file()).unwrap_or_default();
        let updates = usize::try_from(read_before).ok().and_then(|from| log.get(from..)).unwrap_or_default();
        let log = String::from_utf8_lossy(updates);
        let lines: Vec<&str> = log.lines().collect();
        output.push_str("the server's log ends with:\n");
        output.push_str(&lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n"));
        Err(PrivatePostgresError::Failed { program: program.into(), output: output.trim_end().into() })
    }

    fn data_dir(&self) -> PathBuf {
        data_dir_in(self.home.path())
    }

    fn pid_file(&self) -> PathBuf {
        self.data_dir().join("postmaster.pid")
    }

    fn log_file(&self) -> String {
        self.home.path().join("log").display().to_string()
    }
}

impl Drop for PrivatePostgres {
    fn drop(&mut self) {
        drop(self.watchdog.stdin.take());
        if let Err(error) = self.watchdog.wait() {
            warn!(%error, "waiting for the private PostgreSQL server to stop failed");
        }
    }
}

fn all_settings(options: &PrivatePostgresOptions) -> Vec<(String, String)> {
    let mut settings = vec![
        ("listen_addresses", Ipv4Addr::LOCALHOST.to_string()),
        // The path of a socket may be too long for the system, and no process needs it.
        ("unix_socket_directories", String::new()),
        ("max_connections", MAX_CONNECTIONS.to_string()),
        ("shared_buffers", options.shared_buffers.clone()),
        // In files of the data directory, which go with it; what is in `/dev/shm` outlives a server that is killed.
        ("dynamic_shared_memory_type", "mmap".into()),
    ];
    if !options.durable {
        settings.extend(["fsync", "synchronous_commit", "full_page_writes"].map(|name| (name, "off".into())));
    }
    let ours = settings.into_iter().map(|(name, value)| (name.to_owned(), value));
    ours.chain(options.settings.iter().cloned()).collect()
}

fn says_that_the_old_server_lives(error: &PrivatePostgresError) -> bool {
    let text = error.to_string();
    text.contains("\"postmaster.pid\" already exists") || text.contains("pre-existing shared memory block")
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

fn data_dir_in(home: &Path) -> PathBuf {
    home.join("data")
}

/// As in [`TIDY_UP`]: the process has to name the directory, where the system lets us look.
fn is_running(pid: u32, data_dir: &Path) -> bool {
    if Path::new("/proc/self").exists() {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        return words.split(|byte| *byte == 0).any(|word| word == data_dir.as_os_str().as_bytes());
    }
    let process = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    process.is_some_and(|process| rustix::process::test_kill_process(process).is_ok())
}

/// The file appears only when it is locked, so that no process takes a directory for left over while it is new.
fn take_lock(home: &Path) -> io::Result<File> {
    let unlocked = home.join("owner.new");
    let mut file = File::create_new(&unlocked)?;
    writeln!(file, "{}", std::process::id())?;
    file.lock()?;
    fs::rename(unlocked, home.join("owner"))?;
    Ok(file)
}

fn tidy_up(home: &Path, until: Stdio) -> io::Result<Child> {
    Command::new("/bin/sh")
        .args(["-c", TIDY_UP, "sh"])
        .arg(home)
        .arg(data_dir_in(home))
        .stdin(until)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .current_dir("/")
        // A Ctrl-C in the terminal is for us, and the watchdog has to outlive us.
        .process_group(0)
        .spawn()
}

/// Tidies up after processes that died together with their watchdog. Best effort: what fails now is tried
/// again at the next start.
fn remove_leftovers(parent: &Path, account: Account) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(DIR_PREFIX)
            && entry.metadata().is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == account.uid);
        let Some(lock) = is_ours.then(|| File::open(entry.path().join("owner")).ok()).flatten() else {
            continue;
        };
        if lock.try_lock().is_ok() {
            let tidied = tidy_up(&entry.path(), Stdio::null()).and_then(|mut child| child.wait());
            debug!(dir = %entry.path().display(), ?tidied, "removed a server without an owner");
        }
    }
}

fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> PrivatePostgresError {
    let doing = doing.into();
    move |source| PrivatePostgresError::Io { doing, source }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    #[expect(clippy::used_underscore_binding, reason = "only a test lets go of the lock early")]
    fn a_server_whose_owner_and_watchdog_died_is_removed_by_the_next_start() {
        let parent = tempfile::tempdir().unwrap();
        // As root, the server's user has to get through to its own directory.
        fs::set_permissions(parent.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let options = PrivatePostgresOptions {
            shared_buffers: "16MB".into(),
            parent_dir: Some(parent.path().canonicalize().unwrap()),
            ..PrivatePostgresOptions::default()
        };
        let mut orphan = PrivatePostgres::start(&options).unwrap();
        remove_leftovers(parent.path(), orphan.account);
        assert!(orphan.pid().is_some(), "a server with an owner was removed");

        let pid = orphan.pid().unwrap();
        orphan.watchdog.kill().unwrap();
        orphan.watchdog.wait().unwrap();
        orphan._lock.unlock().unwrap();
        let next = PrivatePostgres::start(&options).unwrap();
        assert!(!orphan.home.path().exists());
        assert!(!is_running(pid, &orphan.data_dir()));
        assert!(next.pid().is_some());
    }
}
