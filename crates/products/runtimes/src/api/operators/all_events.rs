//! `GET /events`

use axum::Json;
use axum::extract::State;
use engine::OperationId;
use engine::store::{OperationQuery, Summary};
use uuid::Uuid;

use super::events::last_events;
use super::{ExistingInstance, Shared, find};
use crate::api::types::{self, Level};
use crate::model::InstanceRecord;
use server::error;
use server::http::Failure;
use server::query::{Query, check_text, not_allowed};

/// Ids that one request may name.
const IDS_MAX: usize = 100;
/// The newest operations of each instance.
const OPERATIONS_MAX: usize = 10;
const EVENTS_MAX: usize = 1000;

/// What happened to several runtimes, the newest first of each operation.
///
/// Ids are separated by commas. `/runtimes/{id}/events` tells about one runtime, and has warnings.
#[utoipa::path(
    get, path = "/events", tag = "runtimes", operation_id = "list_events",
    params(("instance_ids" = Option<String>, Query, description = "Service instances."),
           ("runtime_ids" = Option<String>, Query, description = "Runtimes."),
           ("operation_ids" = Option<String>, Query, description = "Operations, of those instances if there are some.")),
    responses((status = OK, body = Vec<types::InstanceEvent>, description = "The newest lines, 1000 at most."))
)]
pub(crate) async fn list_events(
    State(app): State<Shared>,
    mut query: Query,
) -> Result<Json<Vec<types::InstanceEvent>>, Failure> {
    let instances = ids(&mut query, "instance_ids")?;
    let runtimes = ids(&mut query, "runtime_ids")?;
    let operations = operations(&ids(&mut query, "operation_ids")?)?;
    query.finish()?;
    let by_instance = !instances.is_empty() || !runtimes.is_empty();
    if !by_instance && operations.is_empty() {
        return Err(error::parameter("instance_ids", "name instances, runtimes or operations"));
    }
    let mut events = Vec::new();
    for id in instances.iter().chain(&runtimes) {
        // One that does not exist has no events.
        let Ok(found) = find(&app, id).await else { continue };
        for summary in newest(&app, &found).await? {
            if operations.is_empty() || operations.contains(&summary.id) {
                add(&app, &mut events, &summary).await?;
            }
        }
    }
    for id in operations.iter().filter(|_| !by_instance) {
        let Some(inspection) = app.engine.inspect(*id).await? else { continue };
        add(&app, &mut events, &inspection.shown.summary).await?;
    }
    Ok(Json(events))
}

fn ids(query: &mut Query, name: &'static str) -> Result<Vec<String>, Failure> {
    let text = query.text(name)?.unwrap_or_default();
    let ids: Vec<String> = text.split(',').filter(|id| !id.is_empty()).map(str::to_owned).collect();
    ids.iter().try_for_each(|id| check_text(name, id))?;
    if ids.len() > IDS_MAX {
        return Err(error::parameter(name, format!("{IDS_MAX} ids at most")));
    }
    Ok(ids)
}

fn operations(ids: &[String]) -> Result<Vec<OperationId>, Failure> {
    let parse = |id: &String| {
        id.parse::<Uuid>().map(OperationId).map_err(|_| not_allowed("operation_ids", id, "ids of operations"))
    };
    ids.iter().map(parse).collect()
}

async fn newest(app: &Shared, found: &ExistingInstance) -> Result<Vec<Summary>, Failure> {
    let resource = Some(found.row.name.clone());
    let query = OperationQuery { resource, limit: OPERATIONS_MAX, ..OperationQuery::default() };
    Ok(app.engine.list(&query).await?)
}

async fn add(app: &Shared, events: &mut Vec<types::InstanceEvent>, summary: &Summary) -> Result<(), Failure> {
    // Only operations on runtimes belong to this list.
    let prefix = InstanceRecord::resource("");
    let Some(instance) = summary.resource.as_deref().and_then(|name| name.strip_prefix(&prefix)) else {
        return Ok(());
    };
    let room = EVENTS_MAX.saturating_sub(events.len());
    for (number, line) in last_events(&app.engine, summary, room).await? {
        events.push(types::InstanceEvent {
            id: format!("{}-{number}", line.operation),
            level: if line.level == Level::Error { "error" } else { "info" }.to_owned(),
            instance_id: instance.to_owned(),
            operation_id: line.operation,
            message: line.text,
            created_at: line.at,
        });
    }
    Ok(())
}
