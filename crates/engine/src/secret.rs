//! Secrets: readable in memory by those who ask, sealed everywhere else.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, RwLock};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
pub use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zeroize::Zeroizing;

const PREFIX: &str = "sealed:1:";
const NONCE_BYTES: usize = 24;

/// A secret that may be saved: cipher text that only the key ring opens, bound to where it was sealed.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed(String);

impl Sealed {
    /// The cipher text, for places that keep text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads what `as_str` gave.
    pub fn parse(text: &str) -> Result<Sealed, SecretError> {
        text.starts_with(PREFIX).then(|| Sealed(text.to_owned())).ok_or(SecretError::DoesNotOpen)
    }

    /// The id of the key that opens this.
    pub fn key_id(&self) -> &str {
        self.0.get(PREFIX.len()..).and_then(|rest| rest.split(':').next()).unwrap_or_default()
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<sealed with {}>", self.key_id())
    }
}

impl Serialize for Sealed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Sealed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        // The text itself stays out of the message: it may be a secret that somebody forgot to seal.
        if text.starts_with(PREFIX) {
            Ok(Sealed(text))
        } else {
            Err(serde::de::Error::custom("expected a sealed value"))
        }
    }
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SecretError {
    #[error("the key ring has no key {0:?}: put it back, or the value sealed with it is lost")]
    UnknownKey(String),
    #[error("a sealed value does not open: it was changed, or it belongs to another resource")]
    DoesNotOpen,
    #[error("the key ring is not valid: {0}")]
    BadRing(String),
    #[error("key {0:?} is the active one: rotate first")]
    KeyInUse(String),
}

/// All keys that may open something, and the one that seals.
pub struct KeyRing {
    active: String,
    keys: BTreeMap<String, Zeroizing<[u8; 32]>>,
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyRing {{ active: {:?}, keys: {:?} }}", self.active, self.keys.keys())
    }
}

#[derive(Serialize, Deserialize)]
struct RingFile {
    active: String,
    keys: BTreeMap<String, Zeroizing<String>>,
}

impl KeyRing {
    /// A ring with one new key.
    pub fn generate() -> KeyRing {
        let mut ring = KeyRing { active: String::new(), keys: BTreeMap::new() };
        ring.rotate();
        ring
    }

    /// Adds a new key and seals with it from now on; older keys still open what they sealed.
    pub fn rotate(&mut self) -> &str {
        let newest = self.keys.keys().filter_map(|id| id.strip_prefix('k')?.parse::<u32>().ok()).max();
        self.active = format!("k{}", newest.unwrap_or(0) + 1);
        self.keys.insert(self.active.clone(), Zeroizing::new(rand::random()));
        &self.active
    }

    /// Forgets a key. What it sealed can never be opened again.
    pub fn forget(&mut self, id: &str) -> Result<(), SecretError> {
        if id == self.active {
            return Err(SecretError::KeyInUse(id.into()));
        }
        self.keys.remove(id).map(|_| ()).ok_or_else(|| SecretError::UnknownKey(id.into()))
    }

    /// Adds the keys that another ring has; the newest key of both seals from now on.
    pub fn merge(&mut self, other: &KeyRing) -> Result<(), SecretError> {
        for (id, key) in &other.keys {
            match self.keys.get(id) {
                Some(own) if own != key => {
                    return Err(SecretError::BadRing(format!("two different keys are called {id:?}")));
                }
                Some(_) => {}
                None => {
                    self.keys.insert(id.clone(), key.clone());
                }
            }
        }
        let number = |id: &str| id.strip_prefix('k').and_then(|number| number.parse::<u32>().ok());
        if number(&other.active) > number(&self.active) {
            self.active.clone_from(&other.active);
        }
        Ok(())
    }

    /// A ring whose only key is this one, for what is protected by something other than a ring of its own.
    pub fn from_key(key: [u8; 32]) -> KeyRing {
        let id = "k0".to_owned();
        KeyRing { active: id.clone(), keys: BTreeMap::from([(id, Zeroizing::new(key))]) }
    }

    pub fn active(&self) -> &str {
        &self.active
    }

    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.keys.keys().map(String::as_str)
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
        if !keys.contains_key(&file.active) {
            return Err(SecretError::BadRing(format!("the active key {:?} is missing", file.active)));
        }
        Ok(KeyRing { active: file.active, keys })
    }

    /// The ring as text, with its keys in clear: for the ring's own file and nothing else.
    pub fn to_text(&self) -> Zeroizing<String> {
        let keys = self
            .keys
            .iter()
            .map(|(id, key)| (id.clone(), Zeroizing::new(STANDARD.encode(key.as_slice()))))
            .collect();
        let file = RingFile { active: self.active.clone(), keys };
        Zeroizing::new(serde_json::to_string_pretty(&file).unwrap_or_default())
    }

    fn seal(&self, secret: &str, context: &str) -> Sealed {
        let key = self.keys.get(&self.active).map(|key| **key).unwrap_or_default();
        let nonce: [u8; NONCE_BYTES] = rand::random();
        let payload = Payload { msg: secret.as_bytes(), aad: context.as_bytes() };
        let cipher = XChaCha20Poly1305::new(&key.into());
        let sealed =
            cipher.encrypt(&XNonce::from(nonce), payload).expect("memory holds no text over 256 GiB");
        let mut bytes = nonce.to_vec();
        bytes.extend(sealed);
        Sealed(format!("{PREFIX}{}:{}", self.active, URL_SAFE_NO_PAD.encode(bytes)))
    }

    fn open(&self, sealed: &Sealed, context: &str) -> Result<SecretString, SecretError> {
        let id = sealed.key_id();
        let key = self.keys.get(id).ok_or_else(|| SecretError::UnknownKey(id.into()))?;
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
}

/// The ring as the running program holds it; a rotated ring takes the place of the old one.
#[derive(Clone)]
pub struct SharedRing(Arc<RwLock<KeyRing>>);

impl SharedRing {
    pub fn new(ring: KeyRing) -> SharedRing {
        SharedRing(Arc::new(RwLock::new(ring)))
    }

    pub fn replace(&self, ring: KeyRing) {
        *self.0.write().unwrap_or_else(std::sync::PoisonError::into_inner) = ring;
    }

    pub fn active(&self) -> String {
        self.read(|ring| ring.active().to_owned())
    }

    fn read<T>(&self, look: impl FnOnce(&KeyRing) -> T) -> T {
        look(&self.0.read().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

/// Seals and opens for one resource: what was sealed for another does not open.
#[derive(Clone)]
pub struct Sealer {
    ring: SharedRing,
    context: String,
}

impl Sealer {
    pub fn new(ring: &SharedRing, context: impl Into<String>) -> Sealer {
        Sealer { ring: ring.clone(), context: context.into() }
    }

    pub fn seal(&self, secret: &SecretString) -> Sealed {
        self.ring.read(|ring| ring.seal(secret.expose_secret(), &self.context))
    }

    pub fn open(&self, sealed: &Sealed) -> Result<SecretString, SecretError> {
        self.ring.read(|ring| ring.open(sealed, &self.context))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealer(ring: &SharedRing, context: &str) -> Sealer {
        Sealer::new(ring, context)
    }

    #[test]
    fn what_is_sealed_opens_only_in_its_own_context_and_unchanged() {
        let ring = SharedRing::new(KeyRing::generate());
        let sealed = sealer(&ring, "a").seal(&"hunter2".into());
        assert_eq!(sealer(&ring, "a").open(&sealed).unwrap().expose_secret(), "hunter2");
        assert_eq!(sealer(&ring, "b").open(&sealed).unwrap_err(), SecretError::DoesNotOpen);
        let mut changed = sealed.0.clone();
        let last = if changed.pop() == Some('A') { 'B' } else { 'A' };
        changed.push(last);
        assert!(sealer(&ring, "a").open(&Sealed(changed)).is_err());
        assert!(!format!("{sealed:?}{}", sealed.0).contains("hunter2"));
    }

    #[test]
    fn a_rotated_ring_opens_old_and_seals_new() {
        let mut keys = KeyRing::generate();
        let ring = SharedRing::new(KeyRing::parse(&keys.to_text()).unwrap());
        let old = sealer(&ring, "a").seal(&"one".into());
        keys.rotate();
        ring.replace(KeyRing::parse(&keys.to_text()).unwrap());
        let new = sealer(&ring, "a").seal(&"two".into());
        assert_eq!((old.key_id(), new.key_id()), ("k1", "k2"));
        assert_eq!(sealer(&ring, "a").open(&old).unwrap().expose_secret(), "one");
        keys.forget("k1").unwrap();
        assert_eq!(keys.forget("k2"), Err(SecretError::KeyInUse("k2".into())));
        ring.replace(keys);
        assert_eq!(sealer(&ring, "a").open(&old).unwrap_err(), SecretError::UnknownKey("k1".into()));
    }

    #[test]
    fn rings_merge_unless_they_contradict_each_other() {
        let mut one = KeyRing::generate();
        let mut two = KeyRing::parse(&one.to_text()).unwrap();
        two.rotate();
        one.merge(&two).unwrap();
        assert_eq!((one.active(), one.ids().count()), ("k2", 2));
        two.merge(&KeyRing::parse(&one.to_text()).unwrap()).unwrap();
        assert_eq!(*one.to_text(), *two.to_text());
        let error = one.merge(&KeyRing::generate()).unwrap_err().to_string();
        assert!(error.contains("two different keys are called \"k1\""), "{error}");
    }

    #[test]
    fn a_damaged_ring_is_refused_with_the_reason() {
        for (text, part) in [
            ("", "EOF"),
            (r#"{"active":"k1","keys":{}}"#, "active key"),
            (r#"{"active":"k1","keys":{"k1":"c2hvcnQ="}}"#, "32 bytes"),
            (r#"{"active":"a:b","keys":{"a:b":"c2hvcnQ="}}"#, "not a key id"),
        ] {
            let error = KeyRing::parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_clear_text_is_no_sealed_value_and_stays_out_of_the_message() {
        let error = serde_json::from_str::<Sealed>("\"hunter2\"").unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }
}
