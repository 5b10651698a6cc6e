//! Records of this product, found by a label.

use std::sync::Arc;

use engine::store::{ResourceQuery, Store, StoreError};
use engine::{Halt, Resource};

/// Reads records that belong to other resources than that of the operation.
#[derive(Clone)]
pub struct Records {
    store: Arc<dyn Store>,
}

/// An instance has ten bindings; a name of a cluster is used once.
const RECORDS_MAX: usize = 1000;

impl Records {
    pub fn new(store: Arc<dyn Store>) -> Records {
        Records { store }
    }

    /// All records of a kind with this label that are not tombstones.
    pub(crate) async fn labelled<R: Resource>(&self, label: &str, value: &str) -> Result<Vec<R>, Halt> {
        let query = ResourceQuery {
            kind: R::KIND.into(),
            labels: vec![(label.to_owned(), vec![value.to_owned()])],
            limit: RECORDS_MAX,
            ..ResourceQuery::default()
        };
        let rows = self.store.resources(&query).await.map_err(lost)?.rows;
        let read = |record: &str, name: &str| {
            serde_json::from_str(record)
                .map_err(|error| Halt::fail(format!("the record {name} cannot be read: {error}")))
        };
        rows.iter().map(|row| read(&row.record, &row.name)).collect()
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn lost(error: StoreError) -> Halt {
    let cause = error.to_string().into();
    if error.may_heal() { Halt::Retry { after: None, cause } } else { Halt::Fail { cause } }
}
