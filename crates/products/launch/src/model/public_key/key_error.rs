//! What is not a public key, and what to do about it. No error quotes the text: it may be a private key.

use super::kind::KeyKind;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("the public key is empty: paste the line of a .pub file")]
    Empty,
    #[error("the public key has {bytes} bytes, more than {most}: paste one line of a .pub file")]
    TooLong { bytes: usize, most: usize },
    #[error("this is a private key: keep it to yourself, and paste the line of the .pub file beside it")]
    Private,
    #[error("the text has more than one line: paste one public key on one line")]
    SeveralLines,
    #[error("the key is not in the format of OpenSSH: convert it with `ssh-keygen -i -f <file>`")]
    OtherFormat,
    #[error("options in front of a key are not allowed: begin with the type, such as ssh-ed25519")]
    Options,
    #[error("this is a certificate: paste the public key that it was made for")]
    Certificate,
    #[error("a public key has a type and base64 text, such as ssh-ed25519 AAAA…: a part is missing")]
    Incomplete,
    #[error("the type of the key is not known: use one of {}", known())]
    UnknownType,
    #[error("the key is not valid base64: paste the whole line of the .pub file")]
    NotBase64,
    #[error("the line says {kind}, the key itself is of another type: paste the line as ssh-keygen wrote it")]
    OtherType { kind: KeyKind },
    #[error("the key is not a valid {kind} key: paste the whole line of the .pub file")]
    Malformed { kind: KeyKind },
    #[error("the RSA key has {bits} bits: make one with at least {least} and at most {most}")]
    RsaBits { bits: usize, least: usize, most: usize },
    #[error("the comment of the key has more than {most} characters, or control characters: shorten it")]
    Comment { most: usize },
}

fn known() -> String {
    KeyKind::ALL.map(KeyKind::as_str).join(", ")
}

/// Finds texts that are something else, so that the error can say what they are.
pub(crate) fn look(line: &str) -> Result<(), KeyError> {
    /// How the base64 text of an OpenSSH private key begins.
    const OPENSSH_PRIVATE: &str = "b3BlbnNzaC1rZXktdjE";
    let is_private = ["PRIVATE KEY", "PuTTY-User-Key-File", OPENSSH_PRIVATE];
    if line.is_empty() {
        return Err(KeyError::Empty);
    }
    if is_private.iter().any(|sign| line.contains(sign)) {
        return Err(KeyError::Private);
    }
    if line.starts_with("----") {
        return Err(KeyError::OtherFormat);
    }
    if line.contains(['\n', '\r']) {
        return Err(KeyError::SeveralLines);
    }
    let mut words = line.split([' ', '\t']);
    let first = words.next().unwrap_or_default();
    if first.contains("-cert-v0") {
        return Err(KeyError::Certificate);
    }
    if KeyKind::named(first).is_none() && words.any(|word| KeyKind::named(word).is_some()) {
        return Err(KeyError::Options);
    }
    Ok(())
}
