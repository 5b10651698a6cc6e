//! The key of the service account of the program under test. It opens nothing but the sandbox.

use std::fmt;
use std::sync::OnceLock;

use aws_lc_rs::encoding::AsDer as _;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::KeyPair as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jsonwebtoken::DecodingKey;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::tokens::EMAIL;
use crate::hex::hex;

const PEM_LINE_CHARS: usize = 64;
/// As many characters as the ids of Google's own keys have.
const ID_CHARS: usize = 40;

/// One for all sandboxes of a process, because generating an RSA key takes a noticeable time.
static KEY: OnceLock<AccountKey> = OnceLock::new();

pub(super) struct AccountKey {
    pub(super) id: String,
    pub(super) public: DecodingKey,
    /// PKCS #8 in PEM.
    private: String,
}

impl fmt::Debug for AccountKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccountKey").field("id", &self.id).finish_non_exhaustive()
    }
}

impl AccountKey {
    /// The key that was given out, if a client asked for it.
    pub(super) fn existing() -> Option<&'static AccountKey> {
        KEY.get()
    }

    /// Generates the key unless it exists. The first call keeps its thread busy.
    pub(super) fn get() -> &'static AccountKey {
        KEY.get_or_init(AccountKey::generate)
    }

    fn generate() -> AccountKey {
        let pair = KeyPair::generate(KeySize::Rsa2048).expect("the operating system gives random bytes");
        let public = pair.public_key().as_ref();
        let private = pair.as_der().expect("a key that was just generated can be written");
        AccountKey {
            id: hex(&Sha256::digest(public))[..ID_CHARS].to_owned(),
            public: DecodingKey::from_rsa_der(public),
            private: pem(private.as_ref()),
        }
    }

    /// The file that the console of Google Cloud gives out for a key.
    pub(super) fn file(&self, token_uri: &str) -> Value {
        json!({
            "type": "service_account",
            "project_id": "sandbox",
            "private_key_id": self.id,
            "private_key": self.private,
            "client_email": EMAIL,
            "token_uri": token_uri,
        })
    }
}

fn pem(der: &[u8]) -> String {
    let base64 = STANDARD.encode(der);
    let mut pem = "-----BEGIN PRIVATE KEY-----\n".to_owned();
    for line in base64.as_bytes().chunks(PEM_LINE_CHARS) {
        pem.push_str(&String::from_utf8_lossy(line));
        pem.push('\n');
    }
    pem.push_str("-----END PRIVATE KEY-----\n");
    pem
}
