use std::os::unix::fs::PermissionsExt;

use engine::store::{OperationQuery, Receipt, Store, StoreError};
use store::SqliteStore;

use crate::fixture::*;

#[tokio::test]
async fn a_second_process_is_told_who_is_in_the_way() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("operations.db");
    let first = SqliteStore::open(&path).unwrap();
    let Err(StoreError::Refused(text)) = SqliteStore::open(&path) else { panic!("it was let in") };
    assert!(text.starts_with("another process uses") && text.contains("operations.db"), "{text}");
    drop(first);
    SqliteStore::open(&path).unwrap();
}

#[tokio::test]
async fn everything_is_there_after_opening_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("operations.db");
    let first = SqliteStore::open(&path).unwrap();
    let node = joined(&*first).await;
    let hold = running(&*first, node).await;
    append(&*first, hold.id, 2).await.unwrap();
    let done = running(&*first, node).await;
    finish(&*first, finish_of(done, 2)).await.unwrap();
    drop(first);

    let second = SqliteStore::open(&path).unwrap();
    assert_eq!(numbers(&*second, hold.id).await, [1, 2]);
    assert_eq!(
        second.list(&OperationQuery { limit: 10, ..OperationQuery::default() }).await.unwrap().len(),
        2
    );
    // A node of a process that is gone owns nothing any more, even if no transaction says its name.
    let node = joined(&*second).await;
    let claimed = claim_one(&*second, node, LATE).await;
    assert_eq!((claimed.id, claimed.orphaned, claimed.seq), (hold.id, true, 3));
}

#[tokio::test]
async fn only_the_owner_of_the_files_reads_them() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("operations.db");
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(create(&*store, plain("acme")).await, Receipt::Saved);
    let mut files = 0;
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", entry.path());
        files += 1;
    }
    assert_eq!(files, 4, "the file, its log, the index of the log and the lock");
}

#[tokio::test]
async fn a_newer_schema_is_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("operations.db");
    drop(SqliteStore::open(&path).unwrap());
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute("insert into schema_version (version, applied_at) values (99, 'later')", []).unwrap();
    drop(db);
    let Err(StoreError::Refused(text)) = SqliteStore::open(&path) else { panic!("it was opened") };
    assert!(text.contains("schema version 99"), "{text}");
}

#[tokio::test]
async fn an_event_of_a_newer_release_is_left_to_a_newer_release() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("operations.db");
    let store = SqliteStore::open(&path).unwrap();
    let node = joined(&*store).await;
    let newer = plain("acme");
    create(&*store, newer.clone()).await;
    let db = rusqlite::Connection::open(&path).unwrap();
    let body = r#"{"kind":"created","by":"test","why":"a field of a newer release"}"#;
    db.execute("update journal set body = ?1", [body]).unwrap();
    let claimed = claim_one(&*store, node, LATE).await;
    let why = claimed.unreadable.clone().unwrap();
    assert!(why.starts_with("its event 1 cannot be read") && why.contains("why"), "{why}");
    assert_eq!((claimed.id, claimed.seq, claimed.phase), (newer.id, 1, engine::Phase::Running));
}

#[tokio::test]
async fn a_look_at_an_older_database_changes_nothing_in_it() {
    use engine::store::{SavedReader, SealedColumn};

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("operations.db");
    let store = SqliteStore::open(&path).unwrap();
    create(&*store, plain("acme")).await;
    drop(store);
    // As the first release left it, and as its program would still open it.
    let db = rusqlite::Connection::open(&path).unwrap();
    let tables = "drop table resources; drop table resource_labels; drop table users; drop table sessions;
        delete from schema_version where version > 1; pragma wal_checkpoint(truncate);";
    db.execute_batch(tables).unwrap();
    drop(db);
    let before = std::fs::read(&path).unwrap();
    let reader = store::SqliteReader::open(&path).unwrap();
    assert_eq!(reader.unfinished(None, 10).await.unwrap().len(), 1);
    assert_eq!(reader.sealed_page(SealedColumn::Journal, "", None).await.unwrap().rows.len(), 1);
    drop(reader);
    assert!(std::fs::read(&path).unwrap() == before, "the file is as it was");
}

#[tokio::test]
async fn a_broken_journal_stops_only_its_own_operation() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("operations.db");
    let store = SqliteStore::open(&path).unwrap();
    let node = joined(&*store).await;
    let (broken, whole) = (plain("acme"), plain("acme"));
    create(&*store, broken.clone()).await;
    create(&*store, whole.clone()).await;
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute("update journal set body = '{' where operation = ?1", [broken.id.0.as_bytes()]).unwrap();
    assert_eq!(claim_one(&*store, node, LATE).await.id, whole.id);
    let summary = show(&*store, broken.id).await.summary;
    assert_eq!((summary.phase, summary.owner, summary.due_at), (engine::Phase::Stuck, None, None));
    assert!(summary.reason.unwrap().starts_with("its journal cannot be read: "));
    assert!(claim(&*store, node, LATE).await.is_empty());
}
