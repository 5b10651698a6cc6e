//! The greeter over HTTP.

use std::time::Duration;

use async_trait::async_trait;
use http_client::{Answer, DriverError, client_builder, shorten};
use reqwest::header::HeaderValue;
use reqwest::{Client, StatusCode, Url};

use super::types::{ErrorBody, GreetBody, GreetingBody};
use super::{Greeter, Greeting, SYSTEM};

/// One client, and so one pool of connections, for all calls.
#[derive(Debug, Clone)]
pub struct HttpGreeter {
    client: Client,
    greetings: Url,
}

impl HttpGreeter {
    /// `timeout` limits connecting, and then every silence of the external system.
    pub fn new(base_url: &str, timeout: Duration) -> Result<Self, DriverError> {
        let client = SYSTEM.client(client_builder(timeout))?;
        Ok(HttpGreeter { client, greetings: greetings_url(base_url)? })
    }

    fn greeting_url(&self, token: &str) -> Result<Url, DriverError> {
        // URLs drop segments of dots, however they are encoded, and then the call would mean all greetings.
        if matches!(token, "" | "." | "..") {
            return Err(SYSTEM.refused(format!("a greeting cannot have the token {token:?}")));
        }
        let mut url = self.greetings.clone();
        url.path_segments_mut().map_err(|()| SYSTEM.refused("the base url cannot have a path"))?.push(token);
        Ok(url)
    }
}

#[async_trait]
impl Greeter for HttpGreeter {
    async fn greet(&self, token: &str, name: &str) -> Result<Greeting, DriverError> {
        // Checked as part of a path too, because what cannot be found and forgotten must not be made.
        self.greeting_url(token)?;
        let key = HeaderValue::from_str(token)
            .map_err(|_| SYSTEM.refused(format!("a greeting cannot have the token {token:?}")))?;
        let request = self.client.post(self.greetings.clone()).header("Idempotency-Key", key);
        let answer = Answer::to(SYSTEM, request.json(&GreetBody { name })).await?;
        greeting(&answer)
    }

    async fn find(&self, token: &str) -> Result<Option<Greeting>, DriverError> {
        let answer = Answer::to(SYSTEM, self.client.get(self.greeting_url(token)?)).await?;
        match answer.status {
            StatusCode::NOT_FOUND => Ok(None),
            _ => greeting(&answer).map(Some),
        }
    }

    async fn forget(&self, token: &str) -> Result<(), DriverError> {
        let answer = Answer::to(SYSTEM, self.client.delete(self.greeting_url(token)?)).await?;
        match answer.status {
            StatusCode::NO_CONTENT | StatusCode::NOT_FOUND => Ok(()),
            _ => Err(error_response(&answer)),
        }
    }
}

fn greeting(answer: &Answer) -> Result<Greeting, DriverError> {
    if !matches!(answer.status, StatusCode::OK | StatusCode::CREATED) {
        return Err(error_response(answer));
    }
    answer.json::<GreetingBody>("a greeting").map(Greeting::from)
}

fn error_response(answer: &Answer) -> DriverError {
    if let Some(throttled) = answer.throttled() {
        return throttled;
    }
    match answer.status {
        status if status.is_client_error() => SYSTEM.refused(message(answer)),
        status if status.is_server_error() => SYSTEM.broken(format!("{status}: {}", message(answer))),
        status => SYSTEM.broken(format!("{status} was not expected")),
    }
}

/// The external system's own words, or what can be read of them.
fn message(answer: &Answer) -> String {
    match serde_json::from_slice::<ErrorBody>(&answer.body) {
        Ok(body) => shorten(&body.error),
        Err(_) if answer.body.is_empty() => answer.status.to_string(),
        Err(_) => shorten(&String::from_utf8_lossy(&answer.body)),
    }
}

fn greetings_url(base_url: &str) -> Result<Url, DriverError> {
    let mut url = SYSTEM.url(base_url)?;
    url.path_segments_mut()
        .map_err(|()| SYSTEM.refused("the base url cannot have a path"))?
        .pop_if_empty()
        .extend(["greeter", "greetings"]);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderMap, RETRY_AFTER};

    use super::*;
    use http_client::MESSAGE_CHARS_MAX;

    fn answer(status: u16, header: Option<&str>, body: &str) -> Answer {
        let mut headers = HeaderMap::new();
        if let Some(text) = header {
            headers.insert(RETRY_AFTER, text.parse().unwrap());
        }
        Answer { system: SYSTEM, status: StatusCode::from_u16(status).unwrap(), headers, body: body.into() }
    }

    #[test]
    fn answers_are_sorted_by_what_can_be_done() {
        check(&answer(429, Some("7"), ""), "greeter asks to wait for 7 s");
        check(&answer(429, None, ""), "greeter asks to wait for 5 s");
        check(&answer(429, Some("Wed, 21 Oct 2015 07:28:00 GMT"), ""), "greeter asks to wait for 5 s");
        check(&answer(503, Some("999999999999"), ""), "greeter asks to wait for 300 s");
        check(&answer(503, Some("-1"), ""), "greeter asks to wait for 5 s");
        let words = r#"{"error":"no\nluck"}"#;
        check(&answer(503, None, words), "greeter is broken: 503 Service Unavailable: no luck");
        check(&answer(500, Some("7"), "oops"), "greeter is broken: 500 Internal Server Error: oops");
        check(&answer(302, None, ""), "greeter is broken: 302 Found was not expected");
        check(&answer(204, None, ""), "greeter is broken: 204 No Content was not expected");
        check(&answer(422, None, words), "greeter refused: no luck");
        check(&answer(401, None, ""), "greeter refused: 401 Unauthorized");
        check(
            &answer(200, None, ""),
            "greeter is broken: the answer is not a greeting, from line 1 column 0 on",
        );
    }

    #[track_caller]
    fn check(answer: &Answer, expect: &str) {
        assert_eq!(greeting(answer).unwrap_err().to_string(), expect);
    }

    #[test]
    fn a_wrong_answer_is_never_quoted() {
        let error = greeting(&answer(200, None, r#"{"text":"hi","token":{"secret":"s3cr3t"}}"#)).unwrap_err();
        assert!(!format!("{error:?}").contains("s3cr3t"), "{error:?}");
    }

    #[test]
    fn long_messages_are_cut() {
        let error = error_response(&answer(400, None, &"é".repeat(5000)));
        let DriverError::Refused { message, .. } = error else { panic!("{error:?}") };
        assert_eq!(message.chars().count(), MESSAGE_CHARS_MAX);
        assert!(message.ends_with('…'));
    }

    #[test]
    fn tokens_stay_one_segment_of_the_path() {
        let greeter = HttpGreeter::new("http://localhost:1/base/", Duration::from_secs(1)).unwrap();
        let url = |token| greeter.greeting_url(token).unwrap().to_string();
        assert_eq!(url("t1"), "http://localhost:1/base/greeter/greetings/t1");
        assert_eq!(
            url("a/../b?c#d e%2F"),
            "http://localhost:1/base/greeter/greetings/a%2F..%2Fb%3Fc%23d%20e%252F"
        );
        for token in ["", ".", ".."] {
            assert!(greeter.greeting_url(token).is_err());
        }
    }

    #[test]
    fn a_base_url_that_cannot_work_is_refused_at_once() {
        for base_url in ["", "localhost", "ftp://localhost", "mailto:a@b"] {
            let error = HttpGreeter::new(base_url, Duration::from_secs(1)).unwrap_err();
            assert!(matches!(error, DriverError::Refused { .. }), "{error:?}");
        }
    }
}
