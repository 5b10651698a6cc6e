//! Finds unfinished operations: through the server, or in the database where no server runs.

use crate::model::orphans::{Maker, Orphan};
use anyhow::{Context, Result};
use api::client::CallError;
use api::types::ListQuery;
use engine::secret::SharedRing;
use engine::store::{OperationQuery, StoreError};
use engine::{Engine, OperationId, Phase};
use tracing::warn;
use uuid::Uuid;

use app::cli::Global;
use app::client::PlatformClient;
use app::compose::{Database, opener};
use app::config::Config;
use app::key_file::KeyFile;

pub(super) struct Holders {
    known_by: KnownBy,
    /// Opens the labels of documents. Without it nothing with a label is cleaned.
    ring: Option<SharedRing>,
}

enum KnownBy {
    Server(PlatformClient),
    Database(Engine),
}

/// The operation that made something, and whether it or another one on the same runtime is not over yet.
struct DocumentState {
    maker: Option<Maker>,
    is_held: bool,
}

impl Holders {
    pub(super) async fn find(global: &Global, config: &Config) -> Result<Holders> {
        let client = PlatformClient::find(global)?;
        let is_named = global.server.as_deref().is_some_and(|server| !server.is_empty());
        let known_by = match client.list(&ListQuery { limit: Some(1), ..ListQuery::default() }).await {
            Ok(_) => KnownBy::Server(client),
            // What is not over goes on with the next start.
            Err(CallError::Unreachable { .. }) if !is_named => {
                KnownBy::Database(global.app.looker(Database::open(&config.store).await?.store))
            }
            Err(error) => return Err(error.into()),
        };
        let ring = KeyFile::new(&config.secrets.key_ring).read().unwrap_or_else(|error| {
            warn!("orphans are only reported, their labels cannot be checked: {error:#}");
            None
        });
        Ok(Holders { known_by, ring: ring.map(SharedRing::new) })
    }

    /// Whether an operation still works on it. If not, it is checked against the one that made it.
    pub(super) async fn hold(&self, orphan: &mut Orphan) -> Result<bool> {
        // What carries a mark that we cannot read is not ours to end.
        let Ok(maker) = orphan.operation.parse::<Uuid>() else { return Ok(true) };
        let standing = match &self.known_by {
            KnownBy::Server(client) => of_server(client, maker, &orphan.resource).await?,
            KnownBy::Database(engine) => {
                of_database(engine, maker, &orphan.resource).await.context("cannot read the database")?
            }
        };
        if !standing.is_held {
            let maker = standing.maker.as_ref();
            orphan.check(maker, |seal| {
                let maker = maker?;
                opener(self.ring.as_ref()?, &maker.tenant, maker.resource.as_deref()?).open(seal).ok()
            });
        }
        Ok(standing.is_held)
    }
}

async fn of_server(client: &PlatformClient, maker: Uuid, resource: &str) -> Result<DocumentState> {
    let maker = match client.show(maker).await {
        Ok(detail) if !detail.operation.phase.is_final() => {
            return Ok(DocumentState { maker: None, is_held: true });
        }
        Ok(detail) => Some(Maker {
            workflow: detail.operation.workflow,
            tenant: detail.operation.tenant,
            resource: detail.operation.resource,
            state: detail.state,
        }),
        Err(error) if error.status() == Some(404) => None,
        Err(error) => return Err(error.into()),
    };
    let phases: Vec<&str> = going_on().map(Phase::as_str).collect();
    let (resource, phase) = (Some(resource.to_owned()), Some(phases.join(",")));
    let page = client.list(&ListQuery { resource, phase, limit: Some(1), ..ListQuery::default() }).await?;
    Ok(DocumentState { maker, is_held: !page.items.is_empty() })
}

async fn of_database(engine: &Engine, maker: Uuid, resource: &str) -> Result<DocumentState, StoreError> {
    let found = engine.inspect(OperationId(maker)).await?;
    if found.as_ref().is_some_and(|found| !found.shown.summary.phase.is_final()) {
        return Ok(DocumentState { maker: None, is_held: true });
    }
    let query = OperationQuery {
        resource: Some(resource.to_owned()),
        phases: going_on().collect(),
        limit: 1,
        ..OperationQuery::default()
    };
    let is_held = !engine.list(&query).await?.is_empty();
    Ok(DocumentState { maker: found.map(Maker::of), is_held })
}

/// Every phase in which an operation is not over.
fn going_on() -> impl Iterator<Item = Phase> {
    Phase::ALL.into_iter().filter(|phase| !phase.is_final())
}
