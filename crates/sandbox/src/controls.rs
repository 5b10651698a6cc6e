//! Endpoints by which a part of a simulated system is looked at and changed, in JSON.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{MethodRouter, delete, get, put};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::answer::{CallError, JsonBody};
use crate::delays;

/// `GET`
pub(crate) fn show<C, T>(what: fn(&C) -> T) -> MethodRouter<Arc<C>>
where
    C: Send + Sync + 'static,
    T: Serialize + 'static,
{
    get(move |State(system): State<Arc<C>>| async move { Json(json!(what(&system))) })
}

/// `PUT`. What cannot be set is refused with the reason.
pub(crate) fn set<C, B>(change: fn(&C, B) -> Result<(), String>) -> MethodRouter<Arc<C>>
where
    C: Send + Sync + 'static,
    B: DeserializeOwned + Send + 'static,
{
    put(move |State(system): State<Arc<C>>, JsonBody(body): JsonBody<B>| async move {
        change(&system, body).map_err(CallError::bad_request)?;
        Ok::<_, CallError>(StatusCode::NO_CONTENT)
    })
}

/// `PUT` of what can always be set.
pub(crate) fn replace<C, B>(change: fn(&C, B)) -> MethodRouter<Arc<C>>
where
    C: Send + Sync + 'static,
    B: DeserializeOwned + Send + 'static,
{
    put(move |State(system): State<Arc<C>>, JsonBody(body): JsonBody<B>| async move {
        change(&system, body);
        StatusCode::NO_CONTENT
    })
}

/// `DELETE`
pub(crate) fn clear<C: Send + Sync + 'static>(what: fn(&C)) -> MethodRouter<Arc<C>> {
    delete(move |State(system): State<Arc<C>>| async move {
        what(&system);
        StatusCode::NO_CONTENT
    })
}

/// `GET`, and `PUT` or `POST` of the delays that change. `access` takes new ones and says which there are.
pub(crate) fn delays<C, D>(access: fn(&C, Option<D>) -> D) -> MethodRouter<Arc<C>>
where
    C: Send + Sync + 'static,
    D: Serialize + DeserializeOwned + 'static,
{
    let change = move |State(system): State<Arc<C>>, JsonBody(named): JsonBody<Map<String, Value>>| async move {
        let changed = delays::change(&access(&system, None), named).map_err(CallError::bad_request)?;
        Ok::<_, CallError>(Json(json!(access(&system, Some(changed)))))
    };
    get(move |State(system): State<Arc<C>>| async move { Json(json!(access(&system, None))) })
        .put(change)
        .post(change)
}
