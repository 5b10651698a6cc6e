//! One GraphQL call over HTTP, and what its answer means. Every query gives its root field the name `result`.

use std::time::Duration;

use engine::secret::{ExposeSecret, SecretString};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, StatusCode, Url};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::answer::{Answer, ExternalSystem, MESSAGE_CHARS_MAX, client_builder, shorten};
use crate::error::DriverError;

const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");
pub const MASK: &str = "<secret>";
/// What is shorter can be guessed anyway, and without its letters no message could be read.
const SECRET_BYTES_MIN: usize = 4;

#[derive(Debug, Clone)]
pub struct Endpoint {
    system: ExternalSystem,
    client: Client,
    url: Url,
}

#[derive(Serialize)]
struct GraphqlRequest<'a> {
    query: &'a str,
    variables: &'a Value,
}

#[derive(Deserialize)]
struct GraphqlResponse {
    data: Option<Data>,
    errors: Option<Vec<GraphqlError>>,
}

#[derive(Deserialize)]
struct Data {
    result: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct GraphqlError {
    #[serde(default)]
    message: String,
    extensions: Option<Extensions>,
}

#[derive(Deserialize)]
struct Extensions {
    error_code: Option<Value>,
    code: Option<Value>,
}

impl GraphqlError {
    /// The server did not carry out anything, because the query or its variables do not fit its schema. Servers tell that
    /// by the status 422, or by a code that gqlgen and Apollo share.
    fn is_about_the_query(&self, status: StatusCode) -> bool {
        let extensions = self.extensions.as_ref();
        let code = extensions.and_then(|extensions| extensions.code.as_ref()?.as_str());
        match code {
            Some(code) => matches!(code, "GRAPHQL_VALIDATION_FAILED" | "GRAPHQL_PARSE_FAILED"),
            None => {
                status == StatusCode::UNPROCESSABLE_ENTITY
                    && extensions.is_none_or(|extensions| extensions.error_code.is_none())
            }
        }
    }
}

impl Endpoint {
    pub fn new(system: ExternalSystem, url: &str, timeout: Duration) -> Result<Endpoint, DriverError> {
        Ok(Endpoint { system, client: system.client(client_builder(timeout))?, url: system.url(url)? })
    }

    pub async fn send(
        &self,
        headers: HeaderMap,
        query: &str,
        variables: &Value,
    ) -> Result<Answer, DriverError> {
        let body = serde_json::to_vec(&GraphqlRequest { query, variables })
            .map_err(|_| self.system.refused("the variables cannot be written as JSON"))?;
        let request = self.client.post(self.url.clone()).headers(headers);
        let request = request.header(CONTENT_TYPE, JSON).header(ACCEPT, JSON).body(body);
        Answer::to(self.system, request).await
    }
}

/// What the call brought, or `None` for a null. Errors in the body count first, whatever the status is.
/// `secrets` were sent with the call; an external system that quotes its input does not get them into our errors.
pub fn result<T: DeserializeOwned>(
    answer: &Answer,
    secrets: &[&SecretString],
) -> Result<Option<T>, DriverError> {
    let reply = answer.json::<GraphqlResponse>("GraphQL");
    if let Ok(GraphqlResponse { errors: Some(errors), .. }) = &reply
        && let Some(first) = errors.first()
    {
        return Err(error_body(answer, first, secrets));
    }
    if let Some(throttled) = answer.throttled() {
        return Err(throttled);
    }
    if !answer.status.is_success() {
        return Err(answer.system.broken(format!("{} without a reason", answer.status)));
    }
    let Some(raw) = reply?.data.and_then(|data| data.result) else { return Ok(None) };
    // The words of the parser may quote the answer, and the answer may hold a kubeconfig.
    let parsed = serde_json::from_str(raw.get());
    parsed.map(Some).map_err(|_| answer.system.broken("the result has another form than was asked for"))
}

/// Whether nothing was carried out because the query does not fit the schema of the server.
pub fn is_invalid(answer: &Answer) -> bool {
    let reply = answer.json::<GraphqlResponse>("GraphQL").ok();
    let errors = reply.and_then(|reply| reply.errors).unwrap_or_default();
    errors.first().is_some_and(|first| first.is_about_the_query(answer.status))
}

fn error_body(answer: &Answer, error_body: &GraphqlError, secrets: &[&SecretString]) -> DriverError {
    let system = answer.system;
    let words = match shorten(&without(&error_body.message, secrets)) {
        words if words.is_empty() => "an error without a message".to_owned(),
        words => words,
    };
    let code = error_body.extensions.as_ref().and_then(|extensions| extensions.error_code.as_ref()?.as_u64());
    match code {
        Some(400..=499) => system.refused(words),
        _ if error_body.is_about_the_query(answer.status) => system.refused(words),
        _ => system.broken(words),
    }
}

/// The beginning of a text without our secrets, also where they are quoted the way JSON and GraphQL do.
fn without(text: &str, secrets: &[&SecretString]) -> String {
    let long =
        secrets.iter().map(|secret| secret.expose_secret()).filter(|secret| secret.len() >= SECRET_BYTES_MIN);
    let mut hidden: Vec<String> = long
        .flat_map(|secret| {
            let quoted = Value::from(secret).to_string();
            [secret.to_owned(), quoted[1..quoted.len() - 1].to_owned()]
        })
        .collect();
    // The longest first, because one secret may be the beginning of another.
    hidden.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    let (mut clean, mut rest) = (String::new(), text.trim_start());
    while let Some(next) = rest.chars().next()
        && clean.chars().count() <= MESSAGE_CHARS_MAX
    {
        if let Some(secret) = hidden.iter().find(|secret| rest.starts_with(secret.as_str())) {
            clean.push_str(MASK);
            rest = &rest[secret.len()..];
        } else {
            clean.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use reqwest::header::RETRY_AFTER;

    use super::*;

    fn answer(status: u16, retry_after: Option<&str>, body: &str) -> Answer {
        let mut headers = HeaderMap::new();
        if let Some(text) = retry_after {
            headers.insert(RETRY_AFTER, text.parse().unwrap());
        }
        let status = StatusCode::from_u16(status).unwrap();
        Answer { system: ExternalSystem("far"), status, headers, body: body.into() }
    }

    fn error(status: u16, retry_after: Option<&str>, body: &str) -> String {
        result::<String>(&answer(status, retry_after, body), &[]).unwrap_err().to_string()
    }

    #[test]
    fn a_result_is_read_and_null_is_none() {
        let read = |body: &str| result::<String>(&answer(200, None, body), &[]).unwrap();
        assert_eq!(read(r#"{"data":{"result":"op-1"}}"#).as_deref(), Some("op-1"));
        assert_eq!(read(r#"{"data":{"result":"op-1"},"errors":[]}"#).as_deref(), Some("op-1"));
        for body in [r#"{"data":{"result":null}}"#, r#"{"data":null}"#, "{}", r#"{"data":{}}"#] {
            assert_eq!(read(body), None, "{body}");
        }
    }

    #[test]
    fn errors_in_the_body_are_sorted_by_their_code_whatever_the_status() {
        let body = |code: &str| format!(r#"{{"errors":[{{"message":"no","extensions":{code}}}]}}"#);
        for status in [200, 400, 422, 429, 500, 503] {
            for code in [400, 403, 404, 499] {
                let code = format!(r#"{{"error_code":{code}}}"#);
                assert_eq!(error(status, Some("7"), &body(&code)), "far refused: no", "{status} {code}");
            }
            for code in ["500", "501", "502", "399", "-1", "4e99", "\"400\"", "[400]"] {
                let code = format!(r#"{{"error_code":{code}}}"#);
                assert_eq!(error(status, Some("7"), &body(&code)), "far is broken: no", "{status} {code}");
            }
            for extensions in ["{}", "null", r#"{"error_code":null}"#] {
                let expect = if status == 422 { "far refused: no" } else { "far is broken: no" };
                assert_eq!(error(status, Some("7"), &body(extensions)), expect, "{status}");
            }
            for code in ["GRAPHQL_VALIDATION_FAILED", "GRAPHQL_PARSE_FAILED"] {
                let code = format!(r#"{{"code":"{code}"}}"#);
                assert_eq!(error(status, Some("7"), &body(&code)), "far refused: no", "{status} {code}");
            }
        }
        let partial = r#"{"data":{"result":"op-1"},"errors":[{"message":"no"},{"message":"second"}]}"#;
        assert_eq!(error(200, None, partial), "far is broken: no");
        assert_eq!(error(200, None, r#"{"errors":[{}]}"#), "far is broken: an error without a message");
    }

    #[test]
    fn what_is_no_graphql_is_sorted_by_its_status_and_never_quoted() {
        let cases = [
            (429, Some("7"), "far asks to wait for 7 s"),
            (429, None, "far asks to wait for 5 s"),
            (503, Some("soon"), "far asks to wait for 5 s"),
            (503, Some("9999"), "far asks to wait for 300 s"),
            (503, None, "far is broken: 503 Service Unavailable without a reason"),
            (404, Some("7"), "far is broken: 404 Not Found without a reason"),
            (302, None, "far is broken: 302 Found without a reason"),
            (200, None, "far is broken: the answer is not GraphQL, from line 1 column 1 on"),
        ];
        for (status, retry_after, expect) in cases {
            assert_eq!(error(status, retry_after, "hunter2 <html>"), expect);
        }
        let wrong_type = error(200, None, r#"{"data":{"result":{"hunter2":1}}}"#);
        assert_eq!(wrong_type, "far is broken: the result has another form than was asked for");
    }

    #[test]
    fn words_are_cut_and_cleaned_and_lose_our_secrets_first() {
        let secrets: [SecretString; 5] =
            ["hun\"ter\n2", "", "a", "hunter", "hunter-and-more"].map(Into::into);
        let said = |message: String| {
            let body = serde_json::json!({"errors": [{"message": message}]}).to_string();
            let secrets: Vec<_> = secrets.iter().collect();
            result::<String>(&answer(200, None, &body), &secrets).unwrap_err().to_string()
        };
        assert_eq!(said("bad value hun\"ter\n2!".into()), "far is broken: bad value <secret>!");
        assert_eq!(said(r#"bad value "hun\"ter\n2""#.into()), r#"far is broken: bad value "<secret>""#);
        assert_eq!(said("hunterhunter-and-more".into()), "far is broken: <secret><secret>");
        assert_eq!(said("a\u{1b}[31mb\nc".into()), "far is broken: a [31mb c");
        // A secret on the edge of the cut must not survive in part.
        let long = said(format!("  {}hun\"ter\n2 and more", "é".repeat(495)));
        assert!(long.ends_with("é<sec…") && !long.contains("hun"), "{long}");
        assert_eq!(long.chars().count(), "far is broken: ".len() + MESSAGE_CHARS_MAX);
        assert_eq!(said("é".repeat(500)), format!("far is broken: {}", "é".repeat(500)));
    }
}
