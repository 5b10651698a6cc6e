//! The lines of a component's log, in the forms that people and programs know them by.

use std::fmt::Write;

use engine::Timestamp;
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use tracing::Level;

use super::line::{Fields, escape};

/// A moment as it is written in these logs.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogTime(OffsetDateTime);

const PLAIN: &[BorrowedFormatItem<'_>] = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");
const ZONED: &[BorrowedFormatItem<'_>] = format_description!(
    "[year]-[month]-[day] [hour]:[minute]:[second] [offset_hour sign:mandatory][offset_minute]"
);
const ACCESS: &[BorrowedFormatItem<'_>] = format_description!(
    "[day]/[month repr:short]/[year]:[hour]:[minute]:[second] [offset_hour sign:mandatory][offset_minute]"
);

impl LogTime {
    pub(super) fn of(at: Timestamp) -> LogTime {
        let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(at.0) * 1_000);
        // A clock that is thousands of years off is no reason to lose the line.
        LogTime(at.unwrap_or(OffsetDateTime::UNIX_EPOCH))
    }

    pub(super) fn epoch(self) -> i64 {
        self.0.unix_timestamp()
    }

    fn text(self, format: &[BorrowedFormatItem<'_>]) -> String {
        self.0.format(format).unwrap_or_default()
    }
}

/// `# Logfile created on 2023-08-28 18:31:34 +0000 by provision-engine/0.1.0`
pub(super) fn header(now: LogTime) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("# Logfile created on {} by provision-engine/{version}\n", now.text(ZONED))
}

/// `I, [2023-08-28 18:31:34 #2724]  INFO -- : Serverless Runtime created`
pub(super) fn logged(now: LogTime, level: Level, fields: &Fields) -> String {
    let (name, pid) = (severity(level), std::process::id());
    let mut line = format!("{}, [{} #{pid}] {name:>5} -- : ", &name[..1], now.text(PLAIN));
    fields.write(&mut line);
    line.push('\n');
    line
}

/// `127.0.0.1 - - [28/Aug/2023:18:12:12 +0000] "POST /serverless-runtimes HTTP/1.1" 201 821 2.3746`, if the
/// fields are those of a request.
pub(super) fn access(now: LogTime, fields: &Fields) -> Option<String> {
    let (request, status) = (fields.get("request")?.as_str()?, fields.get("status")?.as_u64()?);
    let word = |name| fields.get(name).and_then(Value::as_str).filter(|word| !word.is_empty()).unwrap_or("-");
    let bytes = fields.get("bytes").and_then(Value::as_u64).unwrap_or(0);
    let seconds = fields.get("seconds").and_then(Value::as_f64).unwrap_or(0.0);
    let mut line = String::new();
    escape(&mut line, word("host"));
    line.push_str(" - ");
    escape(&mut line, word("user"));
    // Writing to a string cannot fail.
    let _ = write!(line, " [{}] \"", now.text(ACCESS));
    escape(&mut line, &request.replace('\\', "\\\\").replace('"', "\\\""));
    let _ = writeln!(line, "\" {status} {bytes} {seconds:.4}");
    Some(line)
}

/// `[2023-08-28 18:10:29] INFO  provision-engine#start: pid=99612 port=1337`
pub(super) fn started(now: LogTime, level: Level, fields: &Fields) -> String {
    let mut line = format!("[{}] {:<5} ", now.text(PLAIN), severity(level));
    fields.write(&mut line);
    line.push('\n');
    line
}

fn severity(level: Level) -> &'static str {
    match level {
        Level::ERROR => "ERROR",
        Level::WARN => "WARN",
        Level::INFO => "INFO",
        Level::DEBUG | Level::TRACE => "DEBUG",
    }
}
