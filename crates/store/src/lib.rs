//! Where operations live: `SQLite` in one file for one process, `PostgreSQL` for any number of them.
//!
//! Both follow the rules of [`engine::store::Store`], and one suite of tests holds them to the same behaviour
//! as the store in memory. What many callers save at the same moment goes into one transaction: there is no
//! timer, the running commit is the window in which the next batch gathers.

mod draft;
mod fair;
mod last_commit;
mod postgres;
mod resource_search;
mod rows;
mod rules;
mod sqlite;

pub use postgres::{PostgresReader, PostgresStore, trust};
pub use sqlite::{SqliteReader, SqliteStore, copy_sqlite};

/// At most this many writes are in one transaction, so that no transaction waits long for others.
const BATCH_WRITES_MAX: usize = 1024;
/// And about this many bytes.
const BATCH_BYTES_MAX: usize = 1 << 20;
/// How many finished operations one call of `prune` removes at most.
const PRUNE_MAX: i64 = 1000;
/// How many rows one page looks at in the search for sealed values.
const SEALED_PAGE: usize = 1000;
