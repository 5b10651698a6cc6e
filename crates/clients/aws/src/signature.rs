//! Version 4 of the signature of AWS: it proves who sends a request, and that it was not changed on the way.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Write;

use aws_lc_rs::{digest, hmac};
use engine::Timestamp;
use engine::secret::ExposeSecret;
use http_client::{hex, percent_encoded_but};
use time::OffsetDateTime;

use super::AccessKeys;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// What is signed of a request. Every header in it is.
pub(super) struct Request<'a> {
    pub(super) method: &'a str,
    /// As in the first line of the request.
    pub(super) path: &'a str,
    /// The same, without the question mark.
    pub(super) query: &'a str,
    pub(super) headers: &'a [(&'a str, &'a str)],
    pub(super) body: &'a [u8],
}

/// For which service, where and when a signature is good.
pub(super) struct Scope<'a> {
    pub(super) service: &'a str,
    pub(super) region: &'a str,
    pub(super) at: &'a AmzDate,
}

impl Scope<'_> {
    fn text(&self) -> String {
        format!("{}/{}/{}/aws4_request", self.at.day(), self.region, self.service)
    }
}

/// A moment as the header `x-amz-date` has it.
pub(super) struct AmzDate(String);

impl AmzDate {
    pub(super) fn new(at: Timestamp) -> AmzDate {
        let seconds = at.0.div_euclid(1_000_000);
        let at = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
        let (year, month, day) = (at.year(), u8::from(at.month()), at.day());
        let (hour, minute, second) = at.to_hms();
        AmzDate(format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z"))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    fn day(&self) -> &str {
        self.0.split('T').next().unwrap_or_default()
    }
}

/// The value of the header `authorization`.
pub(super) fn authorization(keys: &AccessKeys, scope: &Scope<'_>, request: &Request<'_>) -> String {
    let headers = canonical_headers(request.headers);
    let names: Vec<&str> = headers.keys().map(String::as_str).collect();
    let names = names.join(";");
    let canonical = canonical_request(request, &headers, &names);
    let scope_text = scope.text();
    let hash = hex(digest::digest(&digest::SHA256, canonical.as_bytes()).as_ref());
    let to_sign = format!("{ALGORITHM}\n{}\n{scope_text}\n{hash}", scope.at.as_str());
    let signature = hex(hmac_of(signing_key(keys, scope).as_ref(), &to_sign).as_ref());
    format!("{ALGORITHM} Credential={}/{scope_text}, SignedHeaders={names}, Signature={signature}", keys.id)
}

/// By lower-case name; several values of a name stand side by side in their order.
fn canonical_headers(headers: &[(&str, &str)]) -> BTreeMap<String, String> {
    let mut all = BTreeMap::<String, String>::new();
    for (name, value) in headers {
        let words: Vec<&str> = value.split_ascii_whitespace().collect();
        let value = words.join(" ");
        all.entry(name.to_ascii_lowercase())
            .and_modify(|before| {
                before.push(',');
                before.push_str(&value);
            })
            .or_insert(value);
    }
    all
}

fn canonical_request(request: &Request<'_>, headers: &BTreeMap<String, String>, names: &str) -> String {
    let path = percent_encoded_but(&straight(request.path), "/");
    let mut text = format!("{}\n{path}\n{}\n", request.method, canonical_query(request.query));
    for (name, value) in headers {
        let _ = writeln!(text, "{name}:{value}");
    }
    let hash = hex(digest::digest(&digest::SHA256, request.body).as_ref());
    let _ = write!(text, "\n{names}\n{hash}");
    text
}

/// A path without detours: no empty part, no `.` and no `..`.
fn straight(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let end = if !parts.is_empty() && path.ends_with('/') { "/" } else { "" };
    format!("/{}{end}", parts.join("/"))
}

/// Sorted by name and then by value. What is escaped already stays as it is.
fn canonical_query(query: &str) -> String {
    let encoded = |text: &str| percent_encoded_but(text, "%");
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let mut pairs: Vec<(String, String)> = pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (encoded(name), encoded(value)))
        .collect();
    pairs.sort();
    let pairs: Vec<String> = pairs.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join("&")
}

/// A key for one day, one region and one service, made from the secret.
fn signing_key(keys: &AccessKeys, scope: &Scope<'_>) -> hmac::Tag {
    let secret = format!("AWS4{}", keys.secret.expose_secret());
    let of_the_day = hmac_of(secret.as_bytes(), scope.at.day());
    let narrower = |key: hmac::Tag, text: &str| hmac_of(key.as_ref(), text);
    [scope.region, scope.service, "aws4_request"].into_iter().fold(of_the_day, narrower)
}

fn hmac_of(key: &[u8], text: &str) -> hmac::Tag {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes())
}
