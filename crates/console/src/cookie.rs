//! Cookies.

use std::time::Duration;

use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};

/// The user who holds it is signed in.
pub(crate) const SESSION: &str = "pe_session";
/// Ties a form of a user who is not signed in to their browser.
pub(crate) const VISIT: &str = "pe_visit";
/// What is to be said on the next page.
pub(crate) const FLASH: &str = "pe_flash";
pub(crate) const THEME: &str = "pe_theme";
/// What an identity provider will be compared with.
pub(crate) const FLOW: &str = "pe_flow";

/// No value of ours is longer.
const VALUE_BYTES_MAX: usize = 2048;

/// The value of a cookie that was sent once; one that was sent twice counts as none.
pub(crate) fn read<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut values = pairs.filter(|(key, _)| *key == name).map(|(_, value)| value);
    let value = values.next().filter(|value| value.len() <= VALUE_BYTES_MAX)?;
    values.next().is_none().then_some(value)
}

/// A cookie that scripts cannot read. Without a time it ends with the browser.
pub(crate) fn write(name: &str, value: &str, lives: Option<Duration>, is_https: bool) -> HeaderValue {
    let age = lives.map(|lives| format!("; Max-Age={}", lives.as_secs())).unwrap_or_default();
    let secure = if is_https { "; Secure" } else { "" };
    let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax{age}{secure}");
    // Values of ours are tokens and encoded texts.
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(""))
}

pub(crate) fn forget(name: &str, is_https: bool) -> HeaderValue {
    write(name, "", Some(Duration::ZERO), is_https)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_read_by_its_whole_name_and_never_when_it_is_there_twice() {
        let headers = |text: &str| HeaderMap::from_iter([(COOKIE, text.parse().unwrap())]);
        assert_eq!(read(&headers("a=1; pe_session=x; b=2"), SESSION), Some("x"));
        assert_eq!(read(&headers("xpe_session=x"), SESSION), None);
        assert_eq!(read(&headers("pe_session=x; pe_session=y"), SESSION), None);
        assert_eq!(read(&headers(&format!("pe_session={}", "x".repeat(3000))), SESSION), None);
        assert_eq!(read(&HeaderMap::new(), SESSION), None);
    }

    #[test]
    fn a_cookie_is_closed_to_scripts_and_to_plain_wires_where_there_is_https() {
        let text =
            |https| write(SESSION, "x", Some(Duration::from_secs(60)), https).to_str().unwrap().to_owned();
        assert_eq!(text(false), "pe_session=x; Path=/; HttpOnly; SameSite=Lax; Max-Age=60");
        assert!(text(true).ends_with("; Secure"));
        assert!(forget(SESSION, false).to_str().unwrap().contains("Max-Age=0"));
    }
}
