//! Public keys in the format of OpenSSH, and the fingerprints that EC2 makes of them.

use aws_lc_rs::digest;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest, Md5};

/// `rsaEncryption` without parameters, as every RSA key says it in DER.
const RSA_ALGORITHM: &[u8] =
    &[0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];

const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const SEQUENCE: u8 = 0x30;

const RSA_BITS_MIN: usize = 1024;
const RSA_BITS_MAX: usize = 16_384;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PublicKey {
    /// The line that was sent, without what is around it.
    pub(super) line: String,
    pub(super) kind: &'static str,
    pub(super) fingerprint: String,
}

impl PublicKey {
    /// Nothing where it is not a key that EC2 takes: RSA and ED25519, in one line.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let line = text.trim();
        let mut words = line.split_ascii_whitespace();
        let (name, encoded) = (words.next()?, words.next()?);
        let blob = STANDARD.decode(encoded).ok()?;
        let mut rest = blob.as_slice();
        if field(&mut rest)? != name.as_bytes() || line.contains('\n') {
            return None;
        }
        let (kind, fingerprint) = match name {
            "ssh-rsa" => {
                let (exponent, modulus) = (number(&mut rest)?, number(&mut rest)?);
                let is_sound = (RSA_BITS_MIN..=RSA_BITS_MAX).contains(&(modulus.len() * 8));
                ("rsa", is_sound.then(|| colons(&Md5::digest(rsa_in_der(modulus, exponent))))?)
            }
            "ssh-ed25519" => {
                let is_sound = field(&mut rest)?.len() == 32;
                let hash = digest::digest(&digest::SHA256, &blob);
                ("ed25519", is_sound.then(|| STANDARD.encode(hash))?)
            }
            _ => return None,
        };
        rest.is_empty().then(|| PublicKey { line: line.to_owned(), kind, fingerprint })
    }
}

/// The next field of a key: its length in four bytes, and itself.
fn field<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    let (field, after) = after.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    *rest = after;
    Some(field)
}

/// A number without the zero in front that keeps it positive.
fn number<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let field = field(rest)?;
    let zeros = field.iter().take_while(|byte| **byte == 0).count();
    Some(&field[zeros..]).filter(|digits| !digits.is_empty())
}

/// The key as a `SubjectPublicKeyInfo`.
fn rsa_in_der(modulus: &[u8], exponent: &[u8]) -> Vec<u8> {
    let integer = |digits: &[u8]| {
        let sign: &[u8] = if digits.first().is_some_and(|first| *first >= 0x80) { &[0] } else { &[] };
        der(INTEGER, &[sign, digits])
    };
    let key = der(SEQUENCE, &[&integer(modulus), &integer(exponent)]);
    der(SEQUENCE, &[RSA_ALGORITHM, &der(BIT_STRING, &[&[0], &key])])
}

fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let inside = parts.concat();
    let length = inside.len().to_be_bytes();
    let digits = &length[length.iter().take_while(|byte| **byte == 0).count()..];
    let mut out = vec![tag];
    match digits {
        [] => out.push(0),
        [short] if *short < 0x80 => out.push(*short),
        long => {
            // A length has at most eight bytes.
            out.push(0x80 | u8::try_from(long.len()).unwrap_or_default());
            out.extend(long);
        }
    }
    out.extend(inside);
    out
}

fn colons(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `ssh-keygen` made, and what `openssl` and `ssh-keygen` say of it.
    const RSA: &str = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC09/tc8qC4RokKFch3izQRBQ8CsSMNIsv6bZts1TrEZlVswIylFW/ka9CSEezF\
        UZ60xjOqkunIDwR5jGmJ4UOKoDrdl3gPNUnGdXwRuQYLo1StQKpma3CymOZRl+CaVyDnbN1Fw5RV3JUcv1O/FMfr+OtJUNJywcE2PUa0Ix7qLi0u\
        hgm09uD9yKehDinXN2NsK1jFLA1OZbXPhQnq68pchvrcFtr/L9y7Fn8iiflAPaSnTTfxzJjjHtsXXlpo6T48CNkU2LdOmcALl92/qPlUUwDIDVBL\
        GmZN+Zi0VAT0WuRsYHnDBejGj3hHWhNYmukwSRZR7pxbWMFxmCHet0Qn";
    const ED25519: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIW2VCvgFiWeHPmfs0VyQu8rwdSUbg7baw1qf3QHjl8V";
    const ECDSA: &str = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBPmUlaI5JW922bDb9lPt7XPZ\
        u5Qz3lc2B7KhNh/vlAHbiviJ+bEPFLZ5Rc47lEDkTQ9q79rp6A9yxJkbb6x9/C0=";

    #[test]
    fn fingerprints_are_those_that_other_programs_make() {
        let rsa = PublicKey::parse(&format!("{RSA} me@here\n")).unwrap();
        let expected = "77:1e:47:df:dd:17:60:69:0f:34:8c:2b:2e:25:4f:1b";
        assert_eq!((rsa.kind, rsa.fingerprint.as_str()), ("rsa", expected));
        let ed25519 = PublicKey::parse(ED25519).unwrap();
        let expected = "lmm9F4wK2JoHrVF/DaNQnp47U7mzdv75zwQX/Uk0mzw=";
        assert_eq!((ed25519.kind, ed25519.fingerprint.as_str()), ("ed25519", expected));
    }

    #[test]
    fn other_keys_are_not_taken() {
        let cut = &ED25519[..ED25519.len() - 8];
        let mixed = ED25519.replace("ssh-ed25519 ", "ssh-rsa ");
        for text in [ECDSA, "", "ssh-rsa", "ssh-rsa !", cut, &mixed, &format!("{ED25519}\n{ED25519}")] {
            assert_eq!(PublicKey::parse(text), None, "{text}");
        }
    }
}
