//! Which release of OpenNebula the sandbox is.

use std::sync::Arc;

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};

use super::world::Nebula;
use crate::answer::{CallError, JsonBody};

/// Where the two differ, oned and OneFlow answer by this.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Release {
    /// 6.8.3, with OneFlow on Thin.
    #[default]
    #[serde(rename = "6.8")]
    Six,
    /// 7.4.0, with OneFlow on Puma.
    #[serde(rename = "7.4")]
    Seven,
}

impl Release {
    pub(super) fn version(self) -> &'static str {
        match self {
            Release::Six => "6.8.3",
            Release::Seven => "7.4.0",
        }
    }
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReleaseBody {
    release: Release,
}

pub(super) fn routes(nebula: Arc<Nebula>) -> Router {
    Router::new().route("/opennebula/release", get(show).put(change).post(change)).with_state(nebula)
}

async fn show(State(nebula): State<Arc<Nebula>>) -> Json<ReleaseBody> {
    Json(ReleaseBody { release: nebula.nebula_state().release })
}

/// What is stored stays as it is, as in an upgrade.
async fn change(
    State(nebula): State<Arc<Nebula>>,
    JsonBody(body): JsonBody<ReleaseBody>,
) -> Result<Json<ReleaseBody>, CallError> {
    nebula.nebula_state().release = body.release;
    Ok(Json(body))
}
