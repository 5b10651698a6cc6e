//! Wire types of the director.

use std::collections::BTreeMap;

use http_client::{DriverError, shorten};
use serde::Deserialize;
use serde_json::Value;

use super::{DirectorRuntime, SYSTEM};

#[derive(Deserialize)]
pub(super) struct RuntimeBody {
    id: String,
    name: String,
    labels: Option<BTreeMap<String, Value>>,
    status: Option<StatusBody>,
}

#[derive(Deserialize)]
struct StatusBody {
    condition: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PageBody {
    pub(super) data: Vec<RuntimeBody>,
    pub(super) page_info: PageInfo,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PageInfo {
    pub(super) end_cursor: Option<String>,
    pub(super) has_next_page: bool,
}

impl TryFrom<RuntimeBody> for DirectorRuntime {
    type Error = DriverError;

    fn try_from(body: RuntimeBody) -> Result<Self, DriverError> {
        Ok(DirectorRuntime {
            id: SYSTEM.id(body.id)?,
            name: shorten(&body.name),
            labels: body.labels.unwrap_or_default(),
            condition: body.status.map(|status| shorten(&status.condition)),
        })
    }
}
