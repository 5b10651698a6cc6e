//! What every test needs: a place of its own, the program in it, and bounded patience.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde_json::Value;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_provision-engine");
const PAUSE: Duration = Duration::from_millis(20);
/// A minute, which nothing here takes unless it hangs.
const PAUSES_MAX: usize = 3_000;

/// Asks again and again until there is an answer.
#[track_caller]
pub(crate) fn until<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    until_or(ask, || format!("{what} did not come"))
}

/// The same, with something to say about what came instead.
#[track_caller]
pub(crate) fn until_or<T>(mut ask: impl FnMut() -> Option<T>, complain: impl Fn() -> String) -> T {
    for _ in 0..PAUSES_MAX {
        if let Some(answer) = ask() {
            return answer;
        }
        sleep(PAUSE);
    }
    panic!("{}", complain());
}

/// A directory that is gone afterwards, and in it the data directory of one engine.
pub(crate) struct DataDirectory {
    dir: TempDir,
    /// Laid over the empty environment in which everything runs.
    environment: Vec<(String, String)>,
}

impl DataDirectory {
    pub(crate) fn new() -> DataDirectory {
        DataDirectory { dir: tempfile::tempdir().unwrap(), environment: Vec::new() }
    }

    pub(crate) fn env(mut self, name: &str, value: impl Into<String>) -> DataDirectory {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn data(&self, name: &str) -> PathBuf {
        self.path("data").join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// The program with these arguments, with nothing around it but what the test says.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.dir.path()).env("PROVISION_ENGINE_DATA_DIR", self.path("data"));
        // Neither the configuration nor the logs of this machine are any business of a test.
        command.env("PROVISION_ENGINE_PREFIX", self.path("root"));
        command.envs(self.environment.iter().cloned());
        command.current_dir(self.dir.path()).args(arguments).stdin(Stdio::null());
        command
    }

    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.begin(arguments).end()
    }

    /// Runs it and insists on this exit code.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32, arguments: &[&str]) -> Ran {
        let ran = self.run(arguments);
        assert_eq!(ran.code, Some(code), "{arguments:?}\n{}\n{}", ran.out, ran.err);
        ran
    }

    /// Runs it, insists on success, and reads its stdout as JSON.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let ran = self.expect(0, &[arguments, &["-o", "json"]].concat());
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{arguments:?}: {error}\n{}", ran.out))
    }

    /// Starts it without waiting for its end.
    pub(crate) fn begin(&self, arguments: &[&str]) -> Going {
        DataDirectory::spawn(self.command(arguments))
    }

    pub(crate) fn spawn(mut command: Command) -> Going {
        // Files and not pipes, so that nothing waits for a reader.
        let (out, err) = (tempfile::NamedTempFile::new().unwrap(), tempfile::NamedTempFile::new().unwrap());
        command.stdout(out.reopen().unwrap()).stderr(err.reopen().unwrap());
        Going { child: Some(command.spawn().unwrap()), out, err }
    }

    /// A server on any free port. It is healthy and has said how to reach it when this returns.
    #[track_caller]
    pub(crate) fn serve(&self, arguments: &[&str]) -> ServerProcess {
        let going = self.begin_serving(arguments);
        self.healthy(going)
    }

    pub(crate) fn begin_serving(&self, arguments: &[&str]) -> Going {
        self.begin(&[&["serve", "--listen", "127.0.0.1:0"], arguments].concat())
    }

    #[track_caller]
    pub(crate) fn healthy(&self, mut going: Going) -> ServerProcess {
        let pid = going.pid();
        let listen = until("the server", || {
            if let Some(status) = going.status() {
                panic!("the server has stopped again ({status}): {}", going.err());
            }
            let entry: Value =
                serde_json::from_slice(&fs::read(self.data("provision-engine.pid")).ok()?).ok()?;
            // It is written before the welcome is printed.
            let has_welcomed = going.err().contains("stop it:");
            (entry["pid"] == pid && has_welcomed).then(|| entry["listen"].as_str().unwrap().to_owned())
        });
        ServerProcess { going, url: format!("http://{listen}") }
    }

    /// Runs it on a terminal of its own with 80 columns, and types these lines.
    pub(crate) fn typed(&self, arguments: &[&str], lines: &[&str]) -> (Option<i32>, String) {
        let program = self.command(arguments);
        let words = std::iter::once(program.get_program()).chain(program.get_args());
        let line: Vec<String> = words.map(|word| format!("'{}'", word.to_str().unwrap())).collect();
        let line = format!("stty cols 80 && {}", line.join(" "));
        let mut script = Command::new("script");
        script.args(["--quiet", "--flush", "--return", "--command", &line, "/dev/null"]);
        script.env_clear().envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        script.current_dir(program.get_current_dir().unwrap());
        let mut child = script
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("this test needs script in the PATH: {error}"));
        child.stdin.take().unwrap().write_all((lines.join("\n") + "\n").as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).replace('\r', ""))
    }

    /// Starts an operation and answers its id.
    #[track_caller]
    pub(crate) fn submit(&self, arguments: &[&str]) -> String {
        let ran =
            self.expect(0, &[&["operations", "submit", "demo.hello", "-o", "name"], arguments].concat());
        ran.out.trim().to_owned()
    }

    #[track_caller]
    pub(crate) fn phase(&self, id: &str) -> String {
        self.json(&["operations", "show", id])["phase"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(crate) fn wait_for_phase(&self, id: &str, phase: &str) {
        until(phase, || (self.phase(id) == phase).then_some(()));
    }
}

/// A process that a test started. It never outlives the test.
pub(crate) struct Going {
    child: Option<Child>,
    out: tempfile::NamedTempFile,
    err: tempfile::NamedTempFile,
}

impl Going {
    pub(crate) fn pid(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    pub(crate) fn out(&self) -> String {
        read(self.out.path())
    }

    pub(crate) fn err(&self) -> String {
        read(self.err.path())
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.pid()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// How it ended, if it has.
    pub(crate) fn status(&mut self) -> Option<ExitStatus> {
        self.child.as_mut().unwrap().try_wait().unwrap()
    }

    #[track_caller]
    pub(crate) fn end(mut self) -> Ran {
        let status = until("the end of the program", || self.status());
        Ran { code: status.code(), out: self.out(), err: self.err() }
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

pub(crate) struct ServerProcess {
    pub(crate) going: Going,
    pub(crate) url: String,
}

impl ServerProcess {
    /// Gracefully.
    #[track_caller]
    pub(crate) fn stop(self) -> Ran {
        self.going.signal(Signal::TERM);
        self.going.end()
    }

    /// As a crash.
    #[track_caller]
    pub(crate) fn kill(self) {
        self.going.signal(Signal::KILL);
        self.going.end();
    }
}

/// How a program ended and what it said.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

fn read(path: &Path) -> String {
    let mut text = String::new();
    std::io::Read::read_to_string(&mut File::open(path).unwrap(), &mut text).unwrap();
    text
}

/// A sandbox in a process of its own.
pub(crate) struct Sandbox {
    pub(crate) url: String,
    going: Going,
}

impl Sandbox {
    #[track_caller]
    pub(crate) fn start(place: &DataDirectory) -> Sandbox {
        let mut going = place.begin(&["sandbox", "--listen", "127.0.0.1:0"]);
        let url = until("the sandbox", || {
            assert!(going.status().is_none(), "{}", going.err());
            Some(going.out().trim().to_owned()).filter(|url| !url.is_empty())
        });
        Sandbox { url, going }
    }

    pub(crate) fn arm(&self, fault: &Value) {
        call(reqwest::Method::POST, &format!("{}/faults", self.url), Some(fault));
    }

    /// Until the last call that a fault was armed for has arrived.
    pub(crate) fn wait_for_the_fault(&self) {
        until("the call that is hit", || {
            let armed = call(reqwest::Method::GET, &format!("{}/faults", self.url), None);
            (armed["faults"] == serde_json::json!([])).then_some(())
        });
    }

    /// Lets go of every call that a fault holds.
    pub(crate) fn release(&self) {
        call(reqwest::Method::POST, &format!("{}/faults/release", self.url), None);
    }

    /// Ends all faults.
    pub(crate) fn disarm(&self) {
        call(reqwest::Method::DELETE, &format!("{}/faults", self.url), None);
    }

    /// How many effects stand.
    pub(crate) fn standing(&self) -> u64 {
        let summary = call(reqwest::Method::GET, &format!("{}/ledger/summary", self.url), None);
        summary["greeter/greet"]["standing"].as_u64().unwrap_or(0)
    }

    #[track_caller]
    pub(crate) fn stop(self) -> Ran {
        self.going.signal(Signal::TERM);
        self.going.end()
    }
}

/// One for all, because making one reads every certificate of the system. It keeps no connection, because those end
/// with the runtime that opened them.
static HTTP: LazyLock<reqwest::Client> =
    LazyLock::new(|| reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap());

/// One HTTP call that has to succeed.
#[track_caller]
pub(crate) fn call(method: reqwest::Method, url: &str, body: Option<&Value>) -> Value {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let request = HTTP.request(method, url);
        let request = match body {
            Some(body) => request.json(body),
            None => request,
        };
        let response = request.send().await.unwrap().error_for_status().unwrap();
        serde_json::from_slice(&response.bytes().await.unwrap()).unwrap_or_default()
    })
}
