//! Tokens, one for each service account, kept until shortly before they end.

use std::collections::HashMap;
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::Duration;

use cloud::{CloudAccount, CloudError};
use engine::secret::{ExposeSecret, SecretString};
use engine::{Clock, Timestamp};
use http_client::DriverError;
use reqwest::Url;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Mutex;

use crate::assertion::{SCOPE, Signer};
use crate::call::{Http, bearer, joined, read, wait};
use crate::error::{from_answer, from_token_answer, permission};
use crate::json::number;
use crate::options::KeySource;
use crate::{GoogleOptions, SYSTEM, ServiceAccountKey};

/// A token must still be good when a long call arrives.
const MARGIN: Duration = Duration::from_mins(5);
const LIFE: Duration = Duration::from_hours(1);
const GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
/// Beyond this all are asked for anew; a token costs one call.
const KEPT_MAX: usize = 2000;
const PLACEHOLDER: &str = "{org}";
/// What the first part of the address of a service account may be.
const ACCOUNT_CHARS_MAX: usize = 30;

pub(super) struct Tokens {
    clock: Arc<dyn Clock>,
    own: Option<OwnKey>,
    impersonate: Option<String>,
    /// By the address of the service account; our own has none.
    kept: Lock<HashMap<String, TokenCache>>,
}

/// The key of our own service account, or where a sandbox gives it out.
enum OwnKey {
    Known(Signer),
    Sandbox { email: String, url: Url },
}

impl OwnKey {
    fn new(source: &KeySource) -> Result<OwnKey, DriverError> {
        Ok(match source {
            KeySource::Key(key) => OwnKey::Known(Signer::new(key)?),
            KeySource::Sandbox { email, url } => {
                OwnKey::Sandbox { email: email.clone(), url: SYSTEM.safe_url(url)? }
            }
        })
    }

    fn email(&self) -> &str {
        match self {
            OwnKey::Known(signer) => &signer.email,
            OwnKey::Sandbox { email, .. } => email,
        }
    }

    async fn assertion(&self, http: &Http, now: Timestamp) -> Result<String, CloudError> {
        let unusable = |error: DriverError| permission("InvalidCredentials", error.to_string());
        match self {
            OwnKey::Known(signer) => signer.assertion(now).map_err(unusable),
            OwnKey::Sandbox { url, .. } => {
                let answer = http.answer(http.client.get(url.clone())).await?;
                if !answer.status.is_success() {
                    return Err(from_answer(answer.status, &answer.body, wait(&answer)));
                }
                let key = ServiceAccountKey::parse(&String::from_utf8_lossy(&answer.body));
                let key = key.map_err(|why| permission("InvalidCredentials", why))?;
                Signer::new(&key).and_then(|signer| signer.assertion(now)).map_err(unusable)
            }
        }
    }
}

/// Held while a token is asked for, so that many calls at once ask once.
type TokenCache = Arc<Mutex<Option<KeptToken>>>;

struct KeptToken {
    secret: SecretString,
    good_until: Timestamp,
}

#[derive(Deserialize)]
struct TokenAnswer {
    access_token: String,
    #[serde(deserialize_with = "number")]
    expires_in: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ImpersonationAnswer {
    access_token: String,
    expire_time: String,
}

impl Tokens {
    pub(super) fn new(options: &GoogleOptions, clock: Arc<dyn Clock>) -> Result<Tokens, DriverError> {
        let own = options.credentials.as_ref().map(OwnKey::new).transpose()?;
        let impersonate = options.impersonate.clone();
        if impersonate.as_ref().is_some_and(|template| template.matches(PLACEHOLDER).count() != 1) {
            let message =
                "the service account to impersonate must have {org} once: one account for each organisation";
            return Err(SYSTEM.refused(message));
        }
        Ok(Tokens { clock, own, impersonate, kept: Lock::default() })
    }

    /// Whether each organisation has a service account of its own.
    pub(super) fn are_of_organisations(&self) -> bool {
        self.impersonate.is_some()
    }

    /// The address of the service account that acts for an account.
    pub(super) fn email(&self, place: &CloudAccount<'_>) -> Result<String, CloudError> {
        match &self.impersonate {
            Some(template) => impersonated(template, &place.account.org),
            None => Ok(self.own()?.email().to_owned()),
        }
    }

    pub(super) async fn token(
        &self,
        http: &Http,
        place: &CloudAccount<'_>,
    ) -> Result<SecretString, CloudError> {
        let Some(template) = &self.impersonate else { return self.own_token(http).await };
        let email = impersonated(template, &place.account.org)?;
        let cache = self.cache(&email);
        let mut kept = cache.lock().await;
        if let Some(token) = kept.as_ref().filter(|token| self.clock.now() < token.good_until) {
            return Ok(token.secret.clone());
        }
        let asked_at = self.clock.now();
        let own = self.own_token(http).await?;
        let path = format!("projects/-/serviceAccounts/{email}:generateAccessToken");
        let body = json!({"scope": [SCOPE], "lifetime": format!("{}s", LIFE.as_secs())});
        let request = http.client.post(joined(&http.iam_credentials, &path)?);
        let request = request.header(reqwest::header::AUTHORIZATION, bearer(&own)?).json(&body);
        let answer = http.answer(request).await?;
        if !answer.status.is_success() {
            self.forget_own(&own).await;
            let error = from_answer(answer.status, &answer.body, wait(&answer));
            let message = format!("acting as {email} is not possible: {}", error.message);
            return Err(CloudError { message, ..error });
        }
        let answer: ImpersonationAnswer = read(&answer)?;
        let ends = Timestamp::parse(&answer.expire_time).unwrap_or(asked_at.plus(LIFE));
        let good_until = ends.min(asked_at.plus(LIFE)).minus(MARGIN);
        let secret = SecretString::from(answer.access_token);
        *kept = Some(KeptToken { secret: secret.clone(), good_until });
        Ok(secret)
    }

    /// This token is no longer good, whatever it said.
    pub(super) async fn forget(&self, place: &CloudAccount<'_>, token: &SecretString) {
        match &self.impersonate {
            Some(template) => {
                if let Ok(email) = impersonated(template, &place.account.org) {
                    drop_if(&self.cache(&email), token).await;
                }
            }
            None => self.forget_own(token).await,
        }
    }

    async fn forget_own(&self, token: &SecretString) {
        drop_if(&self.cache(""), token).await;
    }

    async fn own_token(&self, http: &Http) -> Result<SecretString, CloudError> {
        let cache = self.cache("");
        let mut kept = cache.lock().await;
        if let Some(token) = kept.as_ref().filter(|token| self.clock.now() < token.good_until) {
            return Ok(token.secret.clone());
        }
        let asked_at = self.clock.now();
        let assertion = self.own()?.assertion(http, asked_at).await?;
        let form = format!("grant_type={}&assertion={assertion}", http_client::percent_encoded(GRANT));
        let request = http.client.post(http.token.clone()).body(form);
        let request = request.header(reqwest::header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        let answer = http.answer(request).await?;
        if !answer.status.is_success() {
            return Err(from_token_answer(answer.status, &answer.body, wait(&answer)));
        }
        let answer: TokenAnswer = read(&answer)?;
        let life = Duration::from_secs(answer.expires_in).min(LIFE);
        let (secret, good_until) =
            (SecretString::from(answer.access_token), asked_at.plus(life).minus(MARGIN.min(life / 2)));
        *kept = Some(KeptToken { secret: secret.clone(), good_until });
        Ok(secret)
    }

    fn own(&self) -> Result<&OwnKey, CloudError> {
        self.own.as_ref().ok_or_else(|| {
            let message = "the program has no key of a service account of Google Cloud: set \
                           launch.gcp.key_file";
            permission("NoCredentials", message)
        })
    }

    fn cache(&self, email: &str) -> TokenCache {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT_MAX && !kept.contains_key(email) {
            kept.clear();
        }
        Arc::clone(kept.entry(email.to_owned()).or_default())
    }
}

async fn drop_if(cache: &TokenCache, token: &SecretString) {
    let mut kept = cache.lock().await;
    if kept.as_ref().is_some_and(|kept| kept.secret.expose_secret() == token.expose_secret()) {
        *kept = None;
    }
}

/// Two organisations never share a service account, so an id that does not fit is refused and not changed.
fn impersonated(template: &str, org: &str) -> Result<String, CloudError> {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if org.is_empty() || org.len() > ACCOUNT_CHARS_MAX || !org.bytes().all(fits) {
        let message = format!(
            "the organisation {org:?} cannot have a service account of its own: its id must be 1 to \
             {ACCOUNT_CHARS_MAX} small letters, digits and hyphens"
        );
        return Err(permission("InvalidOrganisation", message));
    }
    Ok(template.replace(PLACEHOLDER, org))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn organisations_do_not_share_a_service_account() {
        let template = "pe-{org}@ours.iam.gserviceaccount.com";
        assert_eq!(impersonated(template, "org-7").unwrap(), "pe-org-7@ours.iam.gserviceaccount.com");
        for org in ["", "Org", "a.b", "a/b", "a@b", "ä", &"a".repeat(31)] {
            assert_eq!(impersonated(template, org).unwrap_err().code, "InvalidOrganisation", "{org}");
        }
    }
}
