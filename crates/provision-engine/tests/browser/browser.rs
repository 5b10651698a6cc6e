//! A Chromium without a window, driven by `chromedriver`. Starting one takes a second, so that tests hand it on.

use std::io::Write;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::stage::until;
use crate::wire::Wire;

/// Reads the ids of processes; when the writer is gone, it ends these processes and removes
/// what they wrote. That holds however the tests end.
const GUARD: &str = r#"while read -r id; do ids="$ids $id"; done
kill -9 $ids; for _ in 1 2 3 4 5; do rm -rf "$0" && break; sleep 1; done"#;
const MISSING: &str = "cannot start chromedriver: install chromium and its driver so that both are in PATH \
    (Debian: apt-get install chromium chromium-driver), or let ./test do it";
const STARTED: &str = "started successfully on port ";

static FREE: Mutex<Vec<Browser>> = Mutex::new(Vec::new());

pub(crate) struct Browser {
    pub(crate) wire: Wire,
    driver: Child,
    guard: Child,
    ids: Option<ChildStdin>,
    _dir: TempDir,
}

impl Browser {
    /// One that remembers nothing.
    pub(crate) fn take() -> Browser {
        let free = FREE.lock().unwrap().pop();
        free.unwrap_or_else(Browser::start)
    }

    /// For the next test, which finds no trace of this one.
    pub(crate) fn give_back(self) {
        self.forget();
        FREE.lock().unwrap().push(self);
    }

    fn start() -> Browser {
        let dir = tempfile::tempdir().unwrap();
        let (said, profile) = (dir.path().join("said"), dir.path().join("profile"));
        let mut guard = Command::new("sh")
            .args(["-c", GUARD])
            .arg(dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut ids = guard.stdin.take().unwrap();
        let out = std::fs::File::create(&said).unwrap();
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .env("HOME", dir.path())
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{MISSING}: {error}"));
        writeln!(ids, "{}", driver.id()).unwrap();
        let port = until("the port of chromedriver", || {
            assert!(driver.try_wait().unwrap().is_none(), "{MISSING}: it has stopped again");
            let text = std::fs::read_to_string(&said).ok()?;
            text.split_once(STARTED)?.1.split_once('.')?.0.parse().ok()
        });
        let mut wire = Wire::new(port);
        let wanted = wanted(&profile.display().to_string());
        let id = wire
            .begin(&wanted)
            .unwrap_or_else(|error_response| panic!("{MISSING}: {}", error_response.message));
        writeln!(ids, "{id}").unwrap();
        Browser { wire, driver, guard, ids: Some(ids), _dir: dir }
    }

    /// Other tabs, cookies, and whatever a test pretended.
    fn forget(&self) {
        let tabs = self.wire.get("/window/handles").unwrap();
        let (first, others) = tabs.as_array().unwrap().split_first().unwrap();
        for tab in others.iter().chain([first]) {
            self.wire.post("/window", &json!({ "handle": tab })).unwrap();
            if tab != first {
                self.wire.delete("/window").unwrap();
            }
        }
        self.wire.chromium("Emulation.setScriptExecutionDisabled", &json!({ "value": false }));
        self.wire.chromium("Emulation.setEmulatedMedia", &json!({ "features": [] }));
        self.wire.chromium("Emulation.clearDeviceMetricsOverride", &json!({}));
        self.wire.chromium("Network.clearBrowserCookies", &json!({}));
        self.wire.post("/url", &json!({ "url": "about:blank" })).unwrap();
        self.wire.post("/se/log", &json!({ "type": "browser" })).unwrap();
    }
}

fn wanted(profile: &str) -> Value {
    let profile = format!("--user-data-dir={profile}");
    json!({
        "browserName": "chrome",
        "goog:loggingPrefs": { "browser": "ALL" },
        "goog:chromeOptions": { "args": [
            "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--disable-quic", "--disable-dev-shm-usage",
            "--no-proxy-server", "--window-size=1440,1000", profile,
        ] },
    })
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.ids = None;
        let _ = self.guard.wait();
        let _ = self.driver.wait();
    }
}
