//! What we sign to get a token: a JSON Web Token with RS256.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::RSA_PKCS1_SHA256;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use engine::Timestamp;
use engine::secret::ExposeSecret;
use http_client::DriverError;
use serde_json::json;

use crate::{SYSTEM, ServiceAccountKey};

/// Google's own name for the place, wherever the assertion is sent.
const AUDIENCE: &str = "https://oauth2.googleapis.com/token";
pub(super) const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
const LIFE_SECONDS: i64 = 3600;

pub(super) struct Signer {
    pub(super) email: String,
    key_id: String,
    key: KeyPair,
}

impl Signer {
    pub(super) fn new(key: &ServiceAccountKey) -> Result<Signer, DriverError> {
        let pem = key.private_key.expose_secret();
        let base64: String = pem.lines().map(str::trim).filter(|line| !line.starts_with('-')).collect();
        let unreadable = || SYSTEM.refused("the private_key of its service account is no PKCS #8 key of RSA");
        let der = STANDARD.decode(base64).map_err(|_| unreadable())?;
        let pair = KeyPair::from_pkcs8(&der).map_err(|_| unreadable())?;
        Ok(Signer { email: key.email.clone(), key_id: key.key_id.clone(), key: pair })
    }

    pub(super) fn assertion(&self, now: Timestamp) -> Result<String, DriverError> {
        let iat = now.0.div_euclid(1_000_000);
        let header = json!({"alg": "RS256", "typ": "JWT", "kid": self.key_id});
        let claims = json!({
            "iss": self.email, "aud": AUDIENCE, "scope": SCOPE, "iat": iat, "exp": iat + LIFE_SECONDS,
        });
        let part = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&header), part(&claims));
        let mut signature = vec![0; self.key.public_modulus_len()];
        self.key
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature)
            .map_err(|_| SYSTEM.refused("the private_key of its service account cannot sign"))?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::encoding::AsDer as _;
    use aws_lc_rs::rsa::KeySize;
    use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};

    use super::*;

    fn key() -> ServiceAccountKey {
        let pair = KeyPair::generate(KeySize::Rsa2048).unwrap();
        let der = STANDARD.encode(pair.as_der().unwrap().as_ref());
        let private_key = format!("-----BEGIN PRIVATE KEY-----\n{der}\n-----END PRIVATE KEY-----\n").into();
        ServiceAccountKey { email: "us@p.example".to_owned(), key_id: "k1".to_owned(), private_key }
    }

    #[test]
    fn an_assertion_is_signed_and_says_for_whom_and_for_how_long() {
        let signer = Signer::new(&key()).unwrap();
        let assertion = signer.assertion(Timestamp::parse("2026-01-01T00:00:00Z").unwrap()).unwrap();
        let (signed, signature) = assertion.rsplit_once('.').unwrap();
        let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, signer.key.public_key().as_ref());
        public.verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
        let claims = URL_SAFE_NO_PAD.decode(signed.split_once('.').unwrap().1).unwrap();
        let claims: serde_json::Value = serde_json::from_slice(&claims).unwrap();
        assert_eq!(
            (claims["iat"].as_i64(), claims["exp"].as_i64()),
            (Some(1_767_225_600), Some(1_767_229_200))
        );
        assert_eq!(claims["aud"], AUDIENCE);
    }

    #[test]
    fn a_text_that_is_no_key_is_refused_without_being_quoted() {
        for text in ["", "hush", "-----BEGIN PRIVATE KEY-----\naHVzaA==\n-----END PRIVATE KEY-----\n"] {
            let (email, key_id) = ("us@p.example".to_owned(), "k1".to_owned());
            let key = ServiceAccountKey { email, key_id, private_key: text.into() };
            let error = Signer::new(&key).err().unwrap().to_string();
            assert!(error.contains("private_key") && !error.contains("hush"), "{error}");
        }
    }
}
