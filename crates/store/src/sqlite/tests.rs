use engine::store::{Create, Write};
use engine::{Body, Phase};
use rusqlite::Connection;
use uuid::Uuid;

use super::*;
use crate::resource_search::{FEW, Sizes, search};

fn create(n: u128) -> Write {
    Write::Create(Box::new(Create {
        name: None,
        id: OperationId(Uuid::from_u128(n)),
        workflow: "launch".into(),
        tenant: "acme".into(),
        resource: None,
        params: "x".repeat(10_000),
        created_at: Timestamp(0),
        deadline_at: Timestamp(0),
        owner: None,
        event: Event {
            seq: 1,
            at: Timestamp(0),
            body: Body::Created { by: "test".into(), started: None, made_by: None },
        },
        idempotency: None,
        queue: false,
        subject: None,
        beside: None,
        supersedes: None,
    }))
}

async fn set_room(store: &SqliteStore, pages: i64) {
    let set = move |transaction: &Transaction<'_>| {
        let found: rusqlite::Result<i64> =
            transaction.db.query_row(&format!("pragma max_page_count = {pages}"), [], |row| row.get(0));
        Ok(found.is_ok())
    };
    assert!(store.writer.run(set).await.unwrap());
}

#[tokio::test]
async fn a_full_disk_is_said_and_nothing_is_lost_when_there_is_room_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path().join("operations.db")).unwrap();
    set_room(&store, 100).await;
    let mut saved = 0;
    let refused = loop {
        match store.commit(create(saved)).await {
            Ok(_) => saved += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, StoreError::Full(_)), "{refused}");
    assert!(saved > 5);
    assert!(matches!(store.commit(create(saved)).await, Err(StoreError::Full(_))));
    assert!(matches!(store.ping().await, Err(StoreError::Full(_))), "it still answers, but saves nothing");
    let node = NodeId(Uuid::from_u128(1));
    assert!(store.claim(node, Timestamp(0), 1).await.is_err(), "nor does it know a node");
    assert!(matches!(store.ping().await, Err(StoreError::Full(_))), "what changes nothing proves nothing");
    set_room(&store, 1000).await;
    assert!(matches!(store.ping().await, Err(StoreError::Full(_))), "until something is saved");
    store.join(node, None, Duration::from_secs(5)).await.unwrap();
    store.heartbeat(node, Duration::from_secs(5)).await.unwrap();
    assert_eq!(store.ping().await, Ok(()), "a heartbeat is enough");
    assert_eq!(store.commit(create(saved)).await, Ok(Receipt::Saved));
    let all = store.list(&OperationQuery { limit: 1000, ..OperationQuery::default() }).await.unwrap();
    assert_eq!(all.len() as u128, saved + 1);
}

#[tokio::test]
async fn a_heartbeat_finds_out_that_the_disk_is_full() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path().join("operations.db")).unwrap();
    let (node, lease) = (NodeId(Uuid::from_u128(1)), Duration::from_secs(5));
    store.join(node, None, lease).await.unwrap();
    assert_eq!(store.heartbeat(node, lease).await, Ok(Vec::new()));
    let only_reads = |transaction: &Transaction<'_>| {
        let set: rusqlite::Result<()> = transaction.db.pragma_update(None, "query_only", true);
        Ok(set.is_ok())
    };
    assert!(store.writer.run(only_reads).await.unwrap());
    assert!(matches!(store.heartbeat(node, lease).await, Err(StoreError::Unavailable(_))));
    assert!(store.ping().await.is_err());
}

#[tokio::test]
async fn a_writer_that_died_is_said_and_not_only_to_those_who_write() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path().join("operations.db")).unwrap();
    assert_eq!(store.ping().await, Ok(()));
    let died = store.writer.run(|_: &Transaction<'_>| -> Result<(), StoreError> { panic!("a defect") });
    assert!(matches!(died.await, Err(StoreError::Unavailable(_))));
    let Err(StoreError::Unavailable(why)) = store.ping().await else { panic!("nothing can be saved") };
    assert!(why.contains("the thread that writes is gone"), "{why}");
    assert!(
        store.list(&OperationQuery { limit: 1, ..OperationQuery::default() }).await.is_ok(),
        "reading still works"
    );
}

#[tokio::test]
async fn a_refused_write_takes_back_only_itself() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path().join("operations.db")).unwrap();
    let bad = store.writer.run(|transaction: &Transaction<'_>| {
        execute(transaction.db, "delete from journal", [])?;
        Err::<(), _>(StoreError::Refused("no good".into()))
    });
    let good = (0..50).map(|n| store.commit(create(n)));
    let (good, bad) = tokio::join!(futures_util::future::join_all(good), bad);
    assert_eq!(bad, Err(StoreError::Refused("no good".into())));
    assert!(good.iter().all(Result::is_ok));
    for n in 0..50 {
        assert_eq!(store.journal(OperationId(Uuid::from_u128(n)), 0, 10).await.unwrap().len(), 1);
    }
}

fn migrated() -> Connection {
    let mut db = Connection::open_in_memory().unwrap();
    connection::migrate(&mut db).unwrap();
    db
}

#[test]
fn every_statement_is_understood() {
    let db = migrated();
    for sql in statements::ALL.iter().chain(people_statements::ALL).chain(saved_statements::ALL) {
        db.prepare(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
    }
    for bits in 0..128 {
        let text = |bit: u32| (bits & (1 << bit) != 0).then(|| "text".to_owned());
        let id = |bit: u32| text(bit).map(|_| OperationId(Uuid::nil()));
        let (workflow, tenant, resource, before, from) = (text(0), text(1), text(2), id(3), id(4));
        let phases = text(5).map(|_| Phase::Failed).into_iter().collect();
        let resources = text(6).into_iter().collect();
        let query = OperationQuery {
            workflow,
            phases,
            tenant,
            resource,
            resources,
            before,
            from,
            id_end: None,
            limit: 1,
        };
        db.prepare(&reader::list_sql(&query)).unwrap();
        reader::list(&db, &query).unwrap();
    }
}

/// Each filter alone, as if it fitted few resources or many.
#[test]
fn a_page_of_resources_begins_where_it_is_short() {
    let db = migrated();
    let label = vec![("size".to_owned(), vec!["small".to_owned()])];
    let any = || ResourceQuery { kind: "runtime".into(), limit: 1, ..ResourceQuery::default() };
    let table = [
        (any(), 0, "SEARCH r USING COVERING INDEX resources_live (kind=?)"),
        (ResourceQuery { tenant: Some("acme".into()), ..any() }, 0, "COVERING INDEX resources_live (kind=?)"),
        (ResourceQuery { after: Some(1), ..any() }, 0, "COVERING INDEX resources_live (kind=? AND number>?)"),
        (
            ResourceQuery { after: Some(1), newest_first: true, ..any() },
            0,
            "COVERING INDEX resources_live (kind=? AND number<?)",
        ),
        (ResourceQuery { labels: label.clone(), ..any() }, 1, "SEARCH resource_labels USING PRIMARY KEY"),
        (ResourceQuery { labels: label, ..any() }, FEW, "COVERING INDEX resources_live (kind=?)"),
        (ResourceQuery { states: vec![("a".into(), vec![])], ..any() }, 1, "COVERING INDEX resources_state"),
        (ResourceQuery { states: vec![("a".into(), vec![])], ..any() }, FEW, "COVERING INDEX resources_live"),
        (ResourceQuery { due_by: Some(Timestamp(1)), ..any() }, 0, "resources_due (kind=? AND due_at<?)"),
        (
            ResourceQuery { names: vec!["a".into()], ..any() },
            0,
            "SEARCH resources USING COVERING INDEX sqlite_autoindex",
        ),
    ];
    for (query, size, expect) in table {
        let sizes = Sizes { labels: vec![size; query.labels.len()], states: size };
        let (text, _) = search::<resource_list::Sqlite>(&query, &sizes, "r.number");
        check_plan(&db, &text, expect);
    }
}

/// A count of many looks at the entries of its states in an index, and not at every resource that lives.
#[test]
fn what_is_in_many_states_is_counted_in_the_index_of_states() {
    let db = migrated();
    let states = vec![("a".to_owned(), vec![Phase::Succeeded]), ("b".to_owned(), vec![Phase::Succeeded])];
    let query =
        ResourceQuery { kind: "runtime".into(), states, limit: 1, counts: true, ..ResourceQuery::default() };
    let (text, _) =
        search::<resource_list::Sqlite>(&query, &Sizes { labels: vec![], states: FEW }, "r.number");
    check_plan(
        &db,
        &text,
        "SEARCH resources USING COVERING INDEX resources_state (workflow=? AND phase=? AND kind=?)",
    );
    let (count, _) = text.split_once("as total").unwrap();
    assert!(!count.contains("resources r"), "{count}");
    // Where they are few, the page comes from that index too, and only its own rows are read.
    let (text, _) = search::<resource_list::Sqlite>(&query, &Sizes { labels: vec![], states: 1 }, "r.number");
    assert_eq!(text.matches("resources r").count(), 1, "{text}");
}

#[track_caller]
fn check_plan(db: &Connection, sql: &str, expect: &str) {
    let mut statement = db.prepare(&format!("explain query plan {sql}")).unwrap();
    let none = vec![rusqlite::types::Null; statement.parameter_count()];
    let rows = statement.query_map(rusqlite::params_from_iter(none), |row| row.get::<_, String>(3)).unwrap();
    let plan = rows.collect::<rusqlite::Result<Vec<_>>>().unwrap().join("\n");
    assert!(plan.contains(expect) && !plan.contains("SCAN operations\n"), "{plan}");
}

/// Partial indexes are used only by statements that repeat their condition word by word.
#[test]
fn hot_statements_use_their_indexes() {
    let db = migrated();
    check_plan(&db, statements::DUE, "operations_due");
    check_plan(&db, statements::DUE_OF_TENANT, "operations_tenant_due");
    check_plan(&db, statements::TENANT_AFTER, "operations_tenant_due");
    check_plan(&db, statements::NEXT_DUE, "operations_due");
    check_plan(&db, statements::HOLDER, "operations_resource");
    check_plan(&db, statements::PROMOTE, "operations_queued");
    check_plan(&db, statements::WAKE, "operations_wait_key");
    check_plan(&db, statements::CONTROLS, "operations_wish");
    check_plan(&db, statements::FREE, "operations_owner");
    check_plan(&db, statements::OLD, "archive_finished");
    check_plan(&db, statements::PRUNE_KEY, "idempotency_operation");
    check_plan(&db, statements::OLD_RESOURCES, "resources_gone");
    check_plan(&db, statements::UNLABEL, "resource_labels_number");
    check_plan(&db, statements::STATES_SIZE, "resources_state");
    check_plan(&db, people_statements::FIND_SESSION, "sqlite_autoindex_sessions");
    check_plan(&db, people_statements::SESSIONS_OF, "sessions_person");
    check_plan(&db, people_statements::REMOVE_SESSIONS, "sessions_person");
    check_plan(&db, people_statements::PRUNE_SESSIONS, "sessions_expiry");
    for index in ["owner", "due", "idle", "stuck"] {
        check_plan(&db, statements::STATS, &format!("operations_{index}"));
    }
}
