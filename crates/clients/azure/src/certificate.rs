//! Sign-in with a certificate: a JSON Web Token that only the owner of its private key can sign.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::RSA_PSS_SHA256;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use cloud::{Category, CloudError};
use engine::Timestamp;
use engine::secret::SecretString;
use serde_json::{Value, json};
use uuid::Uuid;

/// Long enough for clocks that differ, too short to be of use to a thief.
const LIFE: Duration = Duration::from_mins(10);

/// A certificate that the application of the engine has in Entra, with its private key.
#[derive(Clone)]
pub struct ClientCertificate {
    /// SHA-256 of the certificate, by which Entra finds it.
    thumbprint: String,
    key: Arc<KeyPair>,
}

impl ClientCertificate {
    /// Reads a PEM file with a certificate and an RSA key in PKCS #8. The texts of the errors never quote it.
    pub fn parse(pem: &str) -> Result<ClientCertificate, String> {
        let certificate = block(pem, "CERTIFICATE").ok_or("it has no CERTIFICATE")?;
        let key = block(pem, "PRIVATE KEY").ok_or("it has no PRIVATE KEY (PKCS #8, not encrypted)")?;
        let key = KeyPair::from_pkcs8(&key).map_err(|_| "its PRIVATE KEY is no RSA key of PKCS #8")?;
        let thumbprint = URL_SAFE_NO_PAD.encode(digest(&SHA256, &certificate));
        Ok(ClientCertificate { thumbprint, key: Arc::new(key) })
    }

    /// What the application sends in place of a secret to the service at `audience`.
    pub(super) fn assertion(
        &self,
        client_id: &str,
        audience: &str,
        now: Timestamp,
    ) -> Result<SecretString, CloudError> {
        let seconds = |at: Timestamp| at.0.div_euclid(1_000_000);
        let header = json!({"alg": "PS256", "typ": "JWT", "x5t#S256": self.thumbprint});
        let claims = json!({
            "aud": audience, "iss": client_id, "sub": client_id, "jti": Uuid::now_v7(),
            "iat": seconds(now), "nbf": seconds(now), "exp": seconds(now.plus(LIFE)),
        });
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&header), part(&claims));
        let mut signature = vec![0; self.key.public_modulus_len()];
        self.key.sign(&RSA_PSS_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature).map_err(
            |_| {
                CloudError::new(
                    Category::Permission,
                    "NoCredentials",
                    "the key of the certificate cannot sign",
                )
            },
        )?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)).into())
    }
}

impl fmt::Debug for ClientCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCertificate").field("thumbprint", &self.thumbprint).finish_non_exhaustive()
    }
}

/// The first block of this name.
fn block(pem: &str, name: &str) -> Option<Vec<u8>> {
    let (_, rest) = pem.split_once(&format!("-----BEGIN {name}-----"))?;
    let (base64, _) = rest.split_once("-----END ")?;
    STANDARD.decode(base64.split_whitespace().collect::<String>()).ok()
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::encoding::AsDer as _;
    use aws_lc_rs::rsa::KeySize;
    use aws_lc_rs::signature::{KeyPair as _, RSA_PSS_2048_8192_SHA256, UnparsedPublicKey};
    use engine::secret::ExposeSecret as _;

    use super::*;

    #[test]
    fn an_assertion_is_signed_by_the_key_and_names_the_certificate() {
        let pair = KeyPair::generate(KeySize::Rsa2048).unwrap();
        let der = pair.as_der().unwrap();
        let encode = |name: &str, der: &[u8]| {
            format!("-----BEGIN {name}-----\n{}\n-----END {name}-----\n", STANDARD.encode(der))
        };
        let (key, certificate) = (encode("PRIVATE KEY", der.as_ref()), encode("CERTIFICATE", b"certificate"));
        let read = ClientCertificate::parse(&format!("{key}{certificate}")).unwrap();
        let now = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
        let assertion = read.assertion("app", "https://login/t/oauth2/v2.0/token", now).unwrap();
        let (signed, signature) = assertion.expose_secret().rsplit_once('.').unwrap();
        let public = UnparsedPublicKey::new(&RSA_PSS_2048_8192_SHA256, pair.public_key().as_ref());
        public.verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
        let part =
            |text: &str| -> Value { serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap() };
        let (header, claims) = signed.split_once('.').map(|(one, other)| (part(one), part(other))).unwrap();
        let thumbprint = URL_SAFE_NO_PAD.encode(digest(&SHA256, b"certificate"));
        assert_eq!((&header["alg"], &header["x5t#S256"]), (&json!("PS256"), &json!(thumbprint)));
        assert_eq!(claims["aud"], "https://login/t/oauth2/v2.0/token");
        assert_eq!((&claims["iss"], &claims["sub"]), (&json!("app"), &json!("app")));
        assert_eq!(claims["exp"].as_i64().unwrap() - claims["nbf"].as_i64().unwrap(), 600);
        assert!(!format!("{read:?}").contains("key"), "{read:?}");
        for (pem, said) in
            [(key.as_str(), "no CERTIFICATE"), (&certificate, "no PRIVATE KEY"), ("hush", "no CERTIFICATE")]
        {
            let error = ClientCertificate::parse(pem).unwrap_err();
            assert!(error.contains(said) && !error.contains("hush"), "{error}");
        }
    }
}
