//! Where each store lives during a test.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use engine::store::{MemoryStore, SealedStore, Store};
use engine::{AccessStore, PeopleStore};
use store::{PostgresStore, SqliteStore};
use tempfile::TempDir;
use testing::private_postgres::{PrivatePostgres, PrivatePostgresOptions};
use tokio::sync::{Semaphore, SemaphorePermit};

/// A store with all of its sides.
pub(crate) trait FullStore: Store + AccessStore + PeopleStore + SealedStore {}

impl<S: Store + AccessStore + PeopleStore + SealedStore> FullStore for S {}

pub(crate) struct StoreFixture {
    pub(crate) store: Arc<dyn FullStore>,
    _dir: Option<TempDir>,
    _room: Option<SemaphorePermit<'static>>,
}

pub(crate) async fn memory() -> StoreFixture {
    StoreFixture { store: Arc::new(MemoryStore::new()), _dir: None, _room: None }
}

pub(crate) async fn sqlite() -> StoreFixture {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path().join("operations.db")).unwrap();
    StoreFixture { store, _dir: Some(dir), _room: None }
}

pub(crate) async fn postgres() -> StoreFixture {
    let room = ROOM.acquire().await.unwrap();
    let store = PostgresStore::connect(&new_database(), COMMITTERS).await.unwrap();
    StoreFixture { store, _dir: None, _room: Some(room) }
}

pub(crate) const COMMITTERS: usize = 4;
/// The server has only so many connections, whatever the machine has of cores.
static ROOM: Semaphore = Semaphore::const_new(12);
static SERVER: OnceLock<PrivatePostgres> = OnceLock::new();

/// One server for the whole run. Without `PostgreSQL` nothing would be tested, and that is a failure.
pub(crate) fn server() -> &'static PrivatePostgres {
    SERVER.get_or_init(|| {
        PrivatePostgres::start(&PrivatePostgresOptions::default()).unwrap_or_else(|error| panic!("{error}"))
    })
}

/// The address of an empty database.
pub(crate) fn new_database() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("test_{}", COUNT.fetch_add(1, Ordering::Relaxed));
    server().create_database(&name).unwrap();
    server().url(&name)
}
