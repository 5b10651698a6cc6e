//! Bearer tokens by OAuth 2 client credentials, cached until shortly before they expire.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::secret::{ExposeSecret, SecretString};
use engine::{Clock, Timestamp};
use http_client::{Answer, DriverError, client_builder, percent_encoded, shorten};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Url};
use serde::Deserialize;
use tokio::sync::Mutex;

use super::SYSTEM;

/// A token must still be good when the call arrives at the external system.
const MARGIN: Duration = Duration::from_secs(30);
/// For an identity that does not say how long its token is good.
const LIFE_DEFAULT: Duration = Duration::from_mins(5);
const LIFE_MAX: Duration = Duration::from_hours(24);

/// Who we are to the identity that issues tokens.
#[derive(Debug, Clone)]
pub struct ClientCredentials {
    pub token_url: String,
    pub client_id: String,
    pub client_secret: SecretString,
    pub scope: Option<String>,
}

pub(super) struct TokenSource {
    credentials: ClientCredentials,
    token_url: Url,
    client: Client,
    clock: Arc<dyn Clock>,
    /// Held while a token is fetched, so that many calls at once fetch one.
    kept: Mutex<Option<CachedToken>>,
}

struct CachedToken {
    bearer: HeaderValue,
    good_until: Timestamp,
}

/// No `Debug`, because the token is a secret.
#[derive(Deserialize)]
struct TokenBody {
    access_token: String,
    #[serde(default)]
    token_type: String,
    expires_in: Option<u64>,
}

#[derive(Deserialize)]
struct TokenErrorBody {
    error: String,
}

impl TokenSource {
    pub(super) fn new(
        credentials: ClientCredentials,
        clock: Arc<dyn Clock>,
        timeout: Duration,
    ) -> Result<Self, DriverError> {
        let token_url = SYSTEM.url(&credentials.token_url)?;
        let client = SYSTEM.client(client_builder(timeout))?;
        Ok(TokenSource { credentials, token_url, client, clock, kept: Mutex::new(None) })
    }

    /// The kept token, or a new one, as the value of the header.
    pub(super) async fn bearer(&self) -> Result<HeaderValue, DriverError> {
        let mut kept = self.kept.lock().await;
        match &*kept {
            Some(CachedToken { bearer, good_until }) if self.clock.now() < *good_until => Ok(bearer.clone()),
            _ => self.fetch(&mut kept).await,
        }
    }

    /// A token other than the one that was turned down; another call may have fetched it already.
    pub(super) async fn bearer_after(&self, turned_down: &HeaderValue) -> Result<HeaderValue, DriverError> {
        let mut kept = self.kept.lock().await;
        match &*kept {
            Some(CachedToken { bearer, .. }) if bearer != turned_down => Ok(bearer.clone()),
            _ => self.fetch(&mut kept).await,
        }
    }

    async fn fetch(&self, kept: &mut Option<CachedToken>) -> Result<HeaderValue, DriverError> {
        *kept = None;
        let asked_at = self.clock.now();
        let answer = Answer::to(SYSTEM, self.request()?).await?;
        let body = granted(&answer)?;
        let mut bearer = HeaderValue::from_str(&format!("Bearer {}", body.access_token))
            .map_err(|_| SYSTEM.broken("its identity issued a token that no header can carry"))?;
        bearer.set_sensitive(true);
        let life = body.expires_in.map_or(LIFE_DEFAULT, Duration::from_secs).min(LIFE_MAX);
        // A short life is used for its first half, so that the margin never eats it whole.
        let good_until = asked_at.plus(life.saturating_sub(MARGIN).max(life / 2));
        *kept = Some(CachedToken { bearer: bearer.clone(), good_until });
        Ok(bearer)
    }

    fn request(&self) -> Result<reqwest::RequestBuilder, DriverError> {
        let ClientCredentials { client_id, client_secret, scope, .. } = &self.credentials;
        let mut form = "grant_type=client_credentials".to_owned();
        if let Some(scope) = scope {
            form.push_str("&scope=");
            form.push_str(&percent_encoded(scope));
        }
        let id_and_secret =
            format!("{}:{}", percent_encoded(client_id), percent_encoded(client_secret.expose_secret()));
        let mut basic = SYSTEM.header("client id", &format!("Basic {}", STANDARD.encode(id_and_secret)))?;
        basic.set_sensitive(true);
        let request = self.client.post(self.token_url.clone()).header(AUTHORIZATION, basic);
        let request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        Ok(request.header(ACCEPT, "application/json").body(form))
    }
}

impl fmt::Debug for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenSource").field("credentials", &self.credentials).finish_non_exhaustive()
    }
}

fn granted(answer: &Answer) -> Result<TokenBody, DriverError> {
    if let Some(throttled) = answer.throttled() {
        return Err(throttled);
    }
    if answer.status.is_client_error() {
        let code = serde_json::from_slice::<TokenErrorBody>(&answer.body).map(|body| shorten(&body.error));
        let code = code.unwrap_or_else(|_| answer.status.to_string());
        return Err(
            SYSTEM.broken(format!("its identity gives us no token ({code}): check id, secret and scope"))
        );
    }
    if !answer.status.is_success() {
        return Err(SYSTEM.broken(format!("its identity answered {}", answer.status)));
    }
    let body = answer.json::<TokenBody>("a token")?;
    // The type may be missing, because some identities leave it out.
    if !body.token_type.is_empty() && !body.token_type.eq_ignore_ascii_case("bearer") {
        return Err(SYSTEM.broken("its identity issued a token that is no bearer token"));
    }
    if body.access_token.is_empty() {
        return Err(SYSTEM.broken("its identity issued an empty token"));
    }
    Ok(body)
}
