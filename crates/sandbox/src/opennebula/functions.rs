//! The guests of the machines: a function runtime, or a small store of data, at the address of each machine
//! that runs.
//!
//! A background task looks around while there are machines or services on their way, lets them live on, and
//! opens and closes the listeners of the guests. So a demo can call what it was given.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::machines::{Lcm, SimulatedVm, State as Vm};
use super::oneflow::OneFlow;
use super::world::Nebula;
use crate::answer::{CallError, JsonBody};
use crate::loopback;

/// While something lives.
const TICK: Duration = Duration::from_millis(20);
/// While nothing does. A machine that was made without OneFlow is met at most so late.
const REST: Duration = Duration::from_millis(200);

/// Each needs a file of the process, and there are not many. A later connection is silent until one closes.
const LISTENERS_MAX: usize = 200;

const BODY_BYTES_MAX: usize = 64 * 1024;
const KEYS_MAX: usize = 100;
const KEY_CHARS_MAX: usize = 128;

/// Who answers at an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Guest {
    vm: i32,
    name: String,
    role: String,
    #[serde(skip)]
    address: Ipv4Addr,
}

impl Guest {
    fn of(machine: &SimulatedVm) -> Option<Self> {
        // A guest does not notice that its machine is resized.
        let is_up =
            matches!(machine.state(), Vm::Active(Lcm::Running | Lcm::DiskResize | Lcm::HotplugResize));
        if !is_up {
            return None;
        }
        let role = machine.user_template.get("ROLE_NAME").unwrap_or_default().to_owned();
        Some(Guest { vm: machine.id, name: machine.name.clone(), role, address: machine.address()? })
    }
}

/// Serves the guests until it is stopped, and closes all of their listeners then.
pub(crate) async fn run(nebula: Arc<Nebula>, flow: Arc<OneFlow>, stop: CancellationToken) {
    let mut listeners: HashMap<i32, Option<DropGuard>> = HashMap::new();
    loop {
        flow.settle();
        let (guests, lives) = look(&nebula);
        listeners.retain(|vm, _| guests.iter().any(|guest| guest.vm == *vm));
        for guest in guests {
            if listeners.len() >= LISTENERS_MAX {
                break;
            }
            if let Entry::Vacant(listener) = listeners.entry(guest.vm) {
                listener.insert(loopback::open(guest.address, router(guest)).await);
            }
        }
        let wait = if lives || flow.has_moving() { TICK } else { REST };
        tokio::select! {
            () = stop.cancelled() => return,
            () = flow.woken.notified() => {}
            () = tokio::time::sleep(wait) => {}
        }
    }
}

/// Who should answer now, and whether any machine is not over yet.
fn look(nebula: &Nebula) -> (Vec<Guest>, bool) {
    let nebula_state = nebula.nebula_state();
    let guests = nebula_state.vms().filter_map(Guest::of).collect();
    let lives = nebula_state.vms().any(|machine| !machine.is_done());
    (guests, lives)
}

#[derive(Debug)]
struct Room {
    guest: Guest,
    data: Mutex<HashMap<String, Value>>,
}

fn router(guest: Guest) -> Router {
    let is_store = guest.role == "DAAS";
    let room = Arc::new(Room { guest, data: Mutex::default() });
    let router = Router::new().route("/", get(show));
    let router = if is_store {
        router.route("/v1/daas/{key}", get(read).put(write).delete(remove))
    } else {
        router.route("/v1/faas/execute-sync", post(execute))
    };
    router
        .fallback(|| async { CallError::new(StatusCode::NOT_FOUND, "this guest does not serve that path") })
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(room)
}

async fn show(State(room): State<Arc<Room>>) -> Json<Value> {
    Json(json!({"status": "ok", "guest": room.guest}))
}

/// A function is not run here; its parameters come back, so that the caller can see that it was reached.
#[derive(Debug, Deserialize)]
struct FunctionCall {
    lang: String,
    fc: String,
    #[serde(default)]
    params: Vec<Value>,
}

async fn execute(State(room): State<Arc<Room>>, JsonBody(call): JsonBody<FunctionCall>) -> Response {
    if call.lang.is_empty() || call.fc.is_empty() {
        let body = json!({"ret_code": -1, "res": null, "err": "lang and fc must not be empty"});
        return (StatusCode::BAD_REQUEST, Json(body)).into_response();
    }
    let mut params = call.params;
    let res = if params.len() == 1 { params.remove(0) } else { Value::Array(params) };
    Json(json!({"ret_code": 0, "res": res, "err": null, "guest": room.guest})).into_response()
}

async fn read(State(room): State<Arc<Room>>, Path(key): Path<String>) -> Result<Json<Value>, CallError> {
    let found = room.data.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
    found.map(Json).ok_or_else(unknown_key)
}

async fn write(
    State(room): State<Arc<Room>>,
    Path(key): Path<String>,
    JsonBody(value): JsonBody<Value>,
) -> Result<StatusCode, CallError> {
    if key.chars().count() > KEY_CHARS_MAX {
        return Err(CallError::bad_request(format!("a key has at most {KEY_CHARS_MAX} characters")));
    }
    let mut data = room.data.lock().unwrap_or_else(PoisonError::into_inner);
    if data.len() >= KEYS_MAX && !data.contains_key(&key) {
        return Err(CallError::bad_request(format!("at most {KEYS_MAX} keys fit in here")));
    }
    data.insert(key, value);
    Ok(StatusCode::NO_CONTENT)
}

async fn remove(State(room): State<Arc<Room>>, Path(key): Path<String>) -> Result<StatusCode, CallError> {
    let removed = room.data.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
    removed.map(|_| StatusCode::NO_CONTENT).ok_or_else(unknown_key)
}

fn unknown_key() -> CallError {
    CallError::new(StatusCode::NOT_FOUND, "there is no value under this key")
}
