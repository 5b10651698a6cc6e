//! The key ring: one key that seals, and all keys that still open.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::{PREFIX, Sealed, SecretError, SecretString};
use crate::clock::Timestamp;

const NONCE_BYTES: usize = 24;

type SealingKey = Zeroizing<[u8; 32]>;

/// All keys that may open something, and the one that seals.
#[derive(Clone)]
pub struct KeyRing {
    /// The key that seals is a field of its own, so that a ring without one cannot exist.
    active: (String, SealingKey),
    /// When each key began to seal, where that is known.
    since: BTreeMap<String, Timestamp>,
    /// Keys that only open.
    older: BTreeMap<String, SealingKey>,
    /// Ids of keys whose values are to be sealed again with the active key.
    retiring: BTreeSet<String>,
    /// Ids of keys that were removed. A merge with a ring that still has them does not bring them back.
    forgotten: BTreeSet<String>,
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<&str> = self.ids().collect();
        write!(f, "KeyRing {{ active: {:?}, keys: {ids:?} }}", self.active())
    }
}

#[derive(Serialize, Deserialize)]
struct RingFile {
    active: String,
    /// For releases that know the time of the active key alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    active_since: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    since: BTreeMap<String, Timestamp>,
    keys: BTreeMap<String, Zeroizing<String>>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    retiring: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    forgotten: BTreeSet<String>,
}

impl KeyRing {
    /// A ring with one new key.
    pub fn generate() -> KeyRing {
        KeyRing::with(new_key(1))
    }

    /// A ring whose only key is this one, for what is protected by something other than a ring of its own.
    pub fn from_key(key: [u8; 32]) -> KeyRing {
        KeyRing::with(("k0".to_owned(), Zeroizing::new(key)))
    }

    fn with(active: (String, SealingKey)) -> KeyRing {
        KeyRing {
            active,
            since: BTreeMap::new(),
            older: BTreeMap::new(),
            retiring: BTreeSet::new(),
            forgotten: BTreeSet::new(),
        }
    }

    /// Adds a new key and seals with it from now on; older keys still open what they sealed.
    pub fn rotate(&mut self, now: Timestamp) -> &str {
        let used = self.ids().chain(self.forgotten.iter().map(String::as_str));
        let newest = used.map(number).max().unwrap_or_default();
        let (id, key) = std::mem::replace(&mut self.active, new_key(newest.saturating_add(1)));
        self.older.insert(id, key);
        self.since.insert(self.active.0.clone(), now);
        self.active()
    }

    /// Asks for everything that a key sealed to be sealed again with the active key.
    pub fn retire(&mut self, id: &str) -> Result<(), SecretError> {
        self.check_older(id)?;
        self.retiring.insert(id.to_owned());
        Ok(())
    }

    /// Forgets a key. What it sealed can never be opened again.
    pub fn forget(&mut self, id: &str) -> Result<(), SecretError> {
        self.check_older(id)?;
        self.older.remove(id);
        self.retiring.remove(id);
        self.since.remove(id);
        self.forgotten.insert(id.to_owned());
        Ok(())
    }

    fn check_older(&self, id: &str) -> Result<(), SecretError> {
        if id == self.active() {
            return Err(SecretError::KeyInUse(id.into()));
        }
        self.older.get(id).map(|_| ()).ok_or_else(|| SecretError::UnknownKey(id.into()))
    }

    /// Adds what another ring has. No key is lost unless one of the two has forgotten it, and the newest active
    /// key of both seals from now on. The order in which rings are merged does not matter.
    pub fn merge(&mut self, other: &KeyRing) {
        let mut keys: BTreeMap<String, SealingKey> = BTreeMap::new();
        for (id, key) in self.keys().chain(other.keys()) {
            add(&mut keys, id, key);
        }
        self.forgotten.extend(other.forgotten.iter().cloned());
        self.retiring.extend(other.retiring.iter().cloned());
        let is_kept = |id: &&str| !self.forgotten.contains(*id);
        let both = [self.active(), other.active()];
        let newest = both.into_iter().filter(is_kept).max_by_key(|id| age(id));
        let newest =
            newest.or_else(|| keys.keys().map(String::as_str).filter(is_kept).max_by_key(|id| age(id)));
        // Two servers that forgot each other's last key still need one that seals.
        let active =
            newest.or_else(|| both.into_iter().max_by_key(|id| age(id))).unwrap_or_default().to_owned();
        let Some(key) = keys.remove(&active) else { return };
        for (id, since) in &other.since {
            let known = self.since.entry(id.clone()).or_insert(*since);
            *known = (*known).max(*since);
        }
        self.since.retain(|id, _| *id == active || keys.contains_key(id) && !self.forgotten.contains(id));
        self.forgotten.remove(&active);
        self.active = (active, key);
        keys.retain(|id, _| !self.forgotten.contains(id));
        self.retiring.retain(|id| keys.contains_key(id));
        self.older = keys;
    }

    pub fn active(&self) -> &str {
        &self.active.0
    }

    /// When the active key began to seal; `None` when it is the first one.
    pub fn active_since(&self) -> Option<Timestamp> {
        self.since(self.active())
    }

    /// When this key began to seal, where that is known.
    pub fn since(&self, id: &str) -> Option<Timestamp> {
        self.since.get(id).copied()
    }

    /// The newest first.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        let mut ids: Vec<&str> = self.keys().map(|(id, _)| id).collect();
        ids.sort_unstable_by_key(|id| Reverse(age(id)));
        ids.into_iter()
    }

    pub fn retiring(&self) -> impl Iterator<Item = &str> {
        self.retiring.iter().map(String::as_str)
    }

    fn keys(&self) -> impl Iterator<Item = (&str, &SealingKey)> {
        let older = self.older.iter().map(|(id, key)| (id.as_str(), key));
        std::iter::once((self.active(), &self.active.1)).chain(older)
    }

    fn key(&self, id: &str) -> Option<&SealingKey> {
        self.keys().find(|(known, _)| *known == id).map(|(_, key)| key)
    }

    pub fn parse(text: &str) -> Result<KeyRing, SecretError> {
        let file: RingFile =
            serde_json::from_str(text).map_err(|error| SecretError::BadRing(error.to_string()))?;
        let mut keys = BTreeMap::new();
        for (id, encoded) in file.keys {
            if id.is_empty() || !id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
                return Err(SecretError::BadRing(format!("{id:?} is not a key id (letters, digits, -)")));
            }
            let bytes = Zeroizing::new(STANDARD.decode(encoded.as_bytes()).unwrap_or_default());
            let key = <[u8; 32]>::try_from(bytes.as_slice())
                .map_err(|_| SecretError::BadRing(format!("key {id:?} is not 32 bytes in base64")))?;
            keys.insert(id, Zeroizing::new(key));
        }
        let Some(active) = keys.remove_entry(&file.active) else {
            return Err(SecretError::BadRing(format!("the active key {:?} is missing", file.active)));
        };
        let RingFile { active_since, mut since, retiring, forgotten, .. } = file;
        if let Some(active_since) = active_since {
            since.insert(active.0.clone(), active_since);
        }
        since.retain(|id, _| *id == active.0 || keys.contains_key(id));
        Ok(KeyRing { active, since, older: keys, retiring, forgotten })
    }

    /// The ring as text, with its keys in clear: for the ring's own file and nothing else.
    pub fn to_text(&self) -> Zeroizing<String> {
        let encoded =
            |(id, key): (&str, &SealingKey)| (id.to_owned(), Zeroizing::new(STANDARD.encode(key.as_slice())));
        let file = RingFile {
            active: self.active().to_owned(),
            active_since: self.active_since(),
            since: self.since.clone(),
            keys: self.keys().map(encoded).collect(),
            retiring: self.retiring.clone(),
            forgotten: self.forgotten.clone(),
        };
        Zeroizing::new(serde_json::to_string_pretty(&file).unwrap_or_default())
    }

    pub(super) fn seal(&self, secret: &str, context: &str) -> Sealed {
        let (id, key) = &self.active;
        let nonce: [u8; NONCE_BYTES] = rand::random();
        let payload = Payload { msg: secret.as_bytes(), aad: context.as_bytes() };
        let cipher = XChaCha20Poly1305::new(&(**key).into());
        let sealed =
            cipher.encrypt(&XNonce::from(nonce), payload).expect("memory holds no text over 256 GiB");
        let mut bytes = nonce.to_vec();
        bytes.extend(sealed);
        Sealed(format!("{PREFIX}{id}:{}", URL_SAFE_NO_PAD.encode(bytes)))
    }

    pub(super) fn open(&self, sealed: &Sealed, context: &str) -> Result<SecretString, SecretError> {
        let named = sealed.key_id();
        let mut found = Err(SecretError::UnknownKey(named.into()));
        for (_, key) in self.keys().filter(|(id, _)| may_open(id, named)) {
            found = open_with(key, sealed, context);
            if found.is_ok() {
                break;
            }
        }
        found
    }

    /// Whether it is this very key that opens the value.
    pub(super) fn opens(&self, id: &str, sealed: &Sealed, context: &str) -> Option<SecretString> {
        let key = self.key(id).filter(|_| may_open(id, sealed.key_id()))?;
        open_with(key, sealed, context).ok()
    }
}

fn open_with(key: &SealingKey, sealed: &Sealed, context: &str) -> Result<SecretString, SecretError> {
    let encoded = sealed.0.rsplit(':').next().unwrap_or_default();
    let bytes = URL_SAFE_NO_PAD.decode(encoded).map_err(|_| SecretError::DoesNotOpen)?;
    let (nonce, text) = bytes.split_at_checked(NONCE_BYTES).ok_or(SecretError::DoesNotOpen)?;
    let nonce = <[u8; NONCE_BYTES]>::try_from(nonce).map_err(|_| SecretError::DoesNotOpen)?;
    let payload = Payload { msg: text, aad: context.as_bytes() };
    let clear = XChaCha20Poly1305::new(&(**key).into())
        .decrypt(&XNonce::from(nonce), payload)
        .map_err(|_| SecretError::DoesNotOpen)?;
    String::from_utf8(clear).map(SecretString::from).map_err(|_| SecretError::DoesNotOpen)
}

/// The id of a new key has a number, for people, and a digest of the key: two servers that rotate at the same
/// moment make two ids.
fn new_key(number: u32) -> (String, SealingKey) {
    let key = Zeroizing::new(rand::random::<[u8; 32]>());
    (format!("k{number}-{}", digest(&key)), key)
}

fn digest(key: &SealingKey) -> String {
    let digest = Sha256::digest(key.as_slice());
    digest.iter().take(4).fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// Earlier releases gave ids without a digest, so that two keys may have one id. Both are kept: the one with the
/// smaller digest under the id, the other one with its digest added.
fn add(keys: &mut BTreeMap<String, SealingKey>, id: &str, key: &SealingKey) {
    let Some(other) = keys.get(id).filter(|other| *other != key).cloned() else {
        keys.insert(id.to_owned(), key.clone());
        return;
    };
    let (first, second) =
        if digest(&other) < digest(key) { (other, key.clone()) } else { (key.clone(), other) };
    keys.insert(format!("{id}-{}", digest(&second)), second);
    keys.insert(id.to_owned(), first);
}

/// A value names the id that its key had when it was sealed; see [`add`] for what became of the id.
fn may_open(id: &str, named: &str) -> bool {
    id.strip_prefix(named).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

fn number(id: &str) -> u32 {
    let digits = id.strip_prefix('k').and_then(|rest| rest.split('-').next());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or_default()
}

fn age(id: &str) -> (u32, &str) {
    (number(id), id)
}
