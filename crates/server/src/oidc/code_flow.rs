//! How people sign in: the authorization code flow of `OpenID` Connect, with PKCE.
//!
//! Between its two halves the caller keeps what [`CodeFlow::begin`] gave, where only the same browser finds it again,
//! and compares the state itself.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use engine::secret::{ExposeSecret, SecretString};
use engine::{Clock, Proof};
use http_client::percent_encoded;
use reqwest::Url;
use sha2::{Digest, Sha256};

use super::fetch::{Endpoints, IssuerClient};
use super::signatures::Signatures;
use super::{OidcSettings, exchange};
use crate::auth::AuthError;
use crate::principal::Principal;

/// 256 bits cannot be guessed.
const RANDOM_BYTES: usize = 32;
/// Issuers send a few hundred bytes at most.
const CODE_BYTES_MAX: usize = 4096;
/// Without this scope it is not `OpenID` Connect, and the token does not say who signed in.
const SCOPE_NEEDED: &str = "openid";

/// As whom we stand before the issuer.
#[derive(Debug, Clone)]
pub struct CodeFlowSettings {
    pub client_id: String,
    /// A public client has none.
    pub client_secret: Option<SecretString>,
    /// What is asked for; `openid` must be among it.
    pub scopes: Vec<String>,
}

/// A sign-in under way. The location is for the browser, the rest is for [`CodeFlow::finish`].
#[derive(Clone)]
pub struct Begun {
    /// Where the browser goes to sign in.
    pub location: String,
    /// Comes back with the code. A request with another one did not begin this sign-in.
    pub state: String,
    pub nonce: String,
    pub verifier: SecretString,
}

/// With these an attacker could finish the sign-in in place of its owner.
impl fmt::Debug for Begun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Begun").finish_non_exhaustive()
    }
}

/// Why the sign-in failed. The texts have neither codes nor tokens nor verifiers in them, and can be shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlowError {
    /// It is not good, and why.
    #[error("{0}")]
    Refused(String),
    /// It cannot be told now.
    #[error("{0}")]
    Unavailable(String),
}

/// A client of one issuer at which people sign in.
pub struct CodeFlow {
    settings: OidcSettings,
    client: CodeFlowSettings,
    signatures: Signatures,
    clock: Arc<dyn Clock>,
}

impl CodeFlow {
    /// The error names the setting. The audience of bearer tokens does not matter here: an ID token is meant for the
    /// client.
    pub fn new(
        settings: OidcSettings,
        client: CodeFlowSettings,
        clock: Arc<dyn Clock>,
    ) -> Result<CodeFlow, String> {
        if client.client_id.is_empty() {
            return Err("client_id: must not be empty".into());
        }
        // A secret that is empty was forgotten, and is not the wish to have none.
        if client.client_secret.as_ref().is_some_and(|secret| secret.expose_secret().is_empty()) {
            return Err("client_secret: must not be empty".into());
        }
        if !client.scopes.iter().any(|scope| scope == SCOPE_NEEDED) {
            return Err(format!("scopes: {SCOPE_NEEDED} must be among them"));
        }
        let issuer = IssuerClient::new(&settings.issuer)?;
        let settings = OidcSettings { audience: client.client_id.clone(), ..settings };
        Ok(CodeFlow { settings, client, signatures: Signatures::new(issuer, Arc::clone(&clock)), clock })
    }

    /// How long the issuer may take to answer one call. Without this it is a few seconds.
    #[must_use]
    pub fn with_call_limit(mut self, limit: Duration) -> CodeFlow {
        self.signatures.issuer_mut().set_call_limit(limit);
        self
    }

    /// Begins to sign a user in. They come back to `redirect_uri` with a code and the state.
    pub async fn begin(&self, redirect_uri: &str) -> Result<Begun, FlowError> {
        check_redirect(redirect_uri)?;
        let mut location = self.endpoints().await?.authorization().map_err(|why| unusable(&why))?;
        let [state, nonce, verifier] = [random(), random(), random()];
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&verifier));
        location.query_pairs_mut().extend_pairs([
            ("response_type", "code"),
            ("client_id", &self.client.client_id),
            ("redirect_uri", redirect_uri),
            ("scope", &self.client.scopes.join(" ")),
            ("state", &state),
            ("nonce", &nonce),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ]);
        Ok(Begun { location: location.into(), state, nonce, verifier: verifier.into() })
    }

    /// Ends what `begin` began, with the code that came back: asks the issuer who it was.
    pub async fn finish(
        &self,
        code: &str,
        verifier: &SecretString,
        nonce: &str,
        redirect_uri: &str,
    ) -> Result<Principal, FlowError> {
        if !(1..=CODE_BYTES_MAX).contains(&code.len()) {
            return Err(FlowError::Refused(
                "the identity provider sent no code that can be used here".into(),
            ));
        }
        let token = self.exchange(code, verifier, redirect_uri).await?;
        let claims = self.signatures.claims(token.expose_secret()).await.map_err(|denied| match denied {
            AuthError::Refused(why) => not_good(&why),
            AuthError::Unavailable(_) => FlowError::Unavailable(
                "the keys of the identity provider cannot be fetched; try again later".into(),
            ),
        })?;
        let now = self.clock.now();
        claims
            .check(&self.settings, now)
            .and_then(|()| claims.check_sign_in(&self.client.client_id, nonce, now))
            .map_err(not_good)?;
        Ok(Principal::of(Proof::CodeFlow, claims.subject(&self.settings)))
    }

    /// Where a browser goes to sign out at the issuer too, and then `back`. `None` when the issuer has no such place,
    /// or was not asked since this process began.
    pub fn end_session(&self, back: &str) -> Option<String> {
        let mut location = self.signatures.last_endpoints().end_session()?;
        location.query_pairs_mut().extend_pairs([
            ("client_id", self.client.client_id.as_str()),
            ("post_logout_redirect_uri", back),
        ]);
        Some(location.into())
    }

    async fn exchange(
        &self,
        code: &str,
        verifier: &SecretString,
        redirect_uri: &str,
    ) -> Result<SecretString, FlowError> {
        let location = self.endpoints().await?.token().map_err(|why| unusable(&why))?;
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect_uri),
            ("code_verifier", verifier.expose_secret()),
        ];
        let CodeFlowSettings { client_id, client_secret, .. } = &self.client;
        let secret = client_secret.as_ref().map(|secret| percent_encoded(secret.expose_secret()).into());
        if secret.is_none() {
            fields.push(("client_id", client_id));
        }
        let client = secret.as_ref().map(|secret| (percent_encoded(client_id), secret));
        let sent = self.signatures.issuer().post(location, exchange::form(&fields), client).await;
        let (status, body) =
            sent.map_err(|why| FlowError::Unavailable(format!("the identity provider fails: {why}")))?;
        exchange::id_token(status, &body)
    }

    async fn endpoints(&self) -> Result<Endpoints, FlowError> {
        self.signatures.endpoints().await.ok_or_else(|| {
            FlowError::Unavailable("the identity provider does not answer; try again in a moment".into())
        })
    }
}

fn random() -> String {
    URL_SAFE_NO_PAD.encode(rand::random::<[u8; RANDOM_BYTES]>())
}

fn check_redirect(uri: &str) -> Result<(), FlowError> {
    let is_good = Url::parse(uri).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https") && url.has_host() && url.fragment().is_none()
    });
    if is_good {
        return Ok(());
    }
    Err(FlowError::Refused("the address to come back to is not a URL of the web".into()))
}

fn unusable(why: &str) -> FlowError {
    FlowError::Unavailable(format!("sign-in at this identity provider failed: {why}"))
}

fn not_good(why: &str) -> FlowError {
    FlowError::Refused(format!("this sign-in is not good: {why}"))
}
