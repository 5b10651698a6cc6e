//! `GET /inventory/{id}`

use crate::model::inventory;
use crate::workflows::termination;
use axum::Json;
use axum::extract::State;

use super::super::LaunchState;
use super::super::principal::TenantPrincipal;
use super::super::query::Name;
use super::list::InventoryItem;
use super::wire::{InventoryInstance, Termination};
use crate::api::error;
use server::http::Failure;

/// Shows one instance that was launched, with its state as the cloud has it now.
#[utoipa::path(
    get, path = "/inventory/{id}", tag = "inventory", operation_id = "get_instance",
    params(("id" = String, Path, description = "The id of the instance in its cloud.")),
    responses(
        (status = OK, body = InventoryInstance, description = "The instance."),
        (status = NOT_FOUND, description = "No launch of this organisation made it."),
    )
)]
pub(in crate::api) async fn get_instance(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    Name(id): Name,
) -> Result<Json<InventoryInstance>, Failure> {
    let (launches, engine, who) = (&shared.api_parts.launches, &shared.app.engine, &principal.owner);
    let instance = termination::find(engine, who, &id).await?;
    let item = inventory::one(launches, engine, who, instance.row(), &id).await?;
    let item = InventoryItem::from(item.ok_or_else(|| error::not_found("instance"))?);
    let standing = termination::standing(engine, &instance).await?;
    Ok(Json(InventoryInstance { item, termination: Termination::of(&instance, standing) }))
}
