//! The types of keys.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyKind {
    Rsa,
    Ed25519,
    EcdsaP256,
    EcdsaP384,
    EcdsaP521,
    /// On a security key.
    SkEd25519,
    SkEcdsaP256,
    /// Too weak for today, and known only so that it can be refused by name.
    Dss,
}

impl KeyKind {
    pub const ALL: [KeyKind; 8] = [
        KeyKind::Rsa,
        KeyKind::Ed25519,
        KeyKind::EcdsaP256,
        KeyKind::EcdsaP384,
        KeyKind::EcdsaP521,
        KeyKind::SkEd25519,
        KeyKind::SkEcdsaP256,
        KeyKind::Dss,
    ];

    /// As OpenSSH writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            KeyKind::Rsa => "ssh-rsa",
            KeyKind::Ed25519 => "ssh-ed25519",
            KeyKind::EcdsaP256 => "ecdsa-sha2-nistp256",
            KeyKind::EcdsaP384 => "ecdsa-sha2-nistp384",
            KeyKind::EcdsaP521 => "ecdsa-sha2-nistp521",
            KeyKind::SkEd25519 => "sk-ssh-ed25519@openssh.com",
            KeyKind::SkEcdsaP256 => "sk-ecdsa-sha2-nistp256@openssh.com",
            KeyKind::Dss => "ssh-dss",
        }
    }

    pub(crate) fn named(name: &str) -> Option<KeyKind> {
        KeyKind::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
