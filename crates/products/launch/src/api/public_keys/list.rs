//! `GET /pubkeys`

use crate::model::public_keys;
use axum::Json;
use axum::extract::State;

use super::super::paging::Paging;
use super::super::principal::TenantPrincipal;
use super::super::query::QueryParams;
use super::super::{LaunchState, wire};
use server::http::Failure;

/// Lists the public keys of the organisation.
///
/// In the order of their ids, as older clients are used to. `sort=-id` turns that round.
#[utoipa::path(
    get, path = "/pubkeys", tag = "pubkeys", operation_id = "getPubkeyList",
    params(
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "100 without it."),
        ("offset" = Option<u32>, Query, minimum = 0, maximum = 1_000_000_000,
            description = "How many to leave out at the beginning."),
        ("sort" = Option<String>, Query, description = "`id` or `-id`."),
    ),
    responses((status = OK, body = wire::PublicKeyList, description = "A page of keys."))
)]
pub(in crate::api) async fn list_public_keys(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    paging: Paging,
    asked: QueryParams,
) -> Result<Json<wire::PublicKeyList>, Failure> {
    let (limit, offset) = paging.window();
    let newest_first = asked.is_newest_first()?;
    let page = public_keys::list(&shared.app.engine, &principal.owner, limit, offset, newest_first).await?;
    let data = page.keys.into_iter().map(wire::PublicKeyResponse::from).collect();
    Ok(Json(wire::PublicKeyList { data, metadata: paging.metadata(page.total) }))
}
