//! Who knows which operations go on: the server, or the database where no server runs.

use anyhow::{Context, Result};
use doors::wire::ListQuery;
use engine::store::{Query, StoreError};
use engine::{Engine, OperationId, Phase};
use uuid::Uuid;
use workflows::serverless::orphans::Orphan;

use crate::cli::Global;
use crate::client::{Address, CallError, Client};
use crate::compose::{Database, looker};
use crate::config::Config;

pub(super) enum Holders {
    Server(Client),
    Database(Engine),
}

impl Holders {
    pub(super) async fn find(global: &Global, config: &Config) -> Result<Holders> {
        let client = Client::new(Address::find(global)?)?;
        let is_named = global.server.as_deref().is_some_and(|server| !server.is_empty());
        match client.list(&ListQuery { limit: Some(1), ..ListQuery::default() }).await {
            Ok(_) => Ok(Holders::Server(client)),
            // What is not over goes on with the next start.
            Err(CallError::Unreachable { .. }) if !is_named => {
                Ok(Holders::Database(looker(Database::open(&config.store).await?)))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the operation that made it, or one on the same runtime, is not over yet.
    pub(super) async fn hold(&self, orphan: &Orphan) -> Result<bool> {
        // What carries a mark that we cannot read is not ours to end.
        let Ok(maker) = orphan.operation.parse::<Uuid>() else { return Ok(true) };
        match self {
            Holders::Server(client) => of_server(client, maker, &orphan.resource).await,
            Holders::Database(engine) => {
                of_database(engine, maker, &orphan.resource).await.context("cannot read the database")
            }
        }
    }
}

async fn of_server(client: &Client, maker: Uuid, resource: &str) -> Result<bool> {
    match client.show(maker).await {
        Ok(detail) if !detail.operation.phase.is_final() => return Ok(true),
        Ok(_) => {}
        Err(CallError::Refused(refusal)) if refusal.problem.status == 404 => {}
        Err(error) => return Err(error.into()),
    }
    let phases: Vec<&str> = going_on().map(Phase::as_str).collect();
    let (resource, phase) = (Some(resource.to_owned()), Some(phases.join(",")));
    let page = client.list(&ListQuery { resource, phase, limit: Some(1), ..ListQuery::default() }).await?;
    Ok(!page.items.is_empty())
}

async fn of_database(engine: &Engine, maker: Uuid, resource: &str) -> Result<bool, StoreError> {
    let maker = engine.inspect(OperationId(maker)).await?;
    if maker.is_some_and(|maker| !maker.shown.summary.phase.is_final()) {
        return Ok(true);
    }
    let query = Query {
        resource: Some(resource.to_owned()),
        phases: going_on().collect(),
        limit: 1,
        ..Query::default()
    };
    Ok(!engine.list(&query).await?.is_empty())
}

/// Every phase in which an operation is not over.
fn going_on() -> impl Iterator<Item = Phase> {
    Phase::ALL.into_iter().filter(|phase| !phase.is_final())
}
