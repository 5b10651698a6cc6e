//! Public keys for logins, as OpenSSH writes them, and the names that clouds give them.

mod der;
mod fingerprint;
mod key_error;
mod kind;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cloud::{KeyMaterial, ProviderKind};
use ssh_key::public::KeyData;

pub use key_error::KeyError;
pub use kind::KeyKind;

/// The longest key that is allowed has a quarter of it.
const TEXT_BYTES_MAX: usize = 16 * 1024;
const COMMENT_CHARS_MAX: usize = 512;
const RSA_BITS_MIN: usize = 2048;
/// OpenSSH reads no larger ones.
const RSA_BITS_MAX: usize = 16_384;
/// The first byte of a point with both its coordinates. OpenSSH reads no others.
const WHOLE_POINT: u8 = 4;

/// A key that was read and is fit for use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    kind: KeyKind,
    data: KeyData,
    /// As it is in base64.
    blob: Vec<u8>,
    comment: String,
}

impl PublicKey {
    /// Reads one line of a `.pub` file: type, base64, and perhaps a comment.
    pub fn parse(text: &str) -> Result<PublicKey, KeyError> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(KeyError::TooLong { bytes: text.len(), most: TEXT_BYTES_MAX });
        }
        let line = text.trim();
        key_error::look(line)?;
        let (name, rest) = line.split_once([' ', '\t']).ok_or(KeyError::Incomplete)?;
        let kind = KeyKind::named(name).ok_or(KeyError::UnknownType)?;
        let rest = rest.trim_start();
        let (base64, comment) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
        let blob = STANDARD.decode(base64).map_err(|_| KeyError::NotBase64)?;
        let data = read(kind, &blob)?;
        let comment = comment.trim();
        if comment.chars().count() > COMMENT_CHARS_MAX || comment.chars().any(char::is_control) {
            return Err(KeyError::Comment { most: COMMENT_CHARS_MAX });
        }
        Ok(PublicKey { kind, data, blob, comment: comment.to_owned() })
    }

    pub fn kind(&self) -> KeyKind {
        self.kind
    }

    /// Type and base64, without the comment.
    pub fn line(&self) -> String {
        format!("{} {}", self.kind, STANDARD.encode(&self.blob))
    }

    /// Who or what the key belongs to, as its owner wrote it. May be empty.
    pub fn comment(&self) -> &str {
        &self.comment
    }

    pub fn material(&self) -> KeyMaterial {
        KeyMaterial { line: self.line() }
    }

    /// Whether instances of this cloud can be given the key; otherwise what to do.
    pub fn accepted_by(&self, provider: ProviderKind) -> Result<(), String> {
        let spec = provider.spec();
        if (spec.keys.accepts)(self.kind.as_str()) {
            return Ok(());
        }
        let (name, instead) = (spec.title, spec.keys.instead);
        Err(format!("{name} does not accept keys of type {}: use a key of type {instead}", self.kind))
    }
}

/// The parts of a key, when they are those of its type and nothing else.
fn read(kind: KeyKind, blob: &[u8]) -> Result<KeyData, KeyError> {
    if !blob.starts_with(&prefix(kind)) {
        return Err(KeyError::OtherType { kind });
    }
    let key = ssh_key::PublicKey::from_bytes(blob).map_err(|_| KeyError::Malformed { kind })?;
    if point(key.key_data()).is_some_and(|point| point.first() != Some(&WHOLE_POINT)) {
        return Err(KeyError::Malformed { kind });
    }
    if let Some(rsa) = key.key_data().rsa() {
        let (e, n) = (rsa.e.as_positive_bytes(), rsa.n.as_positive_bytes());
        let (Some(e), Some(n)) = (e, n) else { return Err(KeyError::Malformed { kind }) };
        check_rsa(e, n)?;
    }
    Ok(key.into())
}

/// The point on a curve of NIST.
fn point(key: &KeyData) -> Option<&[u8]> {
    match key {
        KeyData::Ecdsa(key) => Some(key.as_sec1_bytes()),
        KeyData::SkEcdsaSha2NistP256(key) => Some(key.ec_point().as_bytes()),
        _ => None,
    }
}

/// The type as the blob repeats it: its length in four bytes, then its name.
fn prefix(kind: KeyKind) -> Vec<u8> {
    let name = kind.as_str();
    let length = u32::try_from(name.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes()[..], name.as_bytes()].concat()
}

fn check_rsa(e: &[u8], n: &[u8]) -> Result<(), KeyError> {
    let is_odd = |number: &[u8]| number.last().is_some_and(|byte| byte % 2 == 1);
    let bits = n.first().map_or(0, |first| n.len() * 8 - first.leading_zeros() as usize);
    if !(RSA_BITS_MIN..=RSA_BITS_MAX).contains(&bits) {
        return Err(KeyError::RsaBits { bits, least: RSA_BITS_MIN, most: RSA_BITS_MAX });
    }
    if !is_odd(e) || e == [1] || !is_odd(n) {
        return Err(KeyError::Malformed { kind: KeyKind::Rsa });
    }
    Ok(())
}
