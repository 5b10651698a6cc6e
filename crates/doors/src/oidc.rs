//! Tokens that an issuer of `OpenID` Connect signed: whose they are and which role they bring.

mod claims;
mod fetch;
mod keys;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use engine::store::StoreError;
use engine::{Clock, Role, Timestamp};
use jsonwebtoken::{Validation, decode, decode_header};
use tokio::sync::Mutex;
use tracing::warn;

use crate::auth::{Bearers, Caller, Denied, Member};
use claims::Claims;
use fetch::Issuer;
use keys::{Key, Keys};

/// More than any issuer needs, also with hundreds of groups.
const TOKEN_BYTES_MAX: usize = 16 * 1024;
/// Nobody can make us ask the issuer more often than this, whatever tokens are sent.
const FETCH_PAUSE: Duration = Duration::from_secs(10);
/// After this time keys are fetched anew, so that one that the issuer took back ends.
const KEYS_FRESH: Duration = Duration::from_mins(10);
/// An issuer that does not answer is forgiven for this long.
const KEYS_OLD: Duration = Duration::from_hours(1);
const SCOPE_DEFAULT: &str = "broker:write";
const ORG_CLAIM_DEFAULT: &str = "org_id";

/// Whose tokens are good, and for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OidcSettings {
    /// Exactly as it is in the tokens.
    pub issuer: String,
    /// Tokens must be meant for this.
    pub audience: String,
    /// Who has this scope may do what a broker may; `broker:write` without it.
    pub scope: Option<String>,
    /// Which role each group brings. The highest one counts.
    pub roles: BTreeMap<String, Role>,
    /// The claim that names the organisation of whoever launches machines.
    pub org_claim: String,
}

impl OidcSettings {
    /// With the groups `admin`, `operator`, `viewer` and `launcher`.
    pub fn new(issuer: impl Into<String>, audience: impl Into<String>) -> OidcSettings {
        let roles = [
            ("admin", Role::Admin),
            ("operator", Role::Operator),
            ("viewer", Role::Reader),
            ("launcher", Role::Launcher),
        ];
        OidcSettings {
            issuer: issuer.into(),
            audience: audience.into(),
            scope: None,
            roles: roles.map(|(group, role)| (group.to_owned(), role)).into(),
            org_claim: ORG_CLAIM_DEFAULT.to_owned(),
        }
    }
}

/// Checks tokens with the public keys of one issuer.
pub struct Oidc {
    settings: OidcSettings,
    scope: String,
    issuer: Issuer,
    clock: Arc<dyn Clock>,
    keys: RwLock<Arc<Known>>,
    /// When the issuer was last asked. Held while it is, so that many callers ask once.
    asked_at: Mutex<Option<Timestamp>>,
}

#[derive(Default)]
struct Known {
    keys: Keys,
    since: Option<Timestamp>,
}

impl Known {
    /// Keys from the future are of no use: the clock was set back.
    fn is_younger(&self, than: Duration, now: Timestamp) -> bool {
        self.since.is_some_and(|since| since <= now && now.since(since) < than)
    }
}

/// The text repeats nothing of the token.
fn refused(why: &str) -> Denied {
    Denied::Refused(why.to_owned())
}

#[async_trait]
impl Bearers for Oidc {
    async fn verify(&self, token: &str) -> Result<Caller, Denied> {
        let claims = self.claims(token).await?;
        let role = claims.role(&self.settings.roles, &self.scope);
        let role = role.ok_or_else(|| refused("this token has no scope and no group that is known here"))?;
        Ok(Caller { name: claims.name(), role })
    }

    async fn member(&self, token: &str) -> Result<Member, Denied> {
        let claims = self.claims(token).await?;
        Ok(Member {
            name: claims.name(),
            roles: claims.roles(&self.settings.roles),
            org: claims.org(&self.settings.org_claim),
            permissions: claims.permissions(),
        })
    }
}

impl Oidc {
    /// The error names the setting.
    pub fn new(settings: OidcSettings, clock: Arc<dyn Clock>) -> Result<Oidc, String> {
        if settings.audience.is_empty() {
            return Err("audience: must not be empty".into());
        }
        let issuer = Issuer::new(&settings.issuer)?;
        let scope = settings.scope.clone().unwrap_or_else(|| SCOPE_DEFAULT.to_owned());
        let keys = RwLock::default();
        Ok(Oidc { settings, scope, issuer, clock, keys, asked_at: Mutex::default() })
    }

    /// What a good token says.
    async fn claims(&self, token: &str) -> Result<Claims, Denied> {
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
        // What the token claims is checked below, against our clock and not that of the library.
        validation.required_spec_claims.clear();
        (validation.validate_exp, validation.validate_aud) = (false, false);
        let decoded = decode::<Claims>(token, &key.key, &validation)
            .map_err(|_| refused("the signature or the claims of this token are not valid"))?;
        let claims = decoded.claims;
        claims.check(&self.settings, self.clock.now()).map_err(refused)?;
        Ok(claims)
    }

    async fn key(&self, id: Option<&str>) -> Result<Arc<Key>, Denied> {
        let known = self.known();
        let found = known.keys.find(id);
        if let Some(key) = found.as_ref().filter(|_| known.is_younger(KEYS_FRESH, self.clock.now())) {
            return Ok(Arc::clone(key));
        }
        let is_good_enough = found.is_some() && known.is_younger(KEYS_OLD, self.clock.now());
        let has_asked = self.fetch(&known, is_good_enough).await;
        let known = self.known();
        match known.keys.find(id) {
            Some(key) if known.is_younger(KEYS_OLD, self.clock.now()) => Ok(key),
            None if has_asked || known.is_younger(KEYS_FRESH, self.clock.now()) => {
                Err(refused("the issuer has no key for this token"))
            }
            // That says nothing about the token.
            _ => Err(StoreError::Unavailable("the keys of the token issuer cannot be fetched".into()).into()),
        }
    }

    fn known(&self) -> Arc<Known> {
        Arc::clone(&self.keys.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Asks the issuer, unless somebody has since the caller looked or it is too soon. Who has a key that is good
    /// enough does not wait for somebody else who asks.
    async fn fetch(&self, seen: &Arc<Known>, is_good_enough: bool) -> bool {
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
        let answer = self.issuer.keys().await;
        // An issuer that takes long to fail is left alone for as long as one that fails at once.
        *asked_at = Some(self.clock.now());
        match answer {
            Ok(keys) => {
                let known = Arc::new(Known { keys, since: Some(now) });
                *self.keys.write().unwrap_or_else(PoisonError::into_inner) = known;
                true
            }
            Err(error) => {
                warn!(%error, issuer = %self.settings.issuer, "cannot fetch the keys of the token issuer");
                false
            }
        }
    }
}
