//! Overrides from labelled objects in one namespace of a cluster.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use engine::secret::{ExposeSecret, SecretString};
use engine::{Clock, Timestamp};
use http_client::DriverError;
use kubernetes::{Cluster, LabelledObject, ObjectKind};
use tokio::sync::Mutex;

use super::labelled::{FOR_ALL, Labelled, SECRET_FOR_ALL, in_order, plan_label, version_label};
use super::{OverrideSet, OverrideSource};
use engine::overrides::Value;

/// A wave of operations asks once, and a change is seen soon.
const FRESH: Duration = Duration::from_secs(5);
const ENTRIES_MAX: usize = 10_000;
/// What follows the slash of a label, or is all of it.
const LABEL_CHARS_MAX: usize = 63;

pub struct OverrideObjects {
    cluster: Arc<dyn Cluster>,
    namespace: String,
    clock: Arc<dyn Clock>,
    /// Held while the cluster is asked, so that others wait for the answer instead of asking too.
    seen: Mutex<BTreeMap<(String, String), ObjectCache>>,
}

struct ObjectCache {
    at: Timestamp,
    sets: Vec<OverrideSet>,
}

impl fmt::Debug for OverrideObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OverrideObjects").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

impl OverrideObjects {
    pub fn new(cluster: Arc<dyn Cluster>, namespace: String, clock: Arc<dyn Clock>) -> OverrideObjects {
        OverrideObjects { cluster, namespace, clock, seen: Mutex::default() }
    }

    async fn ask(&self, plan: &str, version: &str) -> Result<Vec<OverrideSet>, DriverError> {
        let for_all = format!("{FOR_ALL}=true");
        let mut asked = vec![
            (ObjectKind::Secret, for_all.clone()),
            (ObjectKind::Secret, format!("{SECRET_FOR_ALL}=true")),
            (ObjectKind::ConfigMap, for_all),
        ];
        let (plan, version) = (plan_label(plan), version_label(version));
        if is_label(&plan) && is_label(&version) {
            asked.push((ObjectKind::ConfigMap, format!("{plan}=true,{version}=true")));
        }
        // By kind and name: an object with labels of two kinds is there once.
        let mut found = BTreeMap::new();
        for (kind, selector) in asked {
            for object in self.cluster.labelled(kind, &self.namespace, &selector).await? {
                let is_secret = kind == ObjectKind::Secret;
                found.insert((is_secret, object.name.clone()), labelled(object, is_secret));
            }
        }
        let entries: usize = found.values().map(|object| object.entries.len()).sum();
        if entries > ENTRIES_MAX {
            let cause = format!("it has {entries} overrides; at most {ENTRIES_MAX} are allowed");
            return Err(DriverError::Broken { system: "cluster", cause });
        }
        Ok(in_order(found.values()))
    }
}

#[async_trait]
impl OverrideSource for OverrideObjects {
    fn name(&self) -> &'static str {
        "overrides_from_objects"
    }

    fn title(&self) -> &'static str {
        "Reading overrides from labelled objects"
    }

    fn driver(&self) -> Option<&'static str> {
        Some("kubernetes")
    }

    async fn overrides(&self, plan: &str, version: &str) -> Result<Vec<OverrideSet>, DriverError> {
        let mut seen = self.seen.lock().await;
        let now = self.clock.now();
        seen.retain(|_, one| now.since(one.at) < FRESH);
        let key = (plan.to_owned(), version.to_owned());
        if let Some(one) = seen.get(&key) {
            return Ok(one.sets.clone());
        }
        let sets = self.ask(plan, version).await?;
        seen.insert(key, ObjectCache { at: now, sets: sets.clone() });
        Ok(sets)
    }
}

fn labelled(object: LabelledObject, is_secret: bool) -> Labelled {
    let value = |text: SecretString| {
        if is_secret { Value::Secret(text) } else { Value::Public(text.expose_secret().to_owned()) }
    };
    let entries = object.data.into_iter().map(|(key, text)| (key, value(text))).collect();
    Labelled { origin: object.name, is_secret, labels: object.labels, entries }
}

/// A version comes from a request. What cannot be a label is on no object, and must not become part of a question.
fn is_label(text: &str) -> bool {
    text.len() <= LABEL_CHARS_MAX
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}
