//! The parameters behind the path of a call.

use std::collections::BTreeMap;

use axum::extract::Query;
use axum::http::Uri;

#[derive(Debug, Default)]
pub(super) struct GceQuery(BTreeMap<String, String>);

impl GceQuery {
    pub(super) fn of(uri: &Uri) -> Self {
        GceQuery(Query::try_from_uri(uri).map(|Query(pairs)| pairs).unwrap_or_default())
    }

    /// An empty value is as good as none.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}
