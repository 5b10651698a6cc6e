//! Connections to the file, its schema, and what its errors mean.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use engine::store::StoreError;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use crate::rules;

/// Only checkpoints and backups by other programs ever hold a lock, and not for long.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
const CACHED_STATEMENTS: usize = 128;
/// Only the owner reads what operations know.
const FILE_MODE: u32 = 0o600;

/// The log is copied back every few thousand pages, so that it stays small and its file is used again. Pages
/// of twice the usual size hold the events of more operations, and a commit writes fewer of them.
const WRITER_SETTINGS: &str = "
    pragma page_size = 8192;
    pragma journal_mode = wal;
    pragma synchronous = full;
    pragma foreign_keys = on;
    pragma wal_autocheckpoint = 2000;
    pragma journal_size_limit = 67108864;
    pragma cache_size = -8000;
    pragma temp_store = memory;
";
const READER_SETTINGS: &str = "
    pragma query_only = on;
    pragma cache_size = -2000;
    pragma temp_store = memory;
";

pub(super) const MAKE_VERSIONS: &str = "
    create table if not exists schema_version (version integer primary key, applied_at text not null) strict";
pub(super) const LAST_VERSION: &str = "select coalesce(max(version), 0) from schema_version";
pub(super) const ADD_VERSION: &str =
    "insert into schema_version (version, applied_at) values (?1, datetime('now'))";

/// Every change of the schema, oldest first.
const MIGRATIONS: [(u32, &str); 8] = [
    (1, include_str!("../../migrations/sqlite/0001_init.sql")),
    (2, include_str!("../../migrations/sqlite/0002_resources.sql")),
    (3, include_str!("../../migrations/sqlite/0003_people.sql")),
    (4, include_str!("../../migrations/sqlite/0004_principals.sql")),
    (5, include_str!("../../migrations/sqlite/0005_control_requests.sql")),
    (6, include_str!("../../migrations/sqlite/0006_drafts.sql")),
    (7, include_str!("../../migrations/sqlite/0007_names_and_grants.sql")),
    (8, include_str!("../../migrations/sqlite/0008_queue_numbers.sql")),
];

pub(super) fn open_writer(path: &Path) -> Result<Connection, StoreError> {
    // The log and its index get the mode of the file, so it has to be right before SQLite makes them.
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(FILE_MODE)
        .open(path)
        .map_err(|error| StoreError::Unavailable(format!("cannot open {}: {error}", path.display())))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags).map_err(fault)?;
    db.busy_timeout(BUSY_TIMEOUT).map_err(fault)?;
    db.execute_batch(WRITER_SETTINGS).map_err(fault)?;
    db.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    Ok(db)
}

pub(super) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags).map_err(fault)?;
    db.busy_timeout(BUSY_TIMEOUT).map_err(fault)?;
    db.execute_batch(READER_SETTINGS).map_err(fault)?;
    db.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    Ok(db)
}

pub(super) fn lock_file(path: &Path) -> Result<std::fs::File, StoreError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let file = OpenOptions::new().create(true).append(true).mode(FILE_MODE).open(&name).map_err(|error| {
        StoreError::Unavailable(format!("cannot open {}: {error}", Path::new(&name).display()))
    })?;
    file.try_lock().map_err(|_| {
        StoreError::Refused(format!(
            "another process uses {}: stop it first, or choose another data directory",
            path.display()
        ))
    })?;
    Ok(file)
}

pub(super) fn migrate(db: &mut Connection) -> Result<(), StoreError> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fault)?;
    transaction.execute_batch(MAKE_VERSIONS).map_err(fault)?;
    let found: u32 = transaction.query_row(LAST_VERSION, [], |row| row.get(0)).map_err(fault)?;
    for (version, migration) in rules::missing(&MIGRATIONS, found)? {
        transaction.execute_batch(migration).map_err(fault)?;
        transaction.execute(ADD_VERSION, [version]).map_err(fault)?;
    }
    transaction.commit().map_err(fault)
}

/// What a caller can do about an error.
#[expect(clippy::needless_pass_by_value, reason = "this is how `map_err` hands it over")]
pub(super) fn fault(error: rusqlite::Error) -> StoreError {
    let text = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full(text),
        Some(ErrorCode::ConstraintViolation | ErrorCode::TooBig | ErrorCode::TypeMismatch) => {
            StoreError::Refused(text)
        }
        Some(_) => StoreError::Unavailable(text),
        // Not from the database but from a value that is not what we read it as.
        None => StoreError::Refused(text),
    }
}

pub(super) fn is_collision(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation)
}
