//! Which instances a user wants to see. The API lists all of them, launch by launch; the rest is done here, with a
//! limit on how many are looked through for one page.

use super::super::LAUNCH;
use crate::api::inventory::list::{Inventory, InventoryItem};
use console::{ApiClient, PageError, path};
use serde::Deserialize;

/// How many launches the API goes through at a time, which is the most that it does.
const LOOKED_AT: usize = 100;
/// How often it is asked for one page of ours.
const LOOKS_MAX: usize = 10;
/// A page is full with so many instances.
const SHOWN: usize = 100;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Filters {
    pub(super) state: String,
    pub(super) region: String,
    pub(super) launch: String,
    pub(super) text: String,
    pub(super) cursor: String,
}

impl Filters {
    fn fits(&self, item: &InventoryItem) -> bool {
        let is = |wanted: &str, found: Option<&str>| {
            let wanted = wanted.trim();
            wanted.is_empty() || found.is_some_and(|found| found == wanted)
        };
        let launch = self.launch.trim();
        let number = item.reservation_id.to_string();
        let of_launch = launch.is_empty() || launch == number || launch == item.launch_id.to_string();
        let state = item.state.as_deref();
        let by_state = match self.state.as_str() {
            "there" => state.is_some_and(|state| !super::super::launches::view::is_gone(state)),
            wanted => is(wanted, state),
        };
        of_launch && by_state && is(&self.region, item.region.as_deref()) && self.has_text(item)
    }

    fn has_text(&self, item: &InventoryItem) -> bool {
        let wanted = self.text.trim().to_lowercase();
        let detail = &item.detail;
        let texts = [
            &item.instance_id,
            &item.name,
            &item.instance_type,
            &item.image_id,
            &item.source_id,
            &detail.public_ipv4,
            &detail.public_dns,
            &detail.private_ipv4,
        ];
        wanted.is_empty() || texts.into_iter().flatten().any(|text| text.to_lowercase().contains(&wanted))
    }
}

pub(super) struct FilteredInstances {
    pub(super) items: Vec<InventoryItem>,
    /// Where the next page begins.
    pub(super) next: Option<String>,
}

/// A page of instances that fit.
pub(super) async fn find(api: &ApiClient, filters: &Filters) -> Result<FilteredInstances, PageError> {
    let mut after = Some(filters.cursor.clone()).filter(|cursor| cursor.parse::<i64>().is_ok());
    let mut items = Vec::new();
    for _ in 0..LOOKS_MAX {
        let (limit, last) = (LOOKED_AT.to_string(), after.as_deref().unwrap_or(""));
        let query = path::query([("sort", "-launched_at"), ("limit", &*limit), ("after", last)]);
        let page: Inventory = api.get(&format!("{LAUNCH}/inventory{query}")).await?;
        items.extend(page.data.into_iter().filter(|item| filters.fits(item)));
        after = after_in(&page.next);
        if after.is_none() || items.len() >= SHOWN {
            break;
        }
    }
    Ok(FilteredInstances { items, next: after })
}

/// The last launch of the page, in the link to the next one.
fn after_in(next: &str) -> Option<String> {
    let (_, query) = next.split_once('?')?;
    let pair = query.split('&').find_map(|pair| pair.strip_prefix("after="))?;
    Some(pair.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn item() -> InventoryItem {
        serde_json::from_value(json!({
            "launch_id": "01a1e3e8-1cb7-727d-8e65-c6824062041d", "reservation_id": 7, "launch_state": "succeeded",
            "provider": "aws", "name": "Web", "source_id": "s", "region": "us-east-1", "instance_type": "t3.small",
            "image_id": "ami-1", "launched_at": "2026-01-01T00:00:00Z", "instance_id": "i-1", "state": "running",
            "detail": {"public_ipv4": "10.0.0.1"}, "live": true, "checked_at": null,
        }))
        .unwrap()
    }

    #[test]
    fn every_filter_can_let_in_and_keep_out() {
        let with = |change: fn(&mut Filters)| {
            let mut filters = Filters::default();
            change(&mut filters);
            filters.fits(&item())
        };
        assert!(with(|_| {}));
        assert!(with(|f| f.state = "running".into()) && !with(|f| f.state = "terminated".into()));
        assert!(with(|f| f.state = "there".into()));
        assert!(with(|f| f.region = "us-east-1".into()) && !with(|f| f.region = "eu-west-1".into()));
        assert!(with(|f| f.launch = "7".into()) && !with(|f| f.launch = "8".into()));
        assert!(with(|f| f.text = "web".into()) && with(|f| f.text = "10.0".into()));
        assert!(!with(|f| f.text = "db".into()));
    }

    #[test]
    fn the_next_page_is_found_in_its_link() {
        assert_eq!(
            after_in("/api/provisioning/v1/inventory?sort=-launched_at&after=12&limit=100").as_deref(),
            Some("12")
        );
        assert_eq!(after_in(""), None);
    }
}
