//! A copy of a database as one file, made while a server may have it open.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use engine::store::StoreError;
use rusqlite::{Connection, OpenFlags};

/// Copies a database to a new file that only its owner can read, on the disk when this returns.
pub fn copy_sqlite(from: &Path, to: &Path) -> Result<(), StoreError> {
    let failed = |error: &dyn std::fmt::Display| StoreError::Unavailable(error.to_string());
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(from, flags).map_err(|error| failed(&error))?;
    // SQLite takes a file that is there and empty, and leaves its permissions as they are.
    OpenOptions::new().create_new(true).write(true).mode(0o600).open(to).map_err(|error| failed(&error))?;
    let copied = database
        .execute("vacuum into ?1", [to.to_string_lossy()])
        .map_err(|error| failed(&error))
        .and_then(|_| File::open(to).and_then(|file| file.sync_all()).map_err(|error| failed(&error)));
    if copied.is_err() {
        // Half a copy must not look like one.
        let _ = fs::remove_file(to);
    }
    copied
}
