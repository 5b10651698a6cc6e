//! The commands about launches, with the real program: what people type, see and can trust.

mod commands;
mod course;
mod terminal;

use reqwest::Method;
use serde_json::{Value, json};

use crate::stage::{DataDirectory, Ran, Sandbox, ServerProcess, call};

/// One that everybody can see, in every region.
pub(crate) const AMI: &str = "ami-0abc000000000001";
pub(crate) const KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJfrCIqZLfhKMHtpLzLFGcn13y1ZXq7S6R2cZ071aFEB ada@example\n";
/// Where and how, with the key in a file.
pub(crate) const HOW: [&str; 6] = ["--source", "sandbox", "--type", "t3.small", "--key", "mine.pub"];

/// A server, and a sandbox that survives it.
struct LaunchCli {
    place: DataDirectory,
    sandbox: Sandbox,
    server: ServerProcess,
}

impl LaunchCli {
    fn open() -> LaunchCli {
        let place = DataDirectory::new()
            .env("PROVISION_ENGINE_LAUNCH__IMAGE__POLL_FIRST", "50ms")
            .env("PROVISION_ENGINE_LAUNCH__IMAGE__POLL_MAX", "100ms")
            .env("PROVISION_ENGINE_LAUNCH__INSTANCE_POLL", "50ms")
            .env("PROVISION_ENGINE_LAUNCH__SETTLE", "100ms")
            .env("PROVISION_ENGINE_LAUNCH__UNDO_PATIENCE", "1s");
        let sandbox = Sandbox::start(&place);
        place.write("mine.pub", KEY);
        let server = place.serve(&["--sandbox-url", &sandbox.url]);
        let stage = LaunchCli { place, sandbox, server };
        let delay_times =
            json!({"pending_ms": 50, "building_ms": 200, "uploading_ms": 50, "registering_ms": 50});
        stage.turn("image-builder/pace", &delay_times);
        stage
    }

    #[track_caller]
    fn expect(&self, code: i32, arguments: &[&str]) -> Ran {
        self.place.expect(code, arguments)
    }

    #[track_caller]
    fn json(&self, arguments: &[&str]) -> Value {
        self.place.json(arguments)
    }

    /// Launches without waiting, and answers the id.
    #[track_caller]
    fn begin(&self, arguments: &[&str]) -> String {
        let ran = self.expect(0, &[&["launch", "-o", "name", "--no-wait"], arguments].concat());
        ran.out.trim().to_owned()
    }

    #[track_caller]
    fn state(&self, id: &str) -> String {
        self.json(&["launches", "show", id])["state"].as_str().unwrap().to_owned()
    }

    /// Sets something in the sandbox.
    #[track_caller]
    fn turn(&self, control: &str, value: &Value) {
        call(Method::POST, &format!("{}/{control}", self.sandbox.url), Some(value));
    }

    /// Sets nothing any more.
    #[track_caller]
    fn clear(&self, control: &str) {
        call(Method::DELETE, &format!("{}/{control}", self.sandbox.url), None);
    }

    /// How many of this kind stand in the sandbox.
    #[track_caller]
    fn standing(&self, kind: &str) -> u64 {
        let summary = call(Method::GET, &format!("{}/ledger/summary", self.sandbox.url), None);
        summary[kind]["standing"].as_u64().unwrap_or(0)
    }

    fn close(self) {
        self.server.stop();
        self.sandbox.stop();
    }
}
