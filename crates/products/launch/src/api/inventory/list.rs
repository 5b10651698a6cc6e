//! `GET /inventory`

use crate::model::inventory::{self, Item, LIMIT_MAX, PageQuery};
use axum::Json;
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, LINK};
use axum::response::{IntoResponse, Response};
use engine::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::super::launches::find::provider;
use super::super::principal::TenantPrincipal;
use super::super::query::QueryParams;
use super::super::types::{Instance, InstanceDetail};
use super::super::{BASE, LaunchState};
use crate::api::error;
use crate::csv;
use server::http::Failure;

/// A page of the inventory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Inventory {
    pub data: Vec<InventoryItem>,
    /// The next page; empty on the last one.
    pub next: String,
}

/// An instance that was launched, or a launch that has none yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InventoryItem {
    pub launch_id: uuid::Uuid,
    pub reservation_id: i64,
    /// The state of the launch.
    pub launch_state: String,
    pub provider: String,
    pub name: Option<String>,
    pub source_id: Option<String>,
    pub region: Option<String>,
    pub instance_type: Option<String>,
    pub image_id: Option<String>,
    #[schema(value_type = String)]
    pub launched_at: Timestamp,
    /// Null while the launch has made none.
    pub instance_id: Option<String>,
    /// The state of the instance.
    pub state: Option<String>,
    pub detail: InstanceDetail,
    /// The cloud itself said so a moment ago.
    pub live: bool,
    #[schema(value_type = Option<String>)]
    pub checked_at: Option<Timestamp>,
}

impl From<Item> for InventoryItem {
    fn from(item: Item) -> InventoryItem {
        let seen = item.instance;
        let instance = seen.as_ref().map(|seen| Instance::from(&seen.instance));
        InventoryItem {
            launch_id: item.launch,
            reservation_id: item.number,
            launch_state: item.stage.as_str().to_owned(),
            provider: item.provider.to_string(),
            name: item.name,
            source_id: item.source_id,
            region: item.region,
            instance_type: item.instance_type,
            image_id: item.image,
            launched_at: item.created_at,
            instance_id: instance.as_ref().map(|instance| instance.instance_id.clone()),
            state: instance.as_ref().map(|instance| instance.state.clone()),
            detail: instance.map(|instance| instance.detail).unwrap_or_default(),
            live: seen.as_ref().is_some_and(|seen| seen.live),
            checked_at: seen.map(|seen| seen.checked_at),
        }
    }
}

/// Lists every instance that was ever launched, with its state as the cloud has it now, newest first, or oldest first
/// with `sort=launched_at`.
///
/// Launches under way are among them where their profile says so.
#[utoipa::path(
    get, path = "/inventory", tag = "inventory", operation_id = "list_inventory",
    params(("after" = Option<i64>, Query, description = "The number of the last launch of the page before."),
           ("sort" = Option<String>, Query, description = "`-launched_at` or `launched_at`. Without it the newest come first, and what comes after a launch is in the order of `launched_at`, as in links of older releases."),
           ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "How many launches a page goes through."),
           ("provider" = Option<String>, Query, description = "Only instances of `aws`, `azure` or `gcp`."),
           ("format" = Option<String>, Query, description = "`json` or `csv`.")),
    responses((status = OK, body = Inventory, description = "A page.",
               headers(("Link" = String, description = "The next page of a table, where there is one."))))
)]
pub(in crate::api) async fn list_inventory(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    asked: QueryParams,
) -> Result<Response, Failure> {
    let number = |name: &str| -> Result<Option<i64>, Failure> {
        let text = asked.text(name)?;
        let read = text.map(str::parse::<i64>).transpose();
        read.map_err(|_| error::invalid(name, "it must be a whole number"))
    };
    let after = number("after")?;
    let limit = number("limit")?.and_then(|limit| usize::try_from(limit).ok()).filter(|limit| *limit > 0);
    let limit = limit.unwrap_or(LIMIT_MAX).min(LIMIT_MAX);
    let provider = asked.text("provider")?.map(|text| provider("provider", text)).transpose()?;
    let (launches, engine) = (&shared.api_parts.launches, &shared.app.engine);
    let is_csv = match asked.text("format")? {
        Some("csv") => true,
        None | Some("json") => false,
        Some(_) => return Err(error::invalid("format", "it must be json or csv")),
    };
    let newest_first = match asked.text("sort")? {
        Some("-launched_at") => true,
        Some("launched_at") => false,
        // Links of older releases have no `sort`.
        None => after.is_none(),
        Some(_) => return Err(error::invalid("sort", "it must be launched_at or -launched_at")),
    };
    let wanted = PageQuery { provider, newest_first, after, limit };
    let page = inventory::page(launches, engine, &principal.owner, wanted).await?;
    let data: Vec<InventoryItem> = page.items.into_iter().map(InventoryItem::from).collect();
    let kept = provider.map(|provider| format!("&provider={provider}")).unwrap_or_default();
    let sort = if newest_first { "-launched_at" } else { "launched_at" };
    let next = page.next.map(|last| format!("{BASE}/inventory?sort={sort}&after={last}&limit={limit}{kept}"));
    if !is_csv {
        return Ok(Json(Inventory { data, next: next.unwrap_or_default() }).into_response());
    }
    // A table has no place for it.
    let link = next.map(|next| [(LINK, format!("<{next}&format=csv>; rel=\"next\""))]);
    Ok(([(CONTENT_TYPE, "text/csv; charset=utf-8")], link, table(&data)).into_response())
}

const COLUMNS: [&str; 10] = [
    "launch",
    "reservation",
    "instance",
    "state",
    "provider",
    "region",
    "type",
    "name",
    "public_ipv4",
    "public_dns",
];

fn table(items: &[InventoryItem]) -> String {
    let rows = items.iter().map(|item| {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        vec![
            item.launch_id.to_string(),
            item.reservation_id.to_string(),
            text(&item.instance_id),
            text(&item.state),
            item.provider.clone(),
            text(&item.region),
            text(&item.instance_type),
            text(&item.name),
            text(&item.detail.public_ipv4),
            text(&item.detail.public_dns),
        ]
    });
    csv::write(&COLUMNS, rows)
}
