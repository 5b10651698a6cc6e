//! `GET /reservations`

use crate::model::record::LaunchRecord;
use crate::model::status::View;
use axum::Json;
use axum::extract::State;
use engine::Resource;
use engine::store::ResourceQuery;

use super::super::LaunchState;
use super::super::launches::find::listed;
use super::super::launches::list::{page, providers};
use super::super::paging::Paging;
use super::super::principal::TenantPrincipal;
use super::super::query::QueryParams;
use super::wire;
use server::http::Failure;

/// Lists launches, oldest first, as older clients are used to. `sort=-id` turns that round.
#[utoipa::path(
    get, path = "/reservations", tag = "reservations", operation_id = "getReservationsList",
    params(("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "100 without it."),
           ("offset" = Option<u32>, Query, minimum = 0, maximum = 1_000_000_000,
            description = "How many to leave out at the beginning."),
           ("sort" = Option<String>, Query, description = "`id` or `-id`.")),
    responses((status = OK, body = wire::ReservationList, description = "A page of reservations."))
)]
pub(in crate::api) async fn list_reservations(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    paging: Paging,
    asked: QueryParams,
) -> Result<Json<wire::ReservationList>, Failure> {
    let query = ResourceQuery {
        kind: LaunchRecord::KIND.to_owned(),
        tenant: Some(principal.owner.tenant()),
        labels: vec![("provider".to_owned(), providers(&principal, None)?)],
        newest_first: asked.is_newest_first()?,
        ..ResourceQuery::default()
    };
    let (rows, total) = page(&shared, query, &paging).await?;
    let views: Vec<View> = rows.iter().filter_map(listed).collect();
    let data = views.iter().map(wire::Reservation::from).collect();
    Ok(Json(wire::ReservationList { data, metadata: paging.metadata(total) }))
}
