//! The public keys of an issuer, each with the ways of signing that it allows.

use std::sync::Arc;

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::Value;

/// An issuer has two or three.
const KEYS_MAX: usize = 100;

pub(super) struct SigningKey {
    id: Option<String>,
    pub(super) key: DecodingKey,
    /// Never one with a shared secret: then everybody who knows the public key could sign.
    pub(super) algorithms: Vec<Algorithm>,
}

#[derive(Default)]
pub(super) struct SigningKeys(Vec<Arc<SigningKey>>);

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<Value>,
}

impl SigningKeys {
    /// Keys of a kind that is not known here are left out, as the standard wants it.
    pub(super) fn parse(text: &[u8]) -> Result<SigningKeys, String> {
        let set: KeySet = serde_json::from_slice(text).map_err(|_| "its keys are not a JSON Web Key Set")?;
        if set.keys.len() > KEYS_MAX {
            return Err(format!("it has more than {KEYS_MAX} keys"));
        }
        let jwks = set.keys.into_iter().filter_map(|key| serde_json::from_value::<Jwk>(key).ok());
        let keys: Vec<Arc<SigningKey>> = jwks.filter_map(|jwk| usable(&jwk)).map(Arc::new).collect();
        if keys.is_empty() {
            Err("it has no key that can be used here".into())
        } else {
            Ok(SigningKeys(keys))
        }
    }

    /// A token that names no key can only mean the one that there is.
    pub(super) fn find(&self, id: Option<&str>) -> Option<Arc<SigningKey>> {
        match (id, self.0.as_slice()) {
            (None, [only]) => Some(Arc::clone(only)),
            (None, _) => None,
            (Some(id), keys) => keys.iter().find(|key| key.id.as_deref() == Some(id)).cloned(),
        }
    }
}

fn usable(jwk: &Jwk) -> Option<SigningKey> {
    if jwk.common.public_key_use.as_ref().is_some_and(|usage| *usage != PublicKeyUse::Signature) {
        return None;
    }
    let mut algorithms = allowed(&jwk.algorithm);
    if let Some(named) = jwk.common.key_algorithm {
        let named = Algorithm::try_from(named).ok()?;
        algorithms.retain(|algorithm| *algorithm == named);
    }
    if algorithms.is_empty() {
        return None;
    }
    let key = DecodingKey::from_jwk(jwk).ok()?;
    Some(SigningKey { id: jwk.common.key_id.clone(), key, algorithms })
}

fn allowed(parameters: &AlgorithmParameters) -> Vec<Algorithm> {
    use Algorithm::{ES256, ES384, EdDSA, PS256, PS384, PS512, RS256, RS384, RS512};
    match parameters {
        AlgorithmParameters::RSA(_) => vec![RS256, RS384, RS512, PS256, PS384, PS512],
        AlgorithmParameters::EllipticCurve(curve) => match curve.curve {
            EllipticCurve::P256 => vec![ES256],
            EllipticCurve::P384 => vec![ES384],
            _ => Vec::new(),
        },
        AlgorithmParameters::OctetKeyPair(_) => vec![EdDSA],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(keys: &Value) -> Result<SigningKeys, String> {
        SigningKeys::parse(json!({"keys": keys}).to_string().as_bytes())
    }

    fn rsa(change: &Value) -> Value {
        let mut key = json!({"kty": "RSA", "kid": "a", "n": "AQAB", "e": "AQAB"});
        key.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        key
    }

    #[test]
    fn only_keys_that_sign_with_a_secret_of_their_own_are_used() {
        let plain = parse(&json!([rsa(&json!({}))])).unwrap().find(Some("a")).unwrap();
        assert!(
            plain.algorithms.contains(&Algorithm::RS256) && !plain.algorithms.contains(&Algorithm::HS256)
        );
        let pinned = parse(&json!([rsa(&json!({"alg": "PS256"}))])).unwrap().find(Some("a")).unwrap();
        assert_eq!(pinned.algorithms, [Algorithm::PS256]);
        for bad in [
            json!([]),
            json!([rsa(&json!({"use": "enc"}))]),
            json!([rsa(&json!({"alg": "HS256"}))]),
            json!([rsa(&json!({"alg": "ES256"}))]),
            json!([{"kty": "oct", "kid": "a", "k": "c2VjcmV0"}]),
            json!([{"kty": "EC", "crv": "P-521", "kid": "a", "x": "AQAB", "y": "AQAB"}]),
            json!([{"kty": "quantum", "kid": "a"}, 7, null]),
            json!(vec![rsa(&json!({})); KEYS_MAX + 1]),
            json!("keys"),
        ] {
            assert!(parse(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_token_without_a_key_id_means_the_only_key() {
        let one = parse(&json!([rsa(&json!({})), {"kty": "oct", "k": "c2VjcmV0"}])).unwrap();
        assert!(one.find(None).is_some() && one.find(Some("b")).is_none());
        let two = parse(&json!([rsa(&json!({})), rsa(&json!({"kid": "b"}))])).unwrap();
        assert!(two.find(None).is_none() && two.find(Some("b")).is_some());
    }
}
