//! How a receiver can tell that a callback is from here: HMAC with SHA-256 of the time, a dot, and the body.

use aws_lc_rs::hmac;

use crate::hex::hex;

pub(super) fn signature(secret: &str, unix_seconds: i64, body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, format!("{unix_seconds}.{body}").as_bytes());
    format!("v1={}", hex(tag.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made with `printf '1700000000.{"version":1}' | openssl dgst -sha256 -hmac "$secret"`.
    #[test]
    fn the_signature_is_the_one_that_others_compute() {
        let signed = signature("0123456789abcdef0123456789abcdef", 1_700_000_000, r#"{"version":1}"#);
        assert_eq!(signed, "v1=52229127cd0f82d5f3c28179ba1d157abf821110685c703270bc7251d47900a9");
    }
}
