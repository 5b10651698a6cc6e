//! Tokens that one issuer signed, checked with the keys that it publishes.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use engine::store::StoreError;
use engine::{Clock, Timestamp};
use jsonwebtoken::{Validation, decode, decode_header};
use tokio::sync::Mutex;
use tracing::warn;

use super::claims::Claims;
use super::fetch::{Endpoints, IssuerClient, Published};
use super::keys::SigningKey;
use crate::auth::AuthError;

/// More than any issuer needs, also with hundreds of groups.
const TOKEN_BYTES_MAX: usize = 16 * 1024;
/// The issuer is asked at most this often, whatever tokens are sent.
const FETCH_PAUSE: Duration = Duration::from_secs(10);
/// After this time keys are fetched anew, so that one that the issuer took back ends.
const FRESH: Duration = Duration::from_mins(10);
/// An issuer that does not answer is forgiven for this long.
const OLD: Duration = Duration::from_hours(1);

pub(super) struct Signatures {
    issuer: IssuerClient,
    clock: Arc<dyn Clock>,
    known: RwLock<Arc<KeyCache>>,
    /// When the issuer was last asked. Held while it is, so that many callers ask once.
    asked_at: Mutex<Option<Timestamp>>,
}

#[derive(Default)]
struct KeyCache {
    published: Published,
    since: Option<Timestamp>,
}

impl KeyCache {
    /// What comes from the future is of no use: the clock was set back.
    fn is_younger(&self, than: Duration, now: Timestamp) -> bool {
        self.since.is_some_and(|since| since <= now && now.since(since) < than)
    }
}

/// The text repeats nothing of the token.
pub(super) fn refused(why: &str) -> AuthError {
    AuthError::Refused(why.to_owned())
}

impl Signatures {
    pub(super) fn new(issuer: IssuerClient, clock: Arc<dyn Clock>) -> Signatures {
        Signatures { issuer, clock, known: RwLock::default(), asked_at: Mutex::default() }
    }

    pub(super) fn issuer(&self) -> &IssuerClient {
        &self.issuer
    }

    pub(super) fn issuer_mut(&mut self) -> &mut IssuerClient {
        &mut self.issuer
    }

    /// What a token claims that the issuer signed. Whether that is good here and now is for the caller to check.
    pub(super) async fn claims(&self, token: &str) -> Result<Claims, AuthError> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(refused("this token is too long"));
        }
        let unreadable = |_| refused("this is not a signed token that can be read here");
        let header = decode_header(token).map_err(unreadable)?;
        if header.crit.is_some() {
            return Err(refused("this token has critical extensions, which are not known here"));
        }
        let key = self.key(header.kid.as_deref()).await?;
        if !key.algorithms.contains(&header.alg) {
            return Err(refused("this token is signed in a way that its key does not allow"));
        }
        let mut validation = Validation::new(header.alg);
        // What the token claims is checked elsewhere, against our clock and not that of the library.
        validation.required_spec_claims.clear();
        (validation.validate_exp, validation.validate_aud) = (false, false);
        let decoded = decode::<Claims>(token, &key.key, &validation)
            .map_err(|_| refused("the signature or the claims of this token are not valid"))?;
        Ok(decoded.claims)
    }

    /// Where the issuer takes people and codes; `None` while it cannot be asked.
    pub(super) async fn endpoints(&self) -> Option<Endpoints> {
        let known = self.known();
        if !known.is_younger(FRESH, self.clock.now()) {
            let is_good_enough = known.is_younger(OLD, self.clock.now());
            self.fetch(&known, is_good_enough).await;
        }
        let known = self.known();
        known.is_younger(OLD, self.clock.now()).then(|| known.published.endpoints.clone())
    }

    /// The same as it was last heard, without asking.
    pub(super) fn last_endpoints(&self) -> Endpoints {
        self.known().published.endpoints.clone()
    }

    async fn key(&self, id: Option<&str>) -> Result<Arc<SigningKey>, AuthError> {
        let known = self.known();
        let found = known.published.keys.find(id);
        if let Some(key) = found.as_ref().filter(|_| known.is_younger(FRESH, self.clock.now())) {
            return Ok(Arc::clone(key));
        }
        let is_good_enough = found.is_some() && known.is_younger(OLD, self.clock.now());
        let has_asked = self.fetch(&known, is_good_enough).await;
        let known = self.known();
        match known.published.keys.find(id) {
            Some(key) if known.is_younger(OLD, self.clock.now()) => Ok(key),
            None if has_asked || known.is_younger(FRESH, self.clock.now()) => {
                Err(refused("the issuer has no key for this token"))
            }
            // That says nothing about the token.
            _ => Err(StoreError::Unavailable("the keys of the token issuer cannot be fetched".into()).into()),
        }
    }

    fn known(&self) -> Arc<KeyCache> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Fetches the keys of the issuer, unless another task has since the caller looked or it is too soon. A caller with keys that are good
    /// enough does not wait for another task that fetches them.
    async fn fetch(&self, seen: &Arc<KeyCache>, is_good_enough: bool) -> bool {
        let mut asked_at = match self.asked_at.try_lock() {
            Ok(asked_at) => asked_at,
            Err(_) if is_good_enough => return false,
            Err(_) => self.asked_at.lock().await,
        };
        let now = self.clock.now();
        let is_soon = asked_at.is_some_and(|at| at <= now && now.since(at) < FETCH_PAUSE);
        if is_soon || !Arc::ptr_eq(seen, &self.known()) {
            return false;
        }
        *asked_at = Some(now);
        let answer = self.issuer.published().await;
        // An issuer that takes long to fail is left alone for as long as one that fails at once.
        *asked_at = Some(self.clock.now());
        match answer {
            Ok(published) => {
                let known = Arc::new(KeyCache { published, since: Some(now) });
                *self.known.write().unwrap_or_else(PoisonError::into_inner) = known;
                true
            }
            Err(error) => {
                warn!(%error, issuer = self.issuer.name(), "fetching the token issuer's keys failed");
                false
            }
        }
    }
}
