//! `GET /info/runtimes`

use axum::Json;
use axum::extract::State;
use axum::http::header::LINK;
use axum::response::{AppendHeaders, IntoResponse};

use super::Shared;
use super::{ExistingInstance, filter, show};
use crate::api::types;
use server::http::Failure;
use server::paging::cursor_after;
use server::query::Query;

/// Older clients know no pages, so that the first one is long.
const SIZE_MAX: u16 = 1000;

/// Runtimes as an older release of the broker listed them.
///
/// Where there is more, the header `Link` names the next page.
#[utoipa::path(
    get, path = "/info/runtimes", tag = "runtimes", operation_id = "info_runtimes",
    params(("cursor" = Option<String>, Query, description = "From the `Link` of the page before."),
           ("page" = Option<u32>, Query, description = "Counts from 1."),
           ("page_size" = Option<u16>, Query, description = "1 to 1000; 1000 without it.")),
    responses((status = OK, body = Vec<types::RuntimeInfo>, description = "One page.",
               headers(("link" = String, description = "`rel=\"next\"`, where there is more."))))
)]
pub(crate) async fn info_runtimes(
    State(app): State<Shared>,
    mut query: Query,
) -> Result<impl IntoResponse, Failure> {
    let mut wanted = filter::everything();
    let size = filter::page(&mut query, &mut wanted, SIZE_MAX)?;
    query.finish()?;
    wanted.counts = false;
    let page = app.engine.resources(&wanted).await?;
    let next = page.rows.get(size).and(page.rows.get(size - 1)).map(|last| cursor_after(last.number));
    let link = next.map(|next| format!("</info/runtimes?page_size={size}&cursor={next}>; rel=\"next\""));
    let found = page.rows.into_iter().take(size).filter_map(|row| ExistingInstance::read(row).ok());
    let all: Vec<types::RuntimeInfo> =
        found.map(|found| info(show::runtime(&found, Some(&app.catalog)))).collect();
    Ok((AppendHeaders(link.map(|link| (LINK, link))), Json(all)))
}

fn info(runtime: types::Runtime) -> types::RuntimeInfo {
    let types::RuntimeStatus { provisioning, deprovisioning, suspension, unsuspension, .. } = runtime.status;
    let newest = |operations: Option<types::RuntimeOperations>| operations.and_then(|mut all| all.data.pop());
    let brief = |operation: types::RuntimeOperation| {
        let types::RuntimeOperation { state, description, .. } = operation;
        types::RuntimeInfoOperation { state, description }
    };
    types::RuntimeInfo {
        runtime_id: runtime.runtime_id,
        service_instance_id: runtime.instance_id,
        global_account_id: runtime.global_account_id,
        subaccount_id: runtime.sub_account_id,
        service_class_id: runtime.service_class_id,
        service_class_name: runtime.service_class_name,
        service_plan_id: runtime.service_plan_id,
        service_plan_name: runtime.service_plan_name,
        status: types::RuntimeInfoStatus {
            created_at: runtime.status.created_at,
            updated_at: runtime.status.modified_at,
            deleted_at: runtime.status.deleted_at,
            provisioning: provisioning.or(newest(unsuspension)).map(brief),
            deprovisioning: deprovisioning.or(newest(suspension)).map(brief),
        },
    }
}
