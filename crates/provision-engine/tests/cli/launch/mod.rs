//! The commands about launches, with the real program: what people type, see and can trust.

mod commands;
mod course;
mod terminal;

use reqwest::Method;
use serde_json::{Value, json};

use crate::stage::{Place, Ran, Sandbox, Server, call};

/// One that everybody can see, in every region.
pub(crate) const AMI: &str = "ami-0abc000000000001";
pub(crate) const KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJfrCIqZLfhKMHtpLzLFGcn13y1ZXq7S6R2cZ071aFEB ada@example\n";
/// Where and how, with the key in a file.
pub(crate) const HOW: [&str; 6] = ["--source", "sandbox", "--type", "t3.small", "--key", "mine.pub"];

/// A server, and a sandbox that survives it.
struct Stage {
    place: Place,
    sandbox: Sandbox,
    server: Server,
}

impl Stage {
    fn open() -> Stage {
        let place = Place::new()
            .env("PROVISION_ENGINE_LAUNCH__IMAGE__POLL_FIRST", "50ms")
            .env("PROVISION_ENGINE_LAUNCH__IMAGE__POLL_MAX", "100ms")
            .env("PROVISION_ENGINE_LAUNCH__INSTANCE_POLL", "50ms")
            .env("PROVISION_ENGINE_LAUNCH__SETTLE", "100ms")
            .env("PROVISION_ENGINE_LAUNCH__UNDO_PATIENCE", "1s");
        let sandbox = Sandbox::start(&place);
        place.write("mine.pub", KEY);
        let server = place.serve(&["--sandbox-url", &sandbox.url]);
        let stage = Stage { place, sandbox, server };
        let pace = json!({"pending_ms": 50, "building_ms": 200, "uploading_ms": 50, "registering_ms": 50});
        stage.turn("image-builder/pace", &pace);
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
    fn turn(&self, knob: &str, value: &Value) {
        call(Method::POST, &format!("{}/{knob}", self.sandbox.url), Some(value));
    }

    /// Sets nothing any more.
    #[track_caller]
    fn clear(&self, knob: &str) {
        call(Method::DELETE, &format!("{}/{knob}", self.sandbox.url), None);
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
