//! Sealing again with the active key what an older key sealed, so that the older key can be forgotten.

use super::{PREFIX, Sealed, Sealer, SharedRing};
use crate::registry::sealing_context;
use crate::store::{SavedReader, SealedColumn, SealedRow, SealedStore, StoreError};

/// How many values a key sealed, by the place where they are saved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SealedCount {
    /// In params and memories of unfinished operations.
    pub operations: usize,
    /// In events and params of finished operations, and in events of unfinished ones.
    pub history: usize,
    /// In the records of resources.
    pub records: usize,
}

impl SealedCount {
    pub fn total(self) -> usize {
        self.operations + self.history + self.records
    }

    fn add(&mut self, column: SealedColumn, count: usize) {
        match column {
            SealedColumn::Params | SealedColumn::Memory => self.operations += count,
            SealedColumn::Journal | SealedColumn::ArchivedParams => self.history += count,
            SealedColumn::Record => self.records += count,
        }
    }
}

/// How many saved values only this key opens.
pub async fn count_sealed(
    store: &dyn SavedReader,
    ring: &SharedRing,
    key: &str,
) -> Result<SealedCount, StoreError> {
    let mut found = SealedCount::default();
    for column in SealedColumn::ALL {
        let mut after = None;
        loop {
            let page = store.sealed_page(column, &part(key), after).await?;
            for row in &page.rows {
                found.add(column, sealer(ring, row).resealed(key, &row.text).1);
            }
            let Some(next) = page.next else { break };
            after = Some(next);
        }
    }
    Ok(found)
}

/// Seals everything again that this key sealed, except what an operation works on right now. Answers what was
/// sealed again and what is left for the next time.
pub async fn reseal(
    store: &dyn SealedStore,
    ring: &SharedRing,
    key: &str,
) -> Result<(SealedCount, SealedCount), StoreError> {
    let (mut sealed, mut left) = (SealedCount::default(), SealedCount::default());
    for column in SealedColumn::ALL {
        let mut after = None;
        loop {
            let page = store.sealed_page(column, &part(key), after).await?;
            for row in &page.rows {
                let (text, count) = sealer(ring, row).resealed(key, &row.text);
                if count > 0 {
                    let is_done = store.replace_sealed(row, &text).await?;
                    if is_done { &mut sealed } else { &mut left }.add(column, count);
                }
            }
            let Some(next) = page.next else { break };
            after = Some(next);
        }
    }
    Ok((sealed, left))
}

fn sealer(ring: &SharedRing, row: &SealedRow) -> Sealer {
    Sealer::new(ring, sealing_context(&row.tenant, row.resource.as_deref(), &row.workflow))
}

/// What every text contains that may hold a value of this key, also one of an earlier id of it.
fn part(key: &str) -> String {
    format!("{PREFIX}{}", key.split('-').next().unwrap_or_default())
}

impl Sealer {
    /// The text with every value that this key sealed for this context sealed again, and how many there were.
    /// What looks like a sealed value and does not open is left alone.
    fn resealed(&self, key: &str, text: &str) -> (String, usize) {
        let (mut done, mut rest, mut count) = (String::with_capacity(text.len()), text, 0);
        while let Some(at) = rest.find(PREFIX) {
            let (before, from) = rest.split_at(at);
            let is_in_value = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '-' | '_');
            let (value, after) = from.split_at(from.find(|c| !is_in_value(c)).unwrap_or(from.len()));
            done.push_str(before);
            match self.opens(key, &Sealed(value.to_owned())) {
                Some(secret) => {
                    done.push_str(self.seal(&secret).as_str());
                    count += 1;
                }
                None => done.push_str(value),
            }
            rest = after;
        }
        done.push_str(rest);
        (done, count)
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;

    use super::super::{ExposeSecret, KeyRing};
    use super::*;
    use crate::clock::Timestamp;
    use crate::event::{Body, Changes, Event};
    use crate::ids::OperationId;
    use crate::store::{
        Create, Expect, MemoryStore, RecordUpdate, ResourceWrite, RowKey, SavedOperation, SavedReader,
        SealedPage, SealedWriter, Store, Write,
    };

    /// An operation without an owner and a record, each with values that this ring sealed.
    async fn filled(ring: &SharedRing) -> MemoryStore {
        let store = MemoryStore::new();
        let seal = |context: &str| Sealer::new(ring, context).seal(&"secret".into());
        let (of_flow, of_source) = (seal("t\nflow"), seal("t\nsource"));
        let facts = [("token".to_owned(), serde_json::json!([&of_flow, &of_flow]))].into();
        let changes = Changes { facts, ..Changes::default() };
        let body = Body::Stepped { changes, started: None };
        let create = Create {
            name: None,
            id: OperationId(uuid::Uuid::nil()),
            workflow: "flow".into(),
            tenant: "t".into(),
            resource: None,
            params: serde_json::json!({"password": &of_flow}).to_string(),
            created_at: Timestamp(0),
            deadline_at: Timestamp(1),
            owner: None,
            event: Event { seq: 1, at: Timestamp(0), body },
            idempotency: None,
            queue: false,
            subject: None,
            beside: None,
            supersedes: None,
        };
        store.commit(Write::Create(Box::new(create))).await.unwrap();
        let record = serde_json::json!({"a": &of_source, "b": [&of_source, &of_source]}).to_string();
        let record_update =
            Some(RecordUpdate { kind: "k".into(), record, labels: vec![], gone_at: None, due_at: None });
        let (name, tenant, at) = ("source".into(), "t".into(), Timestamp(0));
        let write = ResourceWrite { name, tenant, expect: Expect::Absent, record_update, at };
        store.commit(Write::Resource(Box::new(write))).await.unwrap();
        store
    }

    #[tokio::test]
    async fn what_a_key_sealed_is_counted_and_sealed_again() {
        let mut keys = KeyRing::generate();
        let old = keys.active().to_owned();
        let ring = SharedRing::new(keys.clone());
        let store = filled(&ring).await;
        keys.rotate(Timestamp(1));
        ring.replace(keys);
        let all = SealedCount { operations: 1, history: 2, records: 3 };
        assert_eq!(count_sealed(&store, &ring, &old).await.unwrap(), all);
        assert_eq!(all.total(), 6);
        assert_eq!(reseal(&store, &ring, &old).await.unwrap(), (all, SealedCount::default()));
        assert_eq!(count_sealed(&store, &ring, &old).await.unwrap().total(), 0);
        let new = ring.active();
        assert_eq!(count_sealed(&store, &ring, &new).await.unwrap(), all, "the active key opens all of it");
    }

    /// One row that names the key in what it says, and holds no value of it.
    struct ReadOnly(String);

    #[async_trait]
    impl SavedReader for ReadOnly {
        async fn unfinished(
            &self,
            _after: Option<OperationId>,
            _limit: usize,
        ) -> Result<Vec<SavedOperation>, StoreError> {
            Ok(Vec::new())
        }

        async fn sealed_page(
            &self,
            column: SealedColumn,
            part: &str,
            _after: Option<RowKey>,
        ) -> Result<SealedPage, StoreError> {
            assert!(self.0.contains(part));
            let (key, tenant, workflow) = (RowKey::Resource("r".into()), "t".into(), "w".into());
            let row = SealedRow { column, key, tenant, resource: None, workflow, text: self.0.clone() };
            Ok(SealedPage { rows: vec![row], next: None })
        }
    }

    #[async_trait]
    impl SealedWriter for ReadOnly {
        async fn replace_sealed(&self, row: &SealedRow, _text: &str) -> Result<bool, StoreError> {
            panic!("nothing of {:?} is sealed with the key", row.key)
        }
    }

    #[tokio::test]
    async fn a_row_without_values_of_the_key_is_not_written() {
        let keys = KeyRing::generate();
        let key = keys.active().to_owned();
        let store = ReadOnly(format!("{} is all it says", part(&key)));
        let answer = reseal(&store, &SharedRing::new(keys), &key).await;
        assert_eq!(answer, Ok((SealedCount::default(), SealedCount::default())));
    }

    #[test]
    fn only_values_of_the_key_and_the_context_are_sealed_again() {
        let mut keys = KeyRing::generate();
        let old = keys.active().to_owned();
        let ring = SharedRing::new(keys.clone());
        let mine = Sealer::new(&ring, "mine");
        let (one, two) = (mine.seal(&"one".into()), mine.seal(&"two".into()));
        let other = Sealer::new(&ring, "other").seal(&"other".into());
        keys.rotate(Timestamp(1));
        ring.replace(keys);
        let new = mine.seal(&"new".into());
        let [one, two, other, new] = [&one, &two, &other, &new].map(Sealed::as_str);
        let text = format!(r#"{{"a":"{one}","b":["{two}",1.50,"{other}"],"c":"{new}","d":"sealed:1:"}}"#);

        let (sealed, count) = mine.resealed(&old, &text);
        assert_eq!(count, 2);
        assert!(!sealed.contains(one) && !sealed.contains(two), "{sealed}");
        assert!(sealed.contains(other) && sealed.contains(new) && sealed.contains("1.50"), "{sealed}");
        let parsed: serde_json::Value = serde_json::from_str(&sealed).unwrap();
        let opened = |value: &serde_json::Value| {
            let sealed = Sealed::parse(value.as_str().unwrap()).unwrap();
            mine.open(&sealed).unwrap().expose_secret().to_owned()
        };
        assert_eq!((opened(&parsed["a"]), opened(&parsed["b"][0])), ("one".into(), "two".into()));
        assert_eq!(mine.resealed(&old, &sealed), (sealed.clone(), 0), "nothing is left to do");
    }
}
