//! `GET /systems`

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use engine::Engine;
use futures_util::future::join_all;
use tokio::time::timeout;

use super::{Diagnostics, System};
use crate::app_state::Shared;
use crate::http::Failure;
use crate::query::Query;
use crate::wire::{self, SystemState, ToWire};

/// What has not answered within this time does not answer.
const LIMIT: Duration = Duration::from_secs(2);
/// Answers are good for this long.
const REMEMBERED: Duration = Duration::from_secs(5);
/// Longer details say nothing more.
const DETAIL_CHARS_MAX: usize = 300;

/// Whether the systems outside answer.
///
/// All are asked at once, and an answer is remembered for five seconds.
#[utoipa::path(
    get, path = "/systems", tag = "service", operation_id = "list_systems",
    responses((status = OK, body = wire::SystemList, description = "How each system is."))
)]
pub(crate) async fn list_systems(
    State(app): State<Shared>,
    query: Query,
) -> Result<Json<wire::SystemList>, Failure> {
    query.finish()?;
    Ok(Json(wire::SystemList { items: app.diagnostics.look(&app.engine).await }))
}

impl Diagnostics {
    /// Requests that come meanwhile get the same answers.
    async fn look(&self, engine: &Engine) -> Vec<wire::System> {
        let mut looked = self.looked.lock().await;
        if let Some((at, known)) = looked.as_ref()
            && engine.now().since(*at) < REMEMBERED
        {
            return known.clone();
        }
        let found = join_all(self.systems.iter().map(|system| ask(engine, system))).await;
        *looked = Some((engine.now(), found.clone()));
        found
    }
}

async fn ask(engine: &Engine, system: &Arc<dyn System>) -> wire::System {
    let address = system.address().map(str::to_owned);
    let (state, detail) = match &address {
        None => (SystemState::NotConfigured, None),
        Some(_) => match timeout(LIMIT, system.look()).await {
            Ok(Ok(detail)) => (SystemState::Ok, Some(detail)),
            Ok(Err(detail)) => (SystemState::Failing, Some(detail)),
            Err(_) => {
                (SystemState::Failing, Some(format!("it has not answered within {} s", LIMIT.as_secs())))
            }
        },
    };
    wire::System {
        name: system.name().to_owned(),
        address,
        state,
        detail: detail.map(|detail| detail.chars().take(DETAIL_CHARS_MAX).collect()),
        checked_at: engine.now().to_wire(),
    }
}
