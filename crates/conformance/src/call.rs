//! One request to a broker, with every part that a check may change.

use reqwest::Method;
use reqwest::header::HeaderValue;
use serde_json::Value;

/// The version that all requests claim unless a check says otherwise.
pub(crate) const VERSION: &str = "2.17";

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Login {
    Ours,
    Missing,
    /// The whole value of the header.
    Raw(String),
}

#[derive(Debug, Clone)]
pub(crate) struct BrokerCall {
    pub(crate) method: Method,
    /// Already percent-encoded, from `/v2` on.
    pub(crate) path: String,
    pub(crate) query: Vec<(&'static str, String)>,
    pub(crate) login: Login,
    pub(crate) version: Option<String>,
    pub(crate) content_type: Option<&'static str>,
    pub(crate) headers: Vec<(&'static str, HeaderValue)>,
    pub(crate) body: Option<Vec<u8>>,
}

impl BrokerCall {
    pub(crate) fn new(method: Method, path: impl Into<String>) -> BrokerCall {
        BrokerCall {
            method,
            path: path.into(),
            query: Vec::new(),
            login: Login::Ours,
            version: Some(VERSION.to_owned()),
            content_type: None,
            headers: Vec::new(),
            body: None,
        }
    }

    pub(crate) fn get(path: impl Into<String>) -> BrokerCall {
        BrokerCall::new(Method::GET, path)
    }

    pub(crate) fn query(mut self, key: &'static str, value: impl Into<String>) -> BrokerCall {
        self.query.push((key, value.into()));
        self
    }

    pub(crate) fn without(mut self, key: &str) -> BrokerCall {
        self.query.retain(|(name, _)| *name != key);
        self
    }

    /// The platform can wait.
    pub(crate) fn patient(self) -> BrokerCall {
        self.impatient().query("accepts_incomplete", "true")
    }

    /// The platform wants the answer now.
    pub(crate) fn impatient(self) -> BrokerCall {
        self.without("accepts_incomplete")
    }

    pub(crate) fn json(self, body: &Value) -> BrokerCall {
        self.raw(Some("application/json"), body.to_string())
    }

    pub(crate) fn raw(mut self, content_type: Option<&'static str>, body: impl Into<Vec<u8>>) -> BrokerCall {
        self.content_type = content_type;
        self.body = Some(body.into());
        self
    }

    pub(crate) fn login(mut self, login: Login) -> BrokerCall {
        self.login = login;
        self
    }

    pub(crate) fn version(mut self, version: Option<&str>) -> BrokerCall {
        self.version = version.map(str::to_owned);
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: &[u8]) -> BrokerCall {
        let value = HeaderValue::from_bytes(value).expect("checks only send header values that HTTP allows");
        self.headers.push((name, value));
        self
    }
}

/// Percent-encodes all that is not unreserved, so that an id stays one segment of a path.
pub(crate) fn segment(id: &str) -> String {
    use std::fmt::Write;
    id.bytes().fold(String::new(), |mut text, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            write!(text, "%{byte:02X}").expect("a string takes all that is written");
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_has_no_character_that_ends_it() {
        for (id, expect) in [("a-b", "a-b"), ("a b/c", "a%20b%2Fc"), ("ü%", "%C3%BC%25"), ("\0", "%00")] {
            assert_eq!(segment(id), expect);
        }
    }
}
