//! The token with which every call is made: one for the process, renewed before it ends.

use std::sync::Arc;
use std::time::Duration;

use cloud::{Category, CloudError};
use engine::secret::{ExposeSecret, SecretString};
use engine::{Clock, Timestamp};
use http_client::{Answer, DriverError, percent_encoded};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Url};
use serde::Deserialize;
use tokio::sync::Mutex;

use super::arm::no_answer;
use super::error::no_token;
use super::options::{Credential, Options};
use super::{SYSTEM, ids};

/// A token must still be good when a long call arrives.
const MARGIN: Duration = Duration::from_mins(5);
/// Longer than Entra ever grants; a token that says more is asked for again.
const LIFE_MAX: Duration = Duration::from_hours(24);
const ANSWER_BYTES_MAX: usize = 64 * 1024;
const ASSERTION_BYTES_MAX: u64 = 64 * 1024;
const FORM: &str = "application/x-www-form-urlencoded";
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

pub(super) struct Tokens {
    client: Client,
    clock: Arc<dyn Clock>,
    url: Url,
    scope: String,
    client_id: String,
    credential: Option<Credential>,
    /// Held while a token is fetched, so that many calls at once fetch one.
    current: Mutex<Option<AccessToken>>,
}

#[derive(Clone)]
pub(super) struct AccessToken {
    pub(super) text: Arc<SecretString>,
    good_until: Timestamp,
}

#[derive(Deserialize)]
struct TokenAnswer {
    access_token: String,
    expires_in: u64,
}

impl Tokens {
    pub(super) fn new(
        options: &Options,
        client: Client,
        clock: Arc<dyn Clock>,
    ) -> Result<Tokens, DriverError> {
        let tenant = if options.tenant.is_empty() { "organizations" } else { options.tenant.as_str() };
        if ids::group_name(tenant).is_err() {
            return Err(SYSTEM.refused("the tenant is a UUID or a domain name"));
        }
        let authority = options.authority.trim_end_matches('/');
        Ok(Tokens {
            client,
            clock,
            url: SYSTEM.safe_url(&format!("{authority}/{tenant}/oauth2/v2.0/token"))?,
            scope: options.scope.clone(),
            client_id: options.client_id.clone(),
            credential: options.credential.clone(),
            current: Mutex::default(),
        })
    }

    pub(super) async fn get(&self) -> Result<AccessToken, CloudError> {
        let mut current = self.current.lock().await;
        match &*current {
            Some(token) if self.clock.now() < token.good_until => Ok(token.clone()),
            _ => {
                let token = self.fetch().await?;
                *current = Some(token.clone());
                Ok(token)
            }
        }
    }

    /// The Resource Manager refused this token, whatever its time of life.
    pub(super) async fn forget(&self, refused: &AccessToken) {
        let mut current = self.current.lock().await;
        if current.as_ref().is_some_and(|token| Arc::ptr_eq(&token.text, &refused.text)) {
            *current = None;
        }
    }

    async fn fetch(&self) -> Result<AccessToken, CloudError> {
        let mut form = vec![
            ("client_id", SecretString::from(self.client_id.as_str())),
            ("grant_type", "client_credentials".into()),
            ("scope", self.scope.as_str().into()),
        ];
        match &self.credential {
            None => {
                let message =
                    "the engine has no credential for Azure: set the client secret of its application";
                return Err(CloudError::new(Category::Permission, "NoCredentials", message));
            }
            Some(Credential::Secret(secret)) => form.push(("client_secret", secret.clone())),
            Some(Credential::TokenFile(path)) => {
                form.push(("client_assertion_type", ASSERTION_TYPE.into()));
                form.push(("client_assertion", assertion(path).await?));
            }
            Some(Credential::Certificate(certificate)) => {
                let signed = certificate.assertion(&self.client_id, self.url.as_str(), self.clock.now())?;
                form.push(("client_assertion_type", ASSERTION_TYPE.into()));
                form.push(("client_assertion", signed));
            }
        }
        let pair = |(name, value): &(&str, SecretString)| {
            format!("{name}={}", percent_encoded(value.expose_secret()))
        };
        let body = form.iter().map(pair).collect::<Vec<_>>().join("&");
        let asked_at = self.clock.now();
        let request = self.client.post(self.url.clone()).header(CONTENT_TYPE, FORM).body(body);
        let answer = Answer::within(ANSWER_BYTES_MAX, SYSTEM, request).await.map_err(no_answer)?;
        if !answer.status.is_success() {
            return Err(no_token(answer.status, &answer.body, answer.retry_after()));
        }
        // The parser's own words could quote the token.
        let token: TokenAnswer = serde_json::from_slice(&answer.body).map_err(|_| {
            CloudError::new(Category::Upstream, "", "Entra answered with something that is no token")
        })?;
        let life = Duration::from_secs(token.expires_in).min(LIFE_MAX);
        let good_until = asked_at.plus(life.saturating_sub(MARGIN));
        Ok(AccessToken { text: Arc::new(token.access_token.into()), good_until })
    }
}

async fn assertion(path: &std::path::Path) -> Result<SecretString, CloudError> {
    let broken = |why: String| {
        let message = format!("the federated token in {} cannot be used: {why}", path.display());
        CloudError::new(Category::Permission, "NoCredentials", message)
    };
    let length = tokio::fs::metadata(path).await.map_err(|error| broken(error.to_string()))?.len();
    if length > ASSERTION_BYTES_MAX {
        return Err(broken(format!("it has more than {ASSERTION_BYTES_MAX} bytes")));
    }
    let text = tokio::fs::read_to_string(path).await.map_err(|error| broken(error.to_string()))?;
    Ok(text.trim().into())
}
