//! The database that the configuration names.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use engine::store::{SavedReader, SealedStore, Store, StoreError};
use engine::{AccessStore, Clock, PeopleStore, WallClock};
use secrecy::ExposeSecret;
use store::{PostgresReader, PostgresStore, SqliteReader, SqliteStore};

use crate::config;
use crate::output::note;
use crate::paths::DataDir;

/// How long a start waits for a database server, which may be starting at the same time.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_secs(1);

/// One database, seen as the engine sees it and as the APIs see it.
pub struct Database {
    pub store: Arc<dyn Store>,
    pub access: Arc<dyn AccessStore>,
    pub people: Arc<dyn PeopleStore>,
    pub sealed: Arc<dyn SealedStore>,
}

impl Database {
    fn of<S: Store + AccessStore + PeopleStore + SealedStore>(store: &Arc<S>) -> Database {
        Database {
            store: Arc::clone(store) as Arc<_>,
            access: Arc::clone(store) as Arc<_>,
            people: Arc::clone(store) as Arc<_>,
            sealed: Arc::clone(store) as Arc<_>,
        }
    }

    /// Opens the database and brings its schema up to date.
    pub async fn open(config: &config::Store) -> Result<Database> {
        match &config.database {
            config::Database::Sqlite(path) => Ok(Database::of(&open_file(path)?)),
            config::Database::Postgres(url) => {
                let connect = async || PostgresStore::connect(url.expose_secret(), config.connections).await;
                let store = patiently(connect).await.context("cannot open the database")?;
                Ok(Database::of(&store))
            }
        }
    }
}

/// One database that is only looked at: its schema stays as it is, also an older one.
pub enum DatabaseReader {
    Sqlite(SqliteReader),
    Postgres(Box<PostgresReader>),
}

impl DatabaseReader {
    pub async fn open(config: &config::Store) -> Result<DatabaseReader> {
        let reader = match &config.database {
            config::Database::Sqlite(path) => {
                let reader = SqliteReader::open(path);
                DatabaseReader::Sqlite(
                    reader.with_context(|| format!("cannot open the database {}", path.display()))?,
                )
            }
            config::Database::Postgres(url) => {
                let reader = PostgresReader::new(url.expose_secret());
                DatabaseReader::Postgres(Box::new(reader.context("cannot open the database")?))
            }
        };
        let look = async || reader.saved().unfinished(None, 0).await;
        patiently(look).await.context("cannot read the database")?;
        Ok(reader)
    }

    pub fn saved(&self) -> &dyn SavedReader {
        match self {
            DatabaseReader::Sqlite(reader) => reader,
            DatabaseReader::Postgres(reader) => &**reader,
        }
    }

    pub async fn shared(&self, name: &str) -> Result<Option<String>> {
        let shared = match self {
            DatabaseReader::Sqlite(reader) => reader.shared(name).await,
            DatabaseReader::Postgres(reader) => reader.shared(name).await,
        };
        shared.context("cannot read the database")
    }
}

/// Brings the schema up to date and says what there was to do.
pub async fn migrate(config: &config::Store) -> Result<String> {
    match &config.database {
        config::Database::Sqlite(path) => {
            let was_there = path.exists();
            open_file(path)?;
            let path = path.display();
            Ok(if was_there { format!("{path} is up to date") } else { format!("made {path}") })
        }
        config::Database::Postgres(url) => {
            let migrate = async || PostgresStore::migrate(url.expose_secret()).await;
            let applied = patiently(migrate).await.context("cannot migrate the database")?;
            Ok(match applied.last() {
                Some(last) => {
                    format!("applied {} migrations; the schema is at version {last}", applied.len())
                }
                None => "the database is up to date; there was nothing to do".to_owned(),
            })
        }
    }
}

fn open_file(path: &Path) -> Result<Arc<SqliteStore>> {
    if let Some(dir) = path.parent() {
        DataDir::new(dir).create()?;
    }
    SqliteStore::open(path).with_context(|| format!("cannot open the database {}", path.display()))
}

/// Tries again while there is no answer, but not for ever.
async fn patiently<T>(call: impl AsyncFn() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let give_up_at = WallClock.now().plus(PATIENCE);
    let mut has_told = false;
    loop {
        match call().await {
            Err(error @ StoreError::Unavailable(_)) if WallClock.now() < give_up_at => {
                if !std::mem::replace(&mut has_told, true) {
                    note(format!("{error}; trying again for {} seconds", PATIENCE.as_secs()));
                }
                WallClock.sleep(PAUSE).await;
            }
            other => return other,
        }
    }
}
