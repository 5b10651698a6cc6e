//! Short names of a key. Each is made from its digest; nothing is cut off a longer text.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use cloud::Fingerprints;
use md5::Md5;
use sha2::{Digest, Sha256};

use super::{KeyKind, PublicKey, der};

impl PublicKey {
    /// As `ssh-keygen -l` prints it: `SHA256:` and base64 without padding.
    pub fn fingerprint(&self) -> String {
        format!("SHA256:{}", STANDARD_NO_PAD.encode(self.sha256()))
    }

    /// The same digest in base64 with padding and nothing in front: as clients of the API know a key, and as EC2
    /// lists those of type ed25519.
    pub fn fingerprint_bare(&self) -> String {
        STANDARD.encode(self.sha256())
    }

    /// As `ssh-keygen -l -E md5` prints it, without the `MD5:` in front.
    pub fn fingerprint_legacy(&self) -> String {
        colons(&Md5::digest(&self.blob))
    }

    /// Under which of these texts EC2 lists the key depends on its type, and on who plays EC2.
    pub fn aws_fingerprints(&self) -> Fingerprints {
        let der = der::subject_public_key_info(&self.data);
        let any_of = match (self.kind, der) {
            (KeyKind::Rsa, Some(der)) => vec![colons(&Md5::digest(&der))],
            (_, der) => {
                let base64 = [self.fingerprint_bare(), STANDARD_NO_PAD.encode(self.sha256())];
                base64.into_iter().chain(der.map(|der| colons(&Sha256::digest(&der)))).collect()
            }
        };
        Fingerprints { any_of }
    }

    fn sha256(&self) -> [u8; 32] {
        Sha256::digest(&self.blob).into()
    }
}

fn colons(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
}
