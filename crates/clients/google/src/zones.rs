//! The zones of a project. A launch runs in a zone, which is our region.

use cloud::{CloudAccount, CloudError};
use serde::Deserialize;

use crate::Google;
use crate::call::Call;
use crate::paths::project;

#[derive(Deserialize)]
pub(super) struct Zone {
    name: String,
    #[serde(default)]
    status: String,
}

impl Zone {
    pub(super) fn is_up(&self) -> bool {
        self.status == "UP"
    }
}

pub(super) async fn zones(google: &Google, place: &CloudAccount<'_>) -> Result<Vec<String>, CloudError> {
    let zones: Vec<Zone> =
        google.pages(place, Call::get(format!("projects/{}/zones", project(place)?))).await?;
    let mut names: Vec<String> = zones.into_iter().filter(Zone::is_up).map(|zone| zone.name).collect();
    names.sort();
    Ok(names)
}
