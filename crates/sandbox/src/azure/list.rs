//! Lists in pages. Each service shows its resources a little late, and the list of all resources later.

use serde_json::{Value, json};
use time::OffsetDateTime;

use super::call_error::ArmError;
use super::endpoint::{ArmReply, ArmRequest};
use super::resource::{ArmKind, ArmResource};
use super::world::AzureState;
use crate::delays::later;

const PAGE_ITEMS: usize = 100;

/// One page of a list, with the address of the next one.
pub(super) fn page(
    state: &AzureState,
    request: &ArmRequest<'_>,
    all: Vec<Value>,
) -> Result<ArmReply, ArmError> {
    let from: usize = match request.query.get("$skiptoken") {
        None => 0,
        Some(text) => text.parse().map_err(|_| ArmError::invalid("the $skiptoken is not valid"))?,
    };
    let most = state.controls.page_items.unwrap_or(PAGE_ITEMS);
    let count = all.len();
    let items: Vec<Value> = all.into_iter().skip(from).take(most).collect();
    let mut body = json!({"value": items});
    if from + most < count {
        let version = request.query.get("api-version").map(String::as_str).unwrap_or_default();
        let filter =
            request.query.get("$filter").map(|text| format!("&$filter={}", text.replace(' ', "%20")));
        body["nextLink"] = json!(format!(
            "{}{}?api-version={version}{}&$skiptoken={}",
            state.base_url,
            request.path,
            filter.unwrap_or_default(),
            from + most
        ));
    }
    Ok(ArmReply::new(200, body))
}

impl AzureState {
    pub(super) fn list(
        &self,
        subscription: &str,
        kind: ArmKind,
        group: Option<&str>,
        now: OffsetDateTime,
    ) -> Result<Vec<Value>, ArmError> {
        let lag_ms = if kind == ArmKind::Group { 0 } else { self.controls.delay_times.list_lag_ms };
        let found = self.visible(subscription, group, lag_ms, now)?;
        Ok(found.filter(|one| one.key.kind == kind).map(|one| self.view(one, None)).collect())
    }

    /// Without tags and properties, as the cache behind it has them.
    pub(super) fn all_resources(
        &self,
        subscription: &str,
        group: Option<&str>,
        now: OffsetDateTime,
    ) -> Result<Vec<Value>, ArmError> {
        let found = self.visible(subscription, group, self.controls.delay_times.resources_lag_ms, now)?;
        let body = |one: &ArmResource| json!({"id": one.id(), "name": one.name, "type": one.key.kind.path(), "location": one.location});
        Ok(found.filter(|one| one.key.kind != ArmKind::Group).map(body).collect())
    }

    fn visible<'a>(
        &'a self,
        subscription: &'a str,
        group: Option<&'a str>,
        lag_ms: u64,
        now: OffsetDateTime,
    ) -> Result<impl Iterator<Item = &'a ArmResource>, ArmError> {
        if let Some(group) = group {
            let is_group = |one: &ArmResource| one.key.kind == ArmKind::Group && one.key.group == group;
            if !self.resources.values().any(|one| one.key.subscription == subscription && is_group(one)) {
                return Err(ArmError::no_group(group));
            }
        }
        Ok(self.resources.values().filter(move |one| {
            one.key.subscription == subscription
                && group.is_none_or(|group| one.key.group == group)
                && later(one.created_at, lag_ms) <= now
        }))
    }
}
