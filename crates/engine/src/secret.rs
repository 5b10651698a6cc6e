//! Secrets: readable in memory by those who ask, sealed everywhere else.

mod key_ring;
mod reseal;

use std::fmt;
use std::sync::{Arc, RwLock};

pub use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use key_ring::KeyRing;
pub use reseal::{SealedCount, count_sealed, reseal};

const PREFIX: &str = "sealed:1:";

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
        // The text itself stays out of the message: it may be a secret that a step forgot to seal.
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

/// The ring as the running program holds it; a rotated ring takes the place of the old one.
#[derive(Clone)]
pub struct SharedRing(Arc<RwLock<KeyRing>>);

impl SharedRing {
    pub fn new(ring: KeyRing) -> SharedRing {
        SharedRing(Arc::new(RwLock::new(ring)))
    }

    /// `false` when it is the same ring as before.
    pub fn replace(&self, ring: KeyRing) -> bool {
        let mut held = self.0.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        let is_new = *held.to_text() != *ring.to_text();
        *held = ring;
        is_new
    }

    pub fn active(&self) -> String {
        self.read(|ring| ring.active().to_owned())
    }

    /// The ids of keys whose values are to be sealed again with the active key.
    pub fn retiring(&self) -> Vec<String> {
        self.read(|ring| ring.retiring().map(str::to_owned).collect())
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

    /// What this very key sealed; `None` when another key opens it, or none does.
    fn opens(&self, key: &str, sealed: &Sealed) -> Option<SecretString> {
        self.ring.read(|ring| ring.opens(key, sealed, &self.context))
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;
    use crate::clock::Timestamp;

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

    fn copy(ring: &KeyRing) -> KeyRing {
        KeyRing::parse(&ring.to_text()).unwrap()
    }

    /// A ring of a release whose ids had no digest.
    fn plain(ids: &[(&str, u8)], active: &str) -> KeyRing {
        let key = |(id, byte): &(&str, u8)| format!("\"{id}\":\"{}\"", STANDARD.encode([*byte; 32]));
        let keys: Vec<String> = ids.iter().map(key).collect();
        KeyRing::parse(&format!("{{\"active\":\"{active}\",\"keys\":{{{}}}}}", keys.join(","))).unwrap()
    }

    #[test]
    fn a_rotated_ring_opens_old_and_seals_new() {
        let mut keys = KeyRing::generate();
        let ring = SharedRing::new(copy(&keys));
        let old = sealer(&ring, "a").seal(&"one".into());
        keys.rotate(Timestamp(7));
        ring.replace(copy(&keys));
        let new = sealer(&ring, "a").seal(&"two".into());
        assert!(old.key_id().starts_with("k1-") && new.key_id().starts_with("k2-"), "{old:?} {new:?}");
        assert_eq!((ring.active().as_str(), keys.active_since()), (new.key_id(), Some(Timestamp(7))));
        assert_eq!(sealer(&ring, "a").open(&old).unwrap().expose_secret(), "one");
        keys.forget(old.key_id()).unwrap();
        assert_eq!(keys.forget(new.key_id()), Err(SecretError::KeyInUse(new.key_id().into())));
        assert_eq!(keys.retire(new.key_id()), Err(SecretError::KeyInUse(new.key_id().into())));
        assert_eq!(keys.forget("k9"), Err(SecretError::UnknownKey("k9".into())));
        ring.replace(keys);
        let gone = SecretError::UnknownKey(old.key_id().into());
        assert_eq!(sealer(&ring, "a").open(&old).unwrap_err(), gone);
    }

    #[test]
    fn a_ring_keeps_when_each_key_began_to_seal() {
        let mut ring = KeyRing::generate();
        let mut other = copy(&ring);
        ring.rotate(Timestamp(7));
        other.merge(&ring);
        ring.rotate(Timestamp(9));
        let times = |ring: &KeyRing| ring.ids().map(|id| ring.since(id)).collect::<Vec<_>>();
        let expected = [Some(Timestamp(9)), Some(Timestamp(7)), None];
        other.merge(&ring);
        assert_eq!((times(&copy(&ring)), times(&other)), (expected.to_vec(), expected.to_vec()));
        let second = ring.ids().nth(1).unwrap().to_owned();
        ring.forget(&second).unwrap();
        other.merge(&ring);
        assert_eq!((times(&other), other.since(&second)), (vec![Some(Timestamp(9)), None], None));
    }

    #[test]
    fn two_rings_that_rotated_at_the_same_moment_merge_to_one_that_opens_everything() {
        let first = KeyRing::generate();
        let (mut one, mut two) = (copy(&first), copy(&first));
        let sealed = [&mut one, &mut two].map(|ring| {
            ring.rotate(Timestamp(1));
            sealer(&SharedRing::new(copy(ring)), "a").seal(&"secret".into())
        });
        assert_ne!(one.active(), two.active(), "each key has an id of its own");
        let (left, right) = (copy(&one), copy(&two));
        one.merge(&right);
        two.merge(&left);
        assert_eq!(*one.to_text(), *two.to_text(), "whichever ring merges first");
        assert_eq!(one.ids().count(), 3);
        let ring = SharedRing::new(one);
        for value in &sealed {
            assert_eq!(sealer(&ring, "a").open(value).unwrap().expose_secret(), "secret");
        }
    }

    #[test]
    fn two_keys_of_one_id_are_both_kept_and_open_what_they_sealed() {
        let (mut one, mut two) = (plain(&[("k1", 1), ("k2", 2)], "k2"), plain(&[("k1", 1), ("k2", 3)], "k2"));
        let sealed =
            [&one, &two].map(|ring| sealer(&SharedRing::new(copy(ring)), "a").seal(&"secret".into()));
        assert_eq!(sealed[0].key_id(), sealed[1].key_id());
        let (left, right) = (copy(&one), copy(&two));
        one.merge(&right);
        two.merge(&left);
        assert_eq!(*one.to_text(), *two.to_text());
        one.merge(&right);
        assert_eq!(*one.to_text(), *two.to_text(), "the same ring again adds nothing");
        let ring = SharedRing::new(one);
        for value in &sealed {
            assert_eq!(sealer(&ring, "a").open(value).unwrap().expose_secret(), "secret");
        }
    }

    #[test]
    fn a_forgotten_key_stays_forgotten_and_an_active_key_is_always_left() {
        let mut one = KeyRing::generate();
        let first = one.active().to_owned();
        let stale = copy(&one);
        one.rotate(Timestamp(1));
        one.retire(&first).unwrap();
        assert_eq!(one.retiring().collect::<Vec<_>>(), [first.as_str()]);
        one.forget(&first).unwrap();
        one.merge(&stale);
        assert!(one.ids().eq([one.active()]) && one.active() != first);
        assert_eq!((one.retiring().count(), one.active_since()), (0, Some(Timestamp(1))));
        let mut stale = stale;
        stale.merge(&one);
        assert_eq!(*stale.to_text(), *one.to_text());

        let (mut left, mut right) = (plain(&[("a", 1), ("b", 2)], "a"), plain(&[("a", 1), ("b", 2)], "b"));
        left.forget("b").unwrap();
        right.forget("a").unwrap();
        left.merge(&right);
        assert_eq!(
            (left.active(), left.ids().count()),
            ("b", 1),
            "each has forgotten what the other seals with"
        );
    }

    #[test]
    fn the_newest_key_seals_by_its_number_and_not_by_its_text() {
        let mut ring = plain(&[("k9", 1), ("k2", 2)], "k9");
        ring.merge(&plain(&[("k10", 3)], "k10"));
        assert_eq!(ring.active(), "k10");
        ring.merge(&plain(&[("k2", 2)], "k2"));
        assert_eq!(ring.active(), "k10");
        assert!(ring.rotate(Timestamp(1)).starts_with("k11-"));
        assert_eq!(format!("{ring:?}").matches("k10").count(), 1, "only ids are shown");
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
    fn a_sealed_value_names_its_key_and_nothing_else() {
        let ring = SharedRing::new(KeyRing::generate());
        let sealed = sealer(&ring, "a").seal(&"hunter2".into());
        assert_eq!(format!("{sealed:?}"), format!("<sealed with {}>", ring.active()));
        assert_eq!(Sealed::parse(sealed.as_str()).unwrap(), sealed);
        assert_eq!(serde_json::to_value(&sealed).unwrap(), sealed.as_str());
        assert_eq!(serde_json::from_value::<Sealed>(sealed.as_str().into()).unwrap(), sealed);
        assert_eq!(Sealed::parse("hunter2").unwrap_err(), SecretError::DoesNotOpen);
        let mut keys = KeyRing::generate();
        assert!(ring.replace(keys.clone()) && !ring.replace(keys.clone()), "the second is the same ring");
        let old = keys.active().to_owned();
        keys.rotate(Timestamp(1));
        keys.retire(&old).unwrap();
        ring.replace(keys);
        assert_eq!(ring.retiring(), [old]);
    }

    #[test]
    fn a_clear_text_is_no_sealed_value_and_stays_out_of_the_message() {
        let error = serde_json::from_str::<Sealed>("\"hunter2\"").unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }
}
