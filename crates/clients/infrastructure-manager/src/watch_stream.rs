//! The lines of one watch.

use std::time::Duration;

use async_trait::async_trait;
use http_client::{DriverError, Lines, shorten};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::timeout;

use super::SYSTEM;
use super::watch::{RuntimeEvents, WatchEvent};

pub(super) struct WatchStream {
    lines: Lines,
    silence_max: Duration,
}

#[derive(Deserialize)]
struct WatchLine {
    #[serde(rename = "type")]
    kind: String,
    object: Value,
}

impl WatchStream {
    pub(super) fn new(lines: Lines, silence_max: Duration) -> WatchStream {
        WatchStream { lines, silence_max }
    }
}

#[async_trait]
impl RuntimeEvents for WatchStream {
    async fn next(&mut self) -> Result<Option<WatchEvent>, DriverError> {
        // A server that stops leaves the watch open and says nothing more.
        let Ok(line) = timeout(self.silence_max, self.lines.next()).await else {
            return Err(SYSTEM.broken("the watch went silent"));
        };
        line?.map(|line| event(&line)).transpose()
    }
}

/// A watch that was refused because its version is too old.
pub(super) struct ExpiredWatch;

#[async_trait]
impl RuntimeEvents for ExpiredWatch {
    async fn next(&mut self) -> Result<Option<WatchEvent>, DriverError> {
        Ok(Some(WatchEvent::Expired))
    }
}

/// What a line of a watch says.
pub(super) fn event(line: &[u8]) -> Result<WatchEvent, DriverError> {
    let unreadable = || SYSTEM.broken("a line of the watch cannot be read");
    let line: WatchLine = serde_json::from_slice(line).map_err(|_| unreadable())?;
    let runtime = |object| serde_json::from_value(object).map(Box::new).map_err(|_| unreadable());
    match line.kind.as_str() {
        "ADDED" | "MODIFIED" => Ok(WatchEvent::Changed(runtime(line.object)?)),
        "DELETED" => Ok(WatchEvent::Deleted(runtime(line.object)?)),
        "BOOKMARK" => {
            let version = line.object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
            Ok(WatchEvent::Bookmark { resource_version: version.ok_or_else(unreadable)?.to_owned() })
        }
        "ERROR" if line.object["code"] == 410 => Ok(WatchEvent::Expired),
        "ERROR" => {
            let message = line.object["message"].as_str().unwrap_or_default();
            Err(SYSTEM.broken(format!("the watch ended with an error: {}", shorten(message))))
        }
        _ => Err(unreadable()),
    }
}
