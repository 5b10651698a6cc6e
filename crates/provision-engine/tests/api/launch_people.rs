//! Fakes of the services that the launch API asks about its callers.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use ::api::Permission;
use ::launch::api::{Permissions, Probe};
use ::launch::model::params::LaunchOwner;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::prelude::async_trait;
use engine::{Proof, Timestamp};
use serde_json::Value;
use server::{AuthError, Bearers, Principal, PrincipalSubject};

/// Grants what a test says, to users by their name.
#[derive(Default)]
pub(crate) struct Granting {
    by_user: Mutex<BTreeMap<String, Vec<Permission>>>,
    pub(crate) asked: AtomicU32,
    pub(crate) is_down: AtomicBool,
}

impl Granting {
    pub(crate) fn grant(&self, user: &str, permissions: &[&str]) {
        let parsed = permissions.iter().map(|text| Permission::parse(text).unwrap()).collect();
        self.by_user.lock().unwrap().insert(user.to_owned(), parsed);
    }
}

#[async_trait]
impl Permissions for Granting {
    async fn of(&self, identity_header: &str) -> Result<Vec<Permission>, String> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if self.is_down.load(Ordering::SeqCst) {
            return Err("connection to 10.0.0.9 refused".into());
        }
        let document: Value = serde_json::from_slice(&STANDARD.decode(identity_header).unwrap()).unwrap();
        let user = document["identity"]["user"]["username"].as_str().unwrap_or_default();
        Ok(self.by_user.lock().unwrap().get(user).cloned().unwrap_or_default())
    }
}

/// An issuer whose tokens are JSON that says what they say.
pub(crate) struct PlainIssuer;

#[async_trait]
impl Bearers for PlainIssuer {
    async fn verify(&self, token: &str) -> Result<Principal, AuthError> {
        let decoded =
            STANDARD.decode(token).ok().and_then(|json| serde_json::from_slice::<Value>(&json).ok());
        let claims = decoded.ok_or_else(|| AuthError::Refused("this is no token".into()))?;
        let texts = |value: &Value| -> Option<Vec<String>> { serde_json::from_value(value.clone()).ok() };
        let roles = texts(&claims["roles"]).unwrap_or_default();
        let permissions = texts(&claims["permissions"]);
        let subject = PrincipalSubject {
            name: "oidc:jane".into(),
            roles: roles.iter().map(|role| role.parse().unwrap()).collect(),
            organisation: claims["org"].as_str().map(str::to_owned),
            account: None,
            platform: None,
            grants: Vec::new(),
            permissions: permissions
                .map(|texts| texts.iter().filter_map(|text| Permission::parse(text)).collect()),
        };
        Ok(Principal::of(Proof::Bearer { expires_at: Timestamp(i64::MAX) }, subject))
    }
}

/// A service that answers or not.
pub(crate) struct Answering(pub(crate) bool);

#[async_trait]
impl Probe for Answering {
    async fn ready(&self, _who: &LaunchOwner) -> Result<(), String> {
        if self.0 { Ok(()) } else { Err("no route to 10.0.0.9".into()) }
    }
}
