//! The objects of the API server, each under the version of its last change, and the changes that a watch can replay.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use serde_json::{Value, json};

use super::kinds::KubeKind;

/// Older changes are forgotten, and a watch that begins before them is told so.
const EVENTS_MAX: usize = 20_000;
/// As on a server that has been there for a while: an old version is one that it does not know any more.
const FIRST_VERSION: u64 = 200;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ObjectKey {
    pub(super) kind: KubeKind,
    pub(super) namespace: String,
    pub(super) name: String,
}

impl ObjectKey {
    pub(super) fn new(kind: KubeKind, namespace: &str, name: &str) -> ObjectKey {
        ObjectKey { kind, namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

#[derive(Debug, Clone)]
pub(super) struct StoredEvent {
    pub(super) version: u64,
    pub(super) key: ObjectKey,
    /// `ADDED`, `MODIFIED` or `DELETED`.
    pub(super) kind: &'static str,
    pub(super) object: Arc<Value>,
}

#[derive(Debug)]
pub(super) struct ObjectStore {
    objects: BTreeMap<ObjectKey, Arc<Value>>,
    events: VecDeque<StoredEvent>,
    version: u64,
    oldest: u64,
}

impl Default for ObjectStore {
    fn default() -> ObjectStore {
        let (objects, events) = (BTreeMap::new(), VecDeque::new());
        ObjectStore { objects, events, version: FIRST_VERSION, oldest: FIRST_VERSION }
    }
}

impl ObjectStore {
    pub(super) fn get(&self, key: &ObjectKey) -> Option<Arc<Value>> {
        self.objects.get(key).cloned()
    }

    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// The oldest version that a watch can begin with.
    pub(super) fn oldest(&self) -> u64 {
        self.oldest
    }

    /// Keeps the object under a new version.
    pub(super) fn put(&mut self, key: &ObjectKey, mut object: Value) -> Arc<Value> {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let object = Arc::new(object);
        let before = self.objects.insert(key.clone(), Arc::clone(&object));
        let kind = if before.is_some() { "MODIFIED" } else { "ADDED" };
        self.remember(key.clone(), kind, Arc::clone(&object));
        object
    }

    /// The last event of an object shows it as it was, under a new version.
    pub(super) fn remove(&mut self, key: &ObjectKey) -> Option<Arc<Value>> {
        let object = self.objects.remove(key)?;
        self.version += 1;
        let mut last = Value::clone(&object);
        last["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.remember(key.clone(), "DELETED", Arc::new(last));
        Some(object)
    }

    fn remember(&mut self, key: ObjectKey, kind: &'static str, object: Arc<Value>) {
        self.events.push_back(StoredEvent { version: self.version, key, kind, object });
        if self.events.len() > EVENTS_MAX
            && let Some(forgotten) = self.events.pop_front()
        {
            self.oldest = forgotten.version;
        }
    }

    /// Forgets all changes so far, as a server does that compacts its store.
    pub(super) fn compact(&mut self) {
        self.events.clear();
        // A change between two versions, so that one from just before is too old as well.
        self.version += 1;
        self.oldest = self.version;
    }

    /// The objects of one kind in one namespace, in the order of their names, after this name.
    pub(super) fn list(
        &self,
        kind: KubeKind,
        namespace: &str,
        after: Option<&str>,
    ) -> impl Iterator<Item = (&ObjectKey, &Arc<Value>)> {
        let from = match after {
            Some(name) => Bound::Excluded(ObjectKey::new(kind, namespace, name)),
            None => Bound::Included(ObjectKey::new(kind, namespace, "")),
        };
        let namespace = namespace.to_owned();
        self.objects
            .range((from, Bound::Unbounded))
            .take_while(move |(key, _)| key.kind == kind && key.namespace == namespace)
    }

    /// The changes after this version, at most so many.
    pub(super) fn events_after(&self, version: u64, max: usize) -> impl Iterator<Item = &StoredEvent> {
        let first = self.events.partition_point(|event| event.version <= version);
        self.events.range(first..).take(max)
    }
}
