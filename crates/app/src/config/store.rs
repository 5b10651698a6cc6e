//! The settings of the database.

use std::path::PathBuf;

use ::config::Preset::{Is, Nothing};
use ::config::{FromNode, Period, SECOND, Section, SectionReader, Setting, TreeNode, ValueKind, set, text};
use secrecy::SecretString;

#[derive(Debug, Clone)]
pub struct Store {
    pub database: Database,
    pub connections: usize,
    pub lease: Period,
    pub poll: Period,
}

impl Section for Store {
    #[rustfmt::skip]
    const SETTINGS: &'static [Setting] = &[
        set("store.database_url", Nothing, ValueKind::Database,
            "The database. Without it: the SQLite file `engine.db` in the data directory. HOST may be several servers of \
             PostgreSQL with commas between them; the one that accepts writes is used. `sslmode` and `sslrootcert` mean what \
             they mean in libpq. It is never shown with its password."),
        set("store.connections", Is("4"), ValueKind::Whole(1, 8),
            "How many connections may save operations at the same time; the engine uses as many as give the highest \
             throughput."),
        set("store.lease", Is("5s"), ValueKind::Time(SECOND, Period::minutes(10)),
            "How long a replica that no longer answers keeps its operations before others adopt them."),
        set("store.poll", Is("2s"), ValueKind::Time(Period::millis(50), Period::minutes(1)),
            "How often the engine looks for due operations when nothing wakes it earlier."),
    ];

    fn read(settings: &mut SectionReader<'_>) -> Store {
        let data_dir: PathBuf = settings.get("data_dir");
        let database: Option<Database> = settings.get("store.database_url");
        Store {
            database: database.unwrap_or_else(|| Database::Sqlite(data_dir.join("engine.db"))),
            connections: settings.get("store.connections"),
            lease: settings.get("store.lease"),
            poll: settings.get("store.poll"),
        }
    }
}

/// Which database holds the operations.
#[derive(Debug, Clone)]
pub enum Database {
    Sqlite(PathBuf),
    /// The whole URL is secret, because it may contain a password.
    Postgres(SecretString),
}

impl FromNode for Database {
    fn read(node: &TreeNode, _: ValueKind) -> Result<Database, Box<TreeNode>> {
        text(node, |text| {
            let host = text.strip_prefix("postgres://").or_else(|| text.strip_prefix("postgresql://"));
            let path = text.strip_prefix("sqlite:").map(|path| path.strip_prefix("//").unwrap_or(path));
            match (host, path) {
                (Some(host), _) if !host.is_empty() => Some(Database::Postgres(SecretString::from(text))),
                (_, Some(path)) if !path.is_empty() => Some(Database::Sqlite(PathBuf::from(path))),
                _ => None,
            }
        })
    }
}
