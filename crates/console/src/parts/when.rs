//! Moments and spans of time, as people read them.

use std::fmt;
use std::time::Duration;

use api::types::WireTime;
use askama::filters::HtmlSafe;
use server::ToWire;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

const SECONDS: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day] [hour]:[minute]:[second] UTC");

/// A moment. Without a script it is a time of day; with one, it is how long ago or how soon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct When(pub WireTime);

impl From<WireTime> for When {
    fn from(at: WireTime) -> When {
        When(at)
    }
}

impl From<&WireTime> for When {
    fn from(at: &WireTime) -> When {
        When(*at)
    }
}

// What a template holds in a pattern is a reference to a reference.
impl From<&&WireTime> for When {
    fn from(at: &&WireTime) -> When {
        When(**at)
    }
}

impl From<engine::Timestamp> for When {
    fn from(at: engine::Timestamp) -> When {
        When(at.to_wire())
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.0.format(&SECONDS).map_err(|_| fmt::Error)?;
        write!(f, r#"<time datetime="{}" title="{text}" data-when>{text}</time>"#, self.0)
    }
}

impl HtmlSafe for When {}

/// The time of a day to the millisecond: that of the browser with a script, else UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock(pub WireTime);

impl From<&WireTime> for Clock {
    fn from(at: &WireTime) -> Clock {
        Clock(*at)
    }
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = format_description!("[hour]:[minute]:[second].[subsecond digits:3]");
        let text = self.0.0.format(&shape).map_err(|_| fmt::Error)?;
        let whole = self.0.0.format(&SECONDS).map_err(|_| fmt::Error)?;
        write!(f, r#"<time datetime="{}" title="{whole}" data-clock>{text}</time>"#, self.0)
    }
}

impl HtmlSafe for Clock {}

/// How long something has gone on. Without a script it is when it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Since(pub WireTime);

impl From<engine::Timestamp> for Since {
    fn from(at: engine::Timestamp) -> Since {
        Since(at.to_wire())
    }
}

impl fmt::Display for Since {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.0.format(&SECONDS).map_err(|_| fmt::Error)?;
        write!(f, r#"<time datetime="{}" title="since {text}" data-since>since {text}</time>"#, self.0)
    }
}

impl HtmlSafe for Since {}

/// A span of time in the two largest units that it has.
pub fn span(time: Duration) -> String {
    let (seconds, millis) = (time.as_secs(), time.as_millis());
    let two = |large: u64, unit: &str, small: u64, smaller: &str| match small {
        0 => format!("{large} {unit}"),
        _ => format!("{large} {unit} {small} {smaller}"),
    };
    match seconds {
        0 if millis == 0 => "0 s".to_owned(),
        0 => format!("{millis} ms"),
        1..10 => format!("{:.1} s", time.as_secs_f64()),
        10..60 => format!("{seconds} s"),
        60..3600 => two(seconds / 60, "min", seconds % 60, "s"),
        3600..86_400 => two(seconds / 3600, "h", seconds % 3600 / 60, "min"),
        86_400..172_800 => two(1, "day", seconds % 86_400 / 3600, "h"),
        _ => two(seconds / 86_400, "days", seconds % 86_400 / 3600, "h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_short() {
        for (millis, text) in [
            (0, "0 s"),
            (12, "12 ms"),
            (1500, "1.5 s"),
            (61_000, "1 min 1 s"),
            (600_000, "10 min"),
            (7_200_000, "2 h"),
            (86_400_000, "1 day"),
            (90_000_000, "1 day 1 h"),
            (172_800_000, "2 days"),
        ] {
            assert_eq!(span(Duration::from_millis(millis)), text);
        }
    }
}
