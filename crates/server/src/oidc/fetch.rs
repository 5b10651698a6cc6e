//! Calls to an issuer. Its discovery document says where everything else is.

use std::time::Duration;

use engine::secret::{ExposeSecret, SecretString};
use http_client::{NoAnswer, is_loopback, read_body};
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Client, RequestBuilder, Response, Url, redirect};
use serde::Deserialize;

use super::keys::SigningKeys;

const DISCOVERY: &str = "/.well-known/openid-configuration";
const CALL_LIMIT: Duration = Duration::from_secs(5);
const ANSWER_BYTES_MAX: usize = 256 * 1024;

pub(super) struct IssuerClient {
    name: String,
    discovery: Url,
    client: Client,
    call_limit: Duration,
}

/// All that an issuer says about itself.
#[derive(Default)]
pub(super) struct Published {
    pub(super) keys: SigningKeys,
    pub(super) endpoints: Endpoints,
}

/// Where people are sent, and codes. An issuer that only signs tokens for programs has none of these.
#[derive(Clone, Default, Deserialize)]
pub(super) struct Endpoints {
    #[serde(rename = "authorization_endpoint")]
    authorization: Option<String>,
    #[serde(rename = "token_endpoint")]
    token: Option<String>,
    #[serde(rename = "end_session_endpoint")]
    end_session: Option<String>,
}

impl Endpoints {
    pub(super) fn authorization(&self) -> Result<Url, String> {
        endpoint("authorization_endpoint", self.authorization.as_deref())
    }

    pub(super) fn token(&self) -> Result<Url, String> {
        endpoint("token_endpoint", self.token.as_deref())
    }

    pub(super) fn end_session(&self) -> Option<Url> {
        endpoint("end_session_endpoint", self.end_session.as_deref()).ok()
    }
}

fn endpoint(name: &str, given: Option<&str>) -> Result<Url, String> {
    let given = given.ok_or_else(|| format!("its discovery document names no {name}"))?;
    let mut url = safe_url(given).map_err(|error| format!("{name}: {error}"))?;
    url.set_fragment(None);
    Ok(url)
}

#[derive(Deserialize)]
struct Discovered {
    issuer: String,
    jwks_uri: String,
    #[serde(flatten)]
    endpoints: Endpoints,
}

impl IssuerClient {
    pub(super) fn new(name: &str) -> Result<IssuerClient, String> {
        let discovery = safe_url(&format!("{}{DISCOVERY}", name.trim_end_matches('/')))
            .map_err(|error| format!("issuer: {error}"))?;
        if discovery.query().is_some() || discovery.fragment().is_some() {
            return Err("issuer: it must have no query and no fragment".into());
        }
        let client = http_client::http_client()
            // Keys from an address that no operator configured would admit unknown users.
            .redirect(redirect::Policy::none())
            .no_proxy()
            .build()
            .map_err(|error| format!("the HTTP client cannot be made: {error}"))?;
        Ok(IssuerClient { name: name.to_owned(), discovery, client, call_limit: CALL_LIMIT })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn set_call_limit(&mut self, call_limit: Duration) {
        self.call_limit = call_limit;
    }

    pub(super) async fn published(&self) -> Result<Published, String> {
        let body = self.get(self.discovery.clone()).await?;
        let found: Discovered =
            serde_json::from_slice(&body).map_err(|_| "its discovery document cannot be read")?;
        if found.issuer != self.name {
            return Err("its discovery document names another issuer".into());
        }
        let location = safe_url(&found.jwks_uri).map_err(|error| format!("jwks_uri: {error}"))?;
        let keys = SigningKeys::parse(&self.get(location).await?)?;
        Ok(Published { keys, endpoints: found.endpoints })
    }

    /// Sends a form, with the name and the secret of a client that has one. Answers the status and the body.
    pub(super) async fn post(
        &self,
        url: Url,
        form: String,
        client: Option<(String, &SecretString)>,
    ) -> Result<(u16, Vec<u8>), String> {
        let request = self.client.post(url).header(ACCEPT, "application/json");
        let request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(form);
        let request = match client {
            Some((id, secret)) => request.basic_auth(id, Some(secret.expose_secret())),
            None => request,
        };
        let response = self.send(request).await?;
        Ok((response.status().as_u16(), self.read(response).await?))
    }

    async fn get(&self, url: Url) -> Result<Vec<u8>, String> {
        let response = self.send(self.client.get(url)).await?;
        if !response.status().is_success() {
            return Err(format!("it answered {}", response.status().as_u16()));
        }
        self.read(response).await
    }

    /// The limit is for the answer as a whole.
    async fn send(&self, request: RequestBuilder) -> Result<Response, String> {
        request.timeout(self.call_limit).send().await.map_err(|error| self.lost(error))
    }

    async fn read(&self, mut response: Response) -> Result<Vec<u8>, String> {
        read_body(&mut response, ANSWER_BYTES_MAX).await.map_err(|error| match error {
            NoAnswer::Lost(error) => self.lost(error),
            NoAnswer::TooLong { bytes_max } => format!("its answer is longer than {bytes_max} bytes"),
        })
    }

    fn lost(&self, error: reqwest::Error) -> String {
        if error.is_timeout() {
            return format!("it did not answer within {:?}", self.call_limit);
        }
        if error.is_connect() {
            return "no connection can be made to it".into();
        }
        error.without_url().to_string()
    }
}

/// Keys that came over a wire that others can write to prove nothing. This machine is no such wire.
fn safe_url(text: &str) -> Result<Url, &'static str> {
    let url = Url::parse(text).map_err(|_| "it is not a URL")?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it must not have a user or a password");
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_loopback(&url) => Ok(url),
        _ => Err("it must begin with https, except on this host"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_over_https_or_from_this_machine() {
        for good in
            ["https://id.example.com/a", "http://127.0.0.1:8080", "http://[::1]/", "http://localhost/x"]
        {
            assert!(safe_url(good).is_ok() && IssuerClient::new(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "id.example.com",
            "http://id.example.com",
            "http://127.0.0.1.example.com",
            "http://localhost.example.com",
            "file:///etc/passwd",
            "https://me:secret@id.example.com",
        ] {
            assert!(safe_url(bad).is_err() && IssuerClient::new(bad).is_err(), "{bad}");
        }
        assert!(IssuerClient::new("https://id.example.com/?x=").is_err());
    }

    #[test]
    fn people_and_codes_go_where_keys_may_come_from_and_nowhere_else() {
        let read = |location: &str| -> Endpoints {
            let document = serde_json::json!({"authorization_endpoint": location, "token_endpoint": location,
                "end_session_endpoint": location});
            serde_json::from_value(document).unwrap()
        };
        let good = read("https://id.example.com/a?b=c#d");
        assert_eq!(good.authorization().unwrap().as_str(), "https://id.example.com/a?b=c");
        assert_eq!((good.token(), good.end_session()), (good.authorization(), good.authorization().ok()));
        for bad in ["http://id.example.com/", "javascript:alert(1)", "/here", "https://me@id.example.com"] {
            let bad = read(bad);
            assert!(bad.authorization().unwrap_err().starts_with("authorization_endpoint"));
            assert!(bad.token().unwrap_err().starts_with("token_endpoint"));
            assert_eq!(bad.end_session(), None);
        }
        let none = Endpoints::default();
        assert!(none.token().unwrap_err().ends_with("no token_endpoint") && none.end_session().is_none());
    }
}
