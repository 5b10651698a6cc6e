//! A public key while a user types it: what it is, or what is wrong with it. The API decides in the end.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use sha2::{Digest, Sha256};

use crate::model::public_key::KeyKind;

/// What every cloud takes.
pub(crate) const USUAL: fn(&str) -> bool = |kind| ["ssh-ed25519", "ssh-rsa"].contains(&kind);
const BYTES_MAX: usize = 16 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownKey {
    pub(crate) kind: String,
    pub(crate) fingerprint: String,
    pub(crate) comment: String,
}

/// A key of a type that is accepted. Never quotes the text: it may be a private key.
pub(crate) fn look(text: &str, accepts: fn(&str) -> bool) -> Result<KnownKey, &'static str> {
    let line = text.trim();
    if line.is_empty() {
        return Err("Paste the line of a .pub file, or choose the file.");
    }
    if line.len() > BYTES_MAX {
        return Err("This is too long for a public key. Paste the one line of a .pub file.");
    }
    if line.contains("PRIVATE KEY") {
        return Err(
            "This is a private key. Keep it to yourself, and paste the line of the .pub file beside it.",
        );
    }
    if line.contains(['\n', '\r']) {
        return Err("There is more than one line. Paste one public key on one line.");
    }
    let mut parts = line.splitn(3, [' ', '\t']);
    let (kind, base64) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    if KeyKind::named(kind).is_none_or(|known| !accepts(known.as_str())) {
        return Err("A public key begins with ssh-ed25519 or ssh-rsa; others are not taken here.");
    }
    let blob = STANDARD.decode(base64).map_err(|_| "A part of the key is missing. Paste the whole line.")?;
    let says = blob.get(4..4 + kind.len());
    if says != Some(kind.as_bytes()) || blob.len() < 4 + kind.len() + 32 {
        return Err("A part of the key is missing. Paste the whole line.");
    }
    Ok(KnownKey {
        kind: kind.to_owned(),
        fingerprint: format!("SHA256:{}", STANDARD_NO_PAD.encode(Sha256::digest(&blob))),
        comment: parts.next().unwrap_or_default().trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPZPsG8crzYvNzP/Y4oJxlnKPqP3HLQPLhyMGbmJv9vR me@home";

    #[test]
    fn a_key_is_told_by_its_type_and_fingerprint() {
        let known = look(GOOD, USUAL).unwrap();
        assert_eq!((known.kind.as_str(), known.comment.as_str()), ("ssh-ed25519", "me@home"));
        let other = look(&GOOD.replace("PZPsG8", "PZPsG9"), USUAL).unwrap();
        assert!(known.fingerprint.starts_with("SHA256:") && known.fingerprint.len() == 50);
        assert_ne!(known.fingerprint, other.fingerprint);
    }

    #[test]
    fn what_is_not_a_public_key_is_told_apart() {
        for (text, part) in [
            ("", "Paste the line"),
            ("-----BEGIN OPENSSH PRIVATE KEY-----", "private key"),
            ("ssh-ed25519 AAAA\nssh-ed25519 AAAA", "more than one line"),
            ("ecdsa-sha2-nistp256 AAAA", "begins with"),
            (&GOOD[..40], "missing"),
            (&GOOD.replace("ssh-ed25519 A", "ssh-rsa A"), "missing"),
        ] {
            let error = look(text, USUAL).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
