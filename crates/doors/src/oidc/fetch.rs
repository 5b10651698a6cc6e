//! How the keys of an issuer are found: its discovery document says where they are.

use std::time::Duration;

use reqwest::{Client, Url, redirect};
use serde::Deserialize;

use super::keys::Keys;

const DISCOVERY: &str = "/.well-known/openid-configuration";
const CALL_LIMIT: Duration = Duration::from_secs(5);
const ANSWER_BYTES_MAX: usize = 256 * 1024;

pub(super) struct Issuer {
    name: String,
    discovery: Url,
    client: Client,
}

#[derive(Deserialize)]
struct Discovered {
    issuer: String,
    jwks_uri: String,
}

impl Issuer {
    pub(super) fn new(name: &str) -> Result<Issuer, String> {
        let discovery = safe_url(&format!("{}{DISCOVERY}", name.trim_end_matches('/')))
            .map_err(|error| format!("issuer: {error}"))?;
        if discovery.query().is_some() || discovery.fragment().is_some() {
            return Err("issuer: it must have no query and no fragment".into());
        }
        let client = Client::builder()
            .timeout(CALL_LIMIT)
            // Keys from a place that nobody configured would let in whom nobody knows.
            .redirect(redirect::Policy::none())
            .no_proxy()
            .build()
            .map_err(|error| format!("the HTTP client cannot be made: {error}"))?;
        Ok(Issuer { name: name.to_owned(), discovery, client })
    }

    pub(super) async fn keys(&self) -> Result<Keys, String> {
        let body = self.get(self.discovery.clone()).await?;
        let found: Discovered =
            serde_json::from_slice(&body).map_err(|_| "its discovery document cannot be read")?;
        if found.issuer != self.name {
            return Err("its discovery document names another issuer".into());
        }
        let place = safe_url(&found.jwks_uri).map_err(|error| format!("jwks_uri: {error}"))?;
        Keys::parse(&self.get(place).await?)
    }

    async fn get(&self, url: Url) -> Result<Vec<u8>, String> {
        let lost = |error: reqwest::Error| error.without_url().to_string();
        let mut response = self.client.get(url).send().await.map_err(lost)?;
        if !response.status().is_success() {
            return Err(format!("it answered {}", response.status().as_u16()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(lost)? {
            if body.len() + chunk.len() > ANSWER_BYTES_MAX {
                return Err(format!("its answer is longer than {ANSWER_BYTES_MAX} bytes"));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
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
        _ => Err("it must begin with https, except on this machine"),
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_over_https_or_from_this_machine() {
        for good in
            ["https://id.example.com/a", "http://127.0.0.1:8080", "http://[::1]/", "http://localhost/x"]
        {
            assert!(safe_url(good).is_ok() && Issuer::new(good).is_ok(), "{good}");
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
            assert!(safe_url(bad).is_err() && Issuer::new(bad).is_err(), "{bad}");
        }
        assert!(Issuer::new("https://id.example.com/?x=").is_err());
    }
}
