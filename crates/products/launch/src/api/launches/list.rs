//! `GET /launches`

use crate::model::cloud::ProviderKind;
use crate::model::record::LaunchRecord;
use crate::model::status::View;
use axum::Json;
use axum::extract::State;
use engine::Resource;
use engine::store::ResourceQuery;

use super::super::LaunchState;
use super::super::paging::Paging;
use super::super::principal::TenantPrincipal;
use super::super::query::QueryParams;
use super::super::rights::{RESERVATION, Verb};
use super::find::listed;
use crate::api::error;
use crate::api::types;
use server::http::Failure;

const STATES: [&str; 4] = ["active", "succeeded", "failed", "dirty"];

/// Lists launches, newest first.
#[utoipa::path(
    get, path = "/launches", tag = "launches", operation_id = "list_launches",
    params(("state" = Option<String>, Query, description = "`active`, `succeeded`, `failed` or `dirty`."),
           ("provider" = Option<String>, Query, description = "Such as `aws`."),
           ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "100 without it."),
           ("offset" = Option<u32>, Query, minimum = 0, maximum = 1_000_000_000,
            description = "How many to leave out at the beginning.")),
    responses((status = OK, body = types::LaunchList, description = "A page of launches."))
)]
pub(in crate::api) async fn list_launches(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    paging: Paging,
    asked: QueryParams,
) -> Result<Json<types::LaunchList>, Failure> {
    let mut labels = Vec::new();
    if let Some(state) = asked.text("state")? {
        if !STATES.contains(&state) {
            return Err(error::invalid("state", format!("it must be one of {}", STATES.join(", "))));
        }
        labels.push(("state".to_owned(), vec![state.to_owned()]));
    }
    labels.push(("provider".to_owned(), providers(&principal, asked.text("provider")?)?));
    let query = ResourceQuery {
        kind: LaunchRecord::KIND.to_owned(),
        tenant: Some(principal.owner.tenant()),
        labels,
        newest_first: true,
        ..ResourceQuery::default()
    };
    let (rows, total) = page(&shared, query, &paging).await?;
    let views: Vec<View> = rows.iter().filter_map(listed).collect();
    let data = views.iter().map(types::Launch::from).collect();
    Ok(Json(types::LaunchList { data, metadata: paging.metadata(total) }))
}

/// Those whose launches the caller may read, and of these the one that was asked for.
pub(in crate::api) fn providers(
    principal: &TenantPrincipal,
    asked: Option<&str>,
) -> Result<Vec<String>, Failure> {
    let asked = asked.map(str::parse::<ProviderKind>).transpose();
    let asked = asked.map_err(|error| error::invalid("provider", error))?;
    if let Some(provider) = asked {
        principal.must(&format!("{RESERVATION}.{provider}"), Verb::Read)?;
    }
    let is_wanted = |kind: &ProviderKind| asked.is_none_or(|asked| asked == *kind);
    let may = |kind: &ProviderKind| principal.may(&format!("{RESERVATION}.{kind}"), Verb::Read);
    let kinds = ProviderKind::ALL.into_iter().filter(is_wanted).filter(may);
    Ok(kinds.map(|kind| kind.as_str().to_owned()).collect())
}

/// One page, and how many there are on all pages.
pub(in crate::api) async fn page(
    shared: &LaunchState,
    query: ResourceQuery,
    paging: &Paging,
) -> Result<(Vec<engine::store::ResourceRow>, u64), Failure> {
    let (limit, offset) = paging.window();
    let query = ResourceQuery { limit, offset, counts: true, ..query };
    let page = shared.app.engine.resources(&query).await?;
    Ok((page.rows, page.total.unwrap_or(0)))
}
