//! Paths and queries inside the console.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

pub(crate) const HOME: &str = "/console";
/// What a part of a path or a value in a query may hold as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A text as a part of a path or a value in a query.
pub fn part(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

/// A query of the values that are there.
pub fn query<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let written = pairs.into_iter().filter(|(_, value)| !value.is_empty());
    let written: Vec<String> = written.map(|(key, value)| format!("{}={}", part(key), part(value))).collect();
    if written.is_empty() { String::new() } else { format!("?{}", written.join("&")) }
}

/// Where a user came from, if that is a page of ours and not another user's.
pub(crate) fn back(wanted: &str) -> &str {
    let rest = wanted.strip_prefix(HOME);
    let is_ours = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']));
    let is_plain = wanted.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if is_ours && is_plain && !wanted.contains("//") { wanted } else { HOME }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_one_is_led_away_from_here() {
        for good in ["/console", "/console/operations?phase=stuck", "/console?x=1"] {
            assert_eq!(back(good), good);
        }
        for bad in [
            "",
            "/",
            "//evil",
            "https://evil",
            "/consolex",
            "/console//evil",
            "/console/\\evil",
            "/console/\r\nx",
        ] {
            assert_eq!(back(bad), HOME, "{bad}");
        }
    }

    #[test]
    fn a_query_holds_what_is_there() {
        assert_eq!(query([("a", "1 2"), ("b", ""), ("c", "ä&=")]), "?a=1%202&c=%C3%A4%26%3D");
        assert_eq!(query([("a", "")]), "");
    }
}
