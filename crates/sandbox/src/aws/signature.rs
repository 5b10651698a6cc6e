//! Signature version 4, from the side that checks it.
//!
//! The signature is worked out again from what really arrived: the path, the headers that it names, and the
//! bytes of the body. So a caller that signs one thing and sends another is refused, as it would be by AWS.

use std::fmt::Write;

use aws_lc_rs::{digest, hmac};
use axum::http::{HeaderMap, Method, Uri};
use time::format_description::FormatItem;
use time::macros::format_description;
use time::{Duration, OffsetDateTime, PrimitiveDateTime};

use super::call_error::AwsError;
use super::form::decode;
use crate::hex::hex;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const STAMP: &[FormatItem<'_>] = format_description!("[year][month][day]T[hour][minute][second]Z");
const SKEW_MAX: Duration = Duration::minutes(15);

/// A call as it arrived.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrived<'a> {
    pub(super) method: &'a Method,
    pub(super) uri: &'a Uri,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: &'a [u8],
}

impl<'a> Arrived<'a> {
    fn header(&self, name: &str) -> Option<&'a str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Who a client says that they are, and what they signed.
pub(super) struct SignatureClaim<'a> {
    pub(super) key_id: &'a str,
    pub(super) session_token: Option<&'a str>,
    pub(super) region: &'a str,
    pub(super) service: &'a str,
    date: &'a str,
    stamp: &'a str,
    at: OffsetDateTime,
    signed_headers: &'a str,
    signature: &'a str,
}

impl<'a> SignatureClaim<'a> {
    pub(super) fn read(arrived: &Arrived<'a>) -> Result<Self, AwsError> {
        let Some(text) = arrived.header("authorization") else {
            return Err(AwsError::new("MissingAuthenticationToken", "the call is not signed"));
        };
        let claim =
            SignatureClaim::parse(arrived, text).ok_or_else(|| incomplete("the signature cannot be read"))?;
        let names: Vec<&str> = claim.signed_headers.split(';').collect();
        let must_be_signed = ["host", "x-amz-date", "x-amz-security-token"];
        let is_unsigned = |name: &&&str| arrived.headers.contains_key(**name) && !names.contains(*name);
        match must_be_signed.iter().find(is_unsigned) {
            Some(name) => Err(incomplete(&format!("the header {name} must be signed"))),
            None if !names.is_sorted() => Err(incomplete("the signed headers must be sorted")),
            None => Ok(claim),
        }
    }

    fn parse(arrived: &Arrived<'a>, text: &'a str) -> Option<Self> {
        let parts = text.strip_prefix(ALGORITHM)?.strip_prefix(' ')?;
        let (mut credential, mut signed_headers, mut signature) = (None, None, None);
        for part in parts.split(',') {
            let (name, value) = part.trim().split_once('=')?;
            match name {
                "Credential" => credential = Some(value),
                "SignedHeaders" => signed_headers = Some(value),
                "Signature" => signature = Some(value),
                _ => return None,
            }
        }
        let scope: Vec<&str> = credential?.split('/').collect();
        let [key_id, date, region, service, "aws4_request"] = scope[..] else { return None };
        let stamp = arrived.header("x-amz-date")?;
        let at = PrimitiveDateTime::parse(stamp, STAMP).ok()?.assume_utc();
        if !stamp.starts_with(date) || date.len() != 8 {
            return None;
        }
        let session_token = arrived.header("x-amz-security-token");
        let (signed_headers, signature) = (signed_headers?, signature?);
        Some(SignatureClaim {
            key_id,
            session_token,
            region,
            service,
            date,
            stamp,
            at,
            signed_headers,
            signature,
        })
    }

    /// The call must not be old, nor from the future.
    ///
    /// `now` is the wall clock: the clock of the sandbox can be turned, but its callers do not turn with it.
    pub(super) fn require_fresh(&self, now: OffsetDateTime) -> Result<(), AwsError> {
        if (now - self.at).abs() > SKEW_MAX {
            let message = format!("the call is from {}, which is more than 15 minutes away", self.stamp);
            return Err(AwsError::new("RequestExpired", message));
        }
        Ok(())
    }

    pub(super) fn require_scope(&self, service: &str, region: Option<&str>) -> Result<(), AwsError> {
        if self.service != service || region.is_some_and(|region| self.region != region) {
            let scope = region.map_or_else(|| service.to_owned(), |region| format!("{region}/{service}"));
            let message = format!("the credential must be scoped to {scope}");
            return Err(AwsError::new("SignatureDoesNotMatch", message));
        }
        Ok(())
    }

    pub(super) fn require_proof(&self, arrived: &Arrived<'_>, secret: &str) -> Result<(), AwsError> {
        let is_proven = self.expected(arrived, secret).is_some_and(|expected| expected == self.signature);
        if !is_proven {
            let message = "the signature is not the one that the secret key makes of this call";
            return Err(AwsError::new("SignatureDoesNotMatch", message));
        }
        Ok(())
    }

    fn expected(&self, arrived: &Arrived<'_>, secret: &str) -> Option<String> {
        let scope = format!("{}/{}/{}/aws4_request", self.date, self.region, self.service);
        let hash = sha256(self.canonical(arrived)?.as_bytes());
        let to_sign = format!("{ALGORITHM}\n{}\n{scope}\n{hash}", self.stamp);
        let mut key = format!("AWS4{secret}").into_bytes();
        for part in [self.date, self.region, self.service, "aws4_request", &to_sign] {
            key = mac(&key, part.as_bytes());
        }
        Some(hex(&key))
    }

    fn canonical(&self, arrived: &Arrived<'_>) -> Option<String> {
        let body = sha256(arrived.body);
        if arrived.header("x-amz-content-sha256").is_some_and(|said| said != body) {
            return None;
        }
        let mut headers = String::new();
        for name in self.signed_headers.split(';') {
            let mut values = Vec::new();
            for value in arrived.headers.get_all(name) {
                values.push(value.to_str().ok()?.split_whitespace().collect::<Vec<_>>().join(" "));
            }
            if values.is_empty() {
                return None;
            }
            writeln!(headers, "{name}:{}", values.join(",")).ok()?;
        }
        let path: Vec<String> = arrived.uri.path().split('/').map(encode).collect();
        let (method, path) = (arrived.method, path.join("/"));
        let query = canonical_query(arrived.uri.query().unwrap_or_default())?;
        Some(format!("{method}\n{path}\n{query}\n{headers}\n{}\n{body}", self.signed_headers))
    }
}

fn incomplete(message: &str) -> AwsError {
    AwsError::new("IncompleteSignature", message)
}

fn canonical_query(query: &str) -> Option<String> {
    let mut pairs = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        pairs.push(format!("{}={}", encode(&decode(name)?), encode(&decode(value)?)));
    }
    pairs.sort();
    Some(pairs.join("&"))
}

fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(byte.into()),
            _ => write!(out, "%{byte:02X}").expect("writing to a string cannot fail"),
        }
    }
    out
}

fn mac(key: &[u8], text: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text).as_ref().to_vec()
}

/// In hexadecimal digits.
pub(super) fn sha256(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

    /// The published example of a signed call, `ListUsers` of IAM.
    fn published(path: &str) -> (Uri, HeaderMap) {
        let signature = "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7";
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, \
             SignedHeaders=content-type;host;x-amz-date, Signature={signature}"
        );
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("host", "iam.amazonaws.com"),
            ("content-type", "application/x-www-form-urlencoded; charset=utf-8"),
            ("x-amz-date", "20150830T123600Z"),
            ("authorization", &authorization),
        ] {
            headers.insert(name, value.parse().unwrap());
        }
        (path.parse().unwrap(), headers)
    }

    fn check(
        path: &str,
        body: &[u8],
        secret: &str,
        change: impl FnOnce(&mut HeaderMap),
    ) -> Result<(), AwsError> {
        let (uri, mut headers) = published(path);
        change(&mut headers);
        let arrived = Arrived { method: &Method::GET, uri: &uri, headers: &headers, body };
        SignatureClaim::read(&arrived)?.require_proof(&arrived, secret)
    }

    #[test]
    fn the_published_example_is_proven_and_nothing_else_is() {
        let path = "/?Action=ListUsers&Version=2010-05-08";
        assert_eq!(check(path, b"", SECRET, |_| ()), Ok(()));
        assert_eq!(check("/?Version=2010-05-08&Action=ListUsers", b"", SECRET, |_| ()), Ok(()));
        let code = |result: Result<(), AwsError>| result.unwrap_err().code;
        assert_eq!(
            code(check("/?Action=ListRoles&Version=2010-05-08", b"", SECRET, |_| ())),
            "SignatureDoesNotMatch"
        );
        assert_eq!(code(check(path, b"x", SECRET, |_| ())), "SignatureDoesNotMatch");
        assert_eq!(code(check(path, b"", "other", |_| ())), "SignatureDoesNotMatch");
        let elsewhere = |headers: &mut HeaderMap| {
            headers.insert("host", "ec2.amazonaws.com".parse().unwrap());
        };
        assert_eq!(code(check(path, b"", SECRET, elsewhere)), "SignatureDoesNotMatch");
    }

    #[test]
    fn what_cannot_be_read_says_so() {
        let path = "/?Action=ListUsers&Version=2010-05-08";
        let with = |name: &'static str, value: &'static str| {
            move |headers: &mut HeaderMap| {
                headers.insert(name, value.parse().unwrap());
            }
        };
        let code = |result: Result<(), AwsError>| result.unwrap_err().code;
        assert_eq!(code(check(path, b"", SECRET, with("authorization", "Bearer x"))), "IncompleteSignature");
        assert_eq!(
            code(check(path, b"", SECRET, with("x-amz-date", "20150831T000000Z"))),
            "IncompleteSignature"
        );
        assert_eq!(code(check(path, b"", SECRET, with("x-amz-security-token", "t"))), "IncompleteSignature");
        let unsigned = |headers: &mut HeaderMap| {
            headers.remove("authorization");
        };
        assert_eq!(code(check(path, b"", SECRET, unsigned)), "MissingAuthenticationToken");
    }

    #[test]
    fn a_call_lives_for_fifteen_minutes_to_both_sides() {
        let (uri, headers) = published("/");
        let arrived = Arrived { method: &Method::GET, uri: &uri, headers: &headers, body: b"" };
        let claim = SignatureClaim::read(&arrived).unwrap();
        let at = |minutes| claim.at + Duration::minutes(minutes);
        assert!(claim.require_fresh(at(15)).is_ok() && claim.require_fresh(at(-15)).is_ok());
        assert_eq!(claim.require_fresh(at(16)).unwrap_err().code, "RequestExpired");
        assert_eq!(claim.require_fresh(at(-16)).unwrap_err().code, "RequestExpired");
    }
}
