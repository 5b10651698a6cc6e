//! A sentence of the API, as a page shows it: moments in it are easy to read, operations lead to their pages, and what is in
//! backticks is code.

use std::fmt;

use api::types::WireTime;
use askama::filters::{Html, HtmlSafe, escape};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;
use uuid::Uuid;

/// A sentence with links, times and code.
pub struct Prose<'a>(pub &'a str);

/// What may stand around a word.
const AROUND: [char; 8] = ['(', ')', ',', ';', ':', '.', '"', '\''];

impl fmt::Display for Prose<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, piece) in self.0.split('`').enumerate() {
            if nth % 2 == 1 {
                f.write_str("<code>")?;
                plain(f, piece)?;
                f.write_str("</code>")?;
            } else {
                words(f, piece)?;
            }
        }
        Ok(())
    }
}

impl HtmlSafe for Prose<'_> {}

fn words(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let mut before = "";
    for word in text.split_inclusive(' ') {
        let core = word.trim().trim_matches(AROUND);
        let (left, right) = word.split_once(core).unwrap_or((word, ""));
        if let Some(at) = moment(core) {
            plain(f, left)?;
            write!(f, r#"<time datetime="{at}">{}</time>"#, clock(at)?)?;
            plain(f, right)?;
        } else if before == "operation" && Uuid::try_parse(core).is_ok() {
            plain(f, left)?;
            write!(f, r#"<a href="/console/operations/{core}">{core}</a>"#)?;
            plain(f, right)?;
        } else {
            plain(f, word)?;
        }
        before = core;
    }
    Ok(())
}

/// A sentence says until when or since when, so a moment in it stays a moment.
fn clock(at: WireTime) -> Result<String, fmt::Error> {
    let shape = format_description!("[year]-[month]-[day] [hour]:[minute]:[second] UTC");
    at.0.format(&shape).map_err(|_| fmt::Error)
}

fn moment(word: &str) -> Option<WireTime> {
    let looks_like_one = word.ends_with('Z') && word.starts_with(|first: char| first.is_ascii_digit());
    looks_like_one.then(|| OffsetDateTime::parse(word, &Rfc3339).ok()).flatten().map(WireTime)
}

fn plain(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    write!(f, "{}", escape(text, Html).map_err(|_| fmt::Error)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        let shown = Prose(text).to_string();
        for part in expect {
            assert!(shown.contains(part), "{shown}");
        }
    }

    #[test]
    fn moments_are_short_operations_are_links_and_nothing_becomes_markup() {
        check(
            "rest waits until 2026-11-16T10:34:25.979816Z: <b>",
            &[
                "rest waits until <time datetime=\"2026-11-16T10:34:25.979816Z\"",
                ">2026-11-16 10:34:25 UTC</time>: &#60;b&#62;",
            ],
        );
        let id = "01a1e3ec-17ab-7170-9e88-9f6a32315443";
        check(
            &format!("queued until operation {id} on the same resource has finished"),
            &[&format!("operation <a href=\"/console/operations/{id}\">{id}</a> on")],
        );
        check("`a <b>` ends it", &["<code>a &#60;b&#62;</code> ends it"]);
        check("1Z (x) 2026Z", &["1Z (x) 2026Z"]);
        assert_eq!(Prose("node x: : done.").to_string(), "node x: : done.");
    }
}
