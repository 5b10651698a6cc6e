//! The whole program on a database that is measured: engine, sandbox and open APIs, with a platform in front.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use engine::Role;
use server::Meter;
use tempfile::TempDir;
use uuid::Uuid;

use super::target::BenchDatabaseKind;
use provision_engine::ComposedEngine;
use provision_engine::Config;
use provision_engine::platform::Platform;

/// A database, and the directory with its keys.
pub(super) struct BenchDatabase {
    pub(super) target: BenchDatabaseKind,
    dir: TempDir,
}

impl BenchDatabase {
    pub(super) fn beside(target: &BenchDatabaseKind, name: &str) -> Result<BenchDatabase> {
        Ok(BenchDatabase {
            target: target.another(name)?,
            dir: TempDir::with_prefix("provision-engine-bench-")?,
        })
    }

    pub(super) fn dir(&self) -> Result<&str> {
        self.dir.path().to_str().context("the temporary directory has no readable name")
    }

    pub(super) async fn bench_server(&self) -> Result<BenchServer> {
        BenchServer::open(self.dir()?, self.target.sqlite_file().as_deref(), self.target.url(), &[]).await
    }
}

/// Its engine is not started yet.
pub(super) struct BenchServer {
    pub(super) test_engine: ComposedEngine,
    pub(super) platform: Arc<Platform>,
    pub(super) config: Config,
    pub(super) meter: Arc<Meter>,
}

impl BenchServer {
    /// No file and no environment may lead this to a real external system. `more` are further settings.
    pub(super) async fn open(
        dir: &str,
        file: Option<&Path>,
        url: Option<&str>,
        more: &[(&str, &str)],
    ) -> Result<BenchServer> {
        let database = match (file, url) {
            (Some(file), _) => format!("sqlite:{}", file.display()),
            (None, url) => url.context("neither a file nor a URL was given")?.to_owned(),
        };
        let flags = [
            ("data_dir", dir),
            ("store.database_url", &database),
            ("sandbox.enabled", "true"),
            ("log.level", "off"),
            ("launch.service_identities", "{\"*\": {account_number: \"1\"}}"),
        ];
        let flags: Vec<_> =
            flags.iter().chain(more).map(|(path, text)| (String::from(*path), String::from(*text))).collect();
        let app = provision_engine::app();
        let (config, _) = app.load(Some(Path::new("/dev/null")), std::iter::empty(), &flags)?;
        let meter = Arc::new(Meter::new());
        let test_engine = ComposedEngine::open(&app, &config, &meter).await?;
        let name = format!("bench-{}", Uuid::now_v7().simple());
        let platform = Platform::open(&test_engine, &config, &meter, &name, Role::Admin).await?;
        Ok(BenchServer { test_engine, platform: Arc::new(platform), config, meter })
    }

    pub(super) async fn start(&self) -> Result<()> {
        self.test_engine.engine.start(None).await.context("cannot start the engine")?;
        Ok(())
    }

    pub(super) async fn close(self) {
        drop(self.platform);
        self.test_engine.engine.stop(Duration::from_secs(5)).await;
        if let Some(sandbox) = self.test_engine.sandbox {
            sandbox.stop().await;
        }
    }
}
