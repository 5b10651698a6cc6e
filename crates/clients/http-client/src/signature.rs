//! Signatures of calls: a service verifies that a call is ours and was not changed.

use aws_lc_rs::hmac;
use engine::secret::{ExposeSecret, SecretString};

use crate::encode::hex;

/// The value of the signature header: HMAC with SHA-256 of the time, a dot, and the body.
pub fn signature(secret: &SecretString, unix_seconds: i64, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose_secret().as_bytes());
    let mut context = hmac::Context::with_key(&key);
    context.update(format!("{unix_seconds}.").as_bytes());
    context.update(body);
    format!("v1={}", hex(context.sign().as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made with `printf '1700000000.{"version":1}' | openssl dgst -sha256 -hmac "$secret"`.
    #[test]
    fn the_signature_is_the_one_that_others_compute() {
        let secret = SecretString::from("0123456789abcdef0123456789abcdef");
        let signed = signature(&secret, 1_700_000_000, br#"{"version":1}"#);
        assert_eq!(signed, "v1=52229127cd0f82d5f3c28179ba1d157abf821110685c703270bc7251d47900a9");
        assert_ne!(signature(&secret, 1_700_000_001, br#"{"version":1}"#), signed);
        assert_ne!(signature(&secret, 1_700_000_000, br#"{"version":2}"#), signed);
        assert_ne!(signature(&"another".into(), 1_700_000_000, br#"{"version":1}"#), signed);
    }
}
