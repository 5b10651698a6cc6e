//! A database to measure.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use engine::store::Store;
use store::{PostgresStore, SqliteStore};
use tempfile::TempDir;
use testing::private_postgres::{PrivatePostgres, PrivatePostgresOptions};
use tokio_postgres::NoTls;

use super::cpu;

pub(super) enum BenchDatabaseKind {
    Sqlite {
        dir: TempDir,
    },
    Postgres {
        server: Option<PrivatePostgres>,
        /// Of a server on this machine that we started.
        server_pid: Option<u32>,
        url: String,
    },
}

/// Committing connections of the engine, the default of its configuration.
const COMMITTERS: usize = 4;

impl BenchDatabaseKind {
    pub(super) fn sqlite() -> Result<BenchDatabaseKind> {
        Ok(BenchDatabaseKind::Sqlite { dir: TempDir::with_prefix("provision-engine-bench-")? })
    }

    pub(super) async fn postgres(url: Option<&str>) -> Result<BenchDatabaseKind> {
        if let Some(url) = url {
            return Ok(BenchDatabaseKind::Postgres { server: None, server_pid: None, url: url.to_owned() });
        }
        let server = tokio::task::spawn_blocking(|| {
            let setting = |name: &str, value: &str| (name.to_owned(), value.to_owned());
            PrivatePostgres::start(&PrivatePostgresOptions {
                durable: true,
                shared_buffers: "1GB".into(),
                settings: vec![setting("max_wal_size", "4GB"), setting("checkpoint_timeout", "15min")],
                ..PrivatePostgresOptions::default()
            })
        })
        .await??;
        server.create_database("bench")?;
        let (url, server_pid) = (server.url("bench"), server.pid());
        Ok(BenchDatabaseKind::Postgres { server: Some(server), server_pid, url })
    }

    /// An empty database of the same kind. With `--database-url` it is the same one.
    pub(super) fn another(&self, name: &str) -> Result<BenchDatabaseKind> {
        match self {
            BenchDatabaseKind::Sqlite { .. } => BenchDatabaseKind::sqlite(),
            BenchDatabaseKind::Postgres { server: None, server_pid, url } => {
                Ok(BenchDatabaseKind::Postgres { server: None, server_pid: *server_pid, url: url.clone() })
            }
            BenchDatabaseKind::Postgres { server: Some(server), server_pid, .. } => {
                server.create_database(name)?;
                let (server_pid, url) = (*server_pid, server.url(name));
                Ok(BenchDatabaseKind::Postgres { server: None, server_pid, url })
            }
        }
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            BenchDatabaseKind::Sqlite { .. } => "sqlite",
            BenchDatabaseKind::Postgres { .. } => "postgres",
        }
    }

    pub(super) fn is_private(&self) -> bool {
        matches!(self, BenchDatabaseKind::Sqlite { .. } | BenchDatabaseKind::Postgres { server: Some(_), .. })
    }

    pub(super) fn sqlite_file(&self) -> Option<PathBuf> {
        match self {
            BenchDatabaseKind::Sqlite { dir } => Some(dir.path().join("engine.db")),
            BenchDatabaseKind::Postgres { .. } => None,
        }
    }

    pub(super) fn url(&self) -> Option<&str> {
        match self {
            BenchDatabaseKind::Sqlite { .. } => None,
            BenchDatabaseKind::Postgres { url, .. } => Some(url),
        }
    }

    pub(super) async fn open(&self) -> Result<Arc<dyn Store>> {
        open(self.sqlite_file().as_deref(), self.url()).await
    }

    /// A plain connection beside the engine's own.
    pub(super) async fn connect(&self) -> Result<tokio_postgres::Client> {
        let url = self.url().context("only PostgreSQL is connected to")?;
        let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }

    /// How much of the processors this process has used so far, and the server of the database where it is ours.
    pub(super) fn cpu_used(&self) -> Result<Duration> {
        match self {
            BenchDatabaseKind::Sqlite { .. } => cpu::used(None),
            BenchDatabaseKind::Postgres { server_pid, .. } => cpu::used(*server_pid),
        }
    }

    /// A number that grows with every byte that the database writes for its durability.
    pub(super) async fn bytes_written(&self) -> Result<u64> {
        match self {
            BenchDatabaseKind::Sqlite { dir } => {
                let size = |name: &str| dir.path().join(name).metadata().map_or(0, |meta| meta.len());
                Ok(size("engine.db") + size("engine.db-wal"))
            }
            BenchDatabaseKind::Postgres { .. } => {
                let row = self
                    .connect()
                    .await?
                    .query_one("select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::int8", &[])
                    .await?;
                Ok(u64::try_from(row.get::<_, i64>(0)).unwrap_or(0))
            }
        }
    }
}

pub(super) async fn open(file: Option<&std::path::Path>, url: Option<&str>) -> Result<Arc<dyn Store>> {
    match (file, url) {
        (Some(file), _) => Ok(SqliteStore::open(file)?),
        (None, Some(url)) => Ok(PostgresStore::connect(url, COMMITTERS).await?),
        (None, None) => anyhow::bail!("neither a file nor a URL was given"),
    }
}
