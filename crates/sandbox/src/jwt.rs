//! Keys that sign JSON Web Tokens, and the tokens that they signed.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

pub(crate) struct SigningKey {
    id: String,
    private: EncodingKey,
    public: DecodingKey,
    jwk: Jwk,
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SigningKey").field("id", &self.id).finish_non_exhaustive()
    }
}

impl SigningKey {
    pub(crate) fn generate() -> Self {
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new())
            .expect("the operating system gives random bytes");
        let private = EncodingKey::from_ec_der(document.as_ref());
        let id = Uuid::now_v7().to_string();
        let mut jwk = Jwk::from_encoding_key(&private, Algorithm::ES256).expect("the key was just made");
        jwk.common.key_id = Some(id.clone());
        jwk.common.public_key_use = Some(jsonwebtoken::jwk::PublicKeyUse::Signature);
        let public = DecodingKey::from_jwk(&jwk).expect("the key was just made");
        SigningKey { id, private, public, jwk }
    }

    pub(crate) fn jwk(&self) -> &Jwk {
        &self.jwk
    }

    pub(crate) fn sign(&self, claims: &Value) -> String {
        let mut header = Header::new(Algorithm::ES256);
        header.kid = Some(self.id.clone());
        jsonwebtoken::encode(&header, claims, &self.private).expect("claims are JSON and the key fits")
    }

    /// The claims of a token that this key signed and that has not expired.
    pub(crate) fn claims(&self, token: &str, now: OffsetDateTime) -> Option<Value> {
        let mut validation = Validation::new(Algorithm::ES256);
        // The time comes from our own clock, and whom a token is for is not our question.
        validation.validate_exp = false;
        validation.validate_aud = false;
        validation.required_spec_claims.clear();
        let claims = jsonwebtoken::decode::<Value>(token, &self.public, &validation).ok()?.claims;
        (claims["exp"].as_i64()? > now.unix_timestamp()).then_some(claims)
    }
}
