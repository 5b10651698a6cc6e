//! Processes that are killed, at every save and at any moment, on both databases. What counts afterwards is
//! the ledger of the external system: nothing lost, nothing twice, nothing stuck.

mod boundaries;
pub(crate) mod check;
mod database;
mod failover;
pub(crate) mod launch;
mod own_workflow;
mod own_workflow_saves;
mod random;
mod runtimes;
mod serverless;
mod upgrades;
mod zombie;

use testing::private_postgres::{PrivatePostgres, PrivatePostgresOptions};

use crate::stage::DataDirectory;

/// A server that really syncs: what it acknowledged survives its own crash too.
fn durable_postgres() -> PrivatePostgres {
    let options = PrivatePostgresOptions { durable: true, ..PrivatePostgresOptions::default() };
    PrivatePostgres::start(&options).unwrap()
}

/// The place of one of several servers on the same database.
fn on(url: &str) -> DataDirectory {
    DataDirectory::new().env("PROVISION_ENGINE_STORE__DATABASE_URL", url)
}
