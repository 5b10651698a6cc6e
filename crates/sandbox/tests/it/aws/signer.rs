//! Signature version 4, from the side that makes it.

use std::fmt::Write;

use aws_lc_rs::{digest, hmac};
use time::OffsetDateTime;
use time::macros::format_description;

#[derive(Debug, Clone)]
pub(crate) struct TestKeys {
    pub(crate) id: String,
    pub(crate) secret: String,
    pub(crate) token: Option<String>,
}

impl TestKeys {
    pub(crate) fn new(id: &str, secret: &str) -> Self {
        TestKeys { id: id.into(), secret: secret.into(), token: None }
    }
}

/// One call, ready to be signed. A test changes what it wants to be wrong.
#[derive(Debug, Clone)]
pub(crate) struct Unsigned {
    pub(crate) host: String,
    pub(crate) path: String,
    pub(crate) region: String,
    pub(crate) service: String,
    pub(crate) body: String,
    pub(crate) at: OffsetDateTime,
}

impl Unsigned {
    /// The headers that make it a signed call.
    pub(crate) fn sign(&self, keys: &TestKeys) -> Vec<(&'static str, String)> {
        let format = format_description!("[year][month][day]T[hour][minute][second]Z");
        let stamp = self.at.format(format).unwrap();
        let date = &stamp[..8];
        let mut headers = vec![("host", self.host.clone()), ("x-amz-date", stamp.clone())];
        headers.extend(keys.token.clone().map(|token| ("x-amz-security-token", token)));
        let lines: Vec<String> = headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let names = headers.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
        let canonical = format!("POST\n{}\n\n{}\n{names}\n{}", self.path, lines.concat(), sha256(&self.body));
        let scope = format!("{date}/{}/{}/aws4_request", self.region, self.service);
        let text = format!("AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{}", sha256(&canonical));
        let parts = [date, &self.region, &self.service, "aws4_request", &text];
        let start = format!("AWS4{}", keys.secret).into_bytes();
        let signature = parts.iter().fold(start, |key, part| {
            hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), part.as_bytes()).as_ref().to_vec()
        });
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={}",
            keys.id,
            hex(&signature)
        );
        headers.push(("authorization", authorization));
        headers
    }
}

pub(crate) fn sha256(text: &str) -> String {
    hex(digest::digest(&digest::SHA256, text.as_bytes()).as_ref())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// A form of these fields.
pub(crate) fn form(fields: &[(&str, &str)]) -> String {
    let encode = |text: &str| {
        text.bytes().fold(String::new(), |mut out, byte| {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(byte.into()),
                _ => write!(out, "%{byte:02X}").unwrap(),
            }
            out
        })
    };
    let pairs: Vec<String> =
        fields.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
    pairs.join("&")
}
