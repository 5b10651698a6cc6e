//! The tables, and how they come to be.

use engine::store::StoreError;
use tokio_postgres::types::Type;

use super::connection::{ConnectionRole, SessionOptions};
use super::failure::fault;
use super::statements::{BEGIN, COMMIT};
use super::target::DatabaseTarget;
use crate::{rows, rules};

/// Every change of the schema, oldest first.
const MIGRATIONS: [(u32, &str); 8] = [
    (1, include_str!("../../migrations/postgres/0001_init.sql")),
    (2, include_str!("../../migrations/postgres/0002_resources.sql")),
    (3, include_str!("../../migrations/postgres/0003_people.sql")),
    (4, include_str!("../../migrations/postgres/0004_principals.sql")),
    (5, include_str!("../../migrations/postgres/0005_control_requests.sql")),
    (6, include_str!("../../migrations/postgres/0006_drafts.sql")),
    (7, include_str!("../../migrations/postgres/0007_names_and_grants.sql")),
    (8, include_str!("../../migrations/postgres/0008_queue_numbers.sql")),
];

/// Two processes that start at the same moment change the schema one after the other.
const LOCK: &str = "select pg_advisory_xact_lock(hashtext('provision_engine schema'))";
const MAKE_VERSIONS: &str = "
    create table if not exists schema_version (
        version integer primary key, applied_at timestamptz not null default now()
    )";
const LAST_VERSION: &str = "select coalesce(max(version), 0)::int8 from schema_version";
const ADD_VERSION: &str = "insert into schema_version (version) values ($1)";

const MIGRATOR: ConnectionRole = ConnectionRole { settings: "set statement_timeout = 0", statements: &[] };

/// Brings the schema up to date, all or nothing. Answers which versions were missing.
pub(super) async fn migrate(target: &DatabaseTarget) -> Result<Vec<u32>, StoreError> {
    let session = SessionOptions::open(target, MIGRATOR, None).await?;
    // An error ends the session, and with it the transaction.
    session.say(BEGIN).await.map_err(fault)?;
    session.say(LOCK).await.map_err(fault)?;
    session.say(MAKE_VERSIONS).await.map_err(fault)?;
    let found = session.query_text(LAST_VERSION, &[]).await.map_err(fault)?;
    let found = found.first().map_or(0, |row| rows::unsigned(row.get(0)));
    let mut applied = Vec::new();
    for (version, migration) in rules::missing(&MIGRATIONS, found)? {
        session.say(migration).await.map_err(fault)?;
        let number = i32::try_from(*version).unwrap_or(i32::MAX);
        session.query_text(ADD_VERSION, &[(&number, Type::INT4)]).await.map_err(fault)?;
        applied.push(*version);
    }
    session.say(COMMIT).await.map_err(fault)?;
    Ok(applied)
}
