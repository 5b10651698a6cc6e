//! A broker that follows a script and remembers what it heard.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::stage::{DataDirectory, Ran};

#[derive(Clone)]
pub(super) struct Say {
    status: u16,
    headers: Vec<(&'static str, &'static str)>,
    body: String,
}

/// Text as it is, or JSON.
pub(super) struct ResponseBody(String);

impl From<&str> for ResponseBody {
    fn from(text: &str) -> ResponseBody {
        ResponseBody(text.to_owned())
    }
}

impl From<Value> for ResponseBody {
    fn from(value: Value) -> ResponseBody {
        ResponseBody(value.to_string())
    }
}

/// One answer.
pub(super) fn say(status: u16, body: impl Into<ResponseBody>) -> Say {
    Say { status, headers: Vec::new(), body: body.into().0 }
}

impl Say {
    pub(super) fn with(mut self, name: &'static str, value: &'static str) -> Say {
        self.headers.push((name, value));
        self
    }
}

/// One call, as it came.
pub(super) struct ReceivedCall {
    call: String,
    pub(super) query: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
}

/// What is said to each call, the last of it for ever, and what was heard.
#[derive(Default)]
struct BrokerScript {
    lines: Mutex<HashMap<String, VecDeque<Say>>>,
    received: Mutex<Vec<ReceivedCall>>,
}

/// A broker on loopback, and a place whose environment leads there.
pub(super) struct ScriptedBroker {
    pub(super) url: String,
    script: Arc<BrokerScript>,
    pub(super) place: DataDirectory,
    _runtime: tokio::runtime::Runtime,
}

async fn answer(State(script): State<Arc<BrokerScript>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let call = format!("{} {}", parts.method, parts.uri.path());
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    script.received.lock().unwrap().push(ReceivedCall {
        call: call.clone(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: parts.headers,
        body: serde_json::from_slice(&body).unwrap_or_default(),
    });
    let mut lines = script.lines.lock().unwrap();
    let said = match lines.get_mut(&call) {
        Some(line) if line.len() > 1 => line.pop_front().unwrap(),
        Some(line) => line[0].clone(),
        None => say(404, json!({})),
    };
    let mut response = (StatusCode::from_u16(said.status).unwrap(), said.body).into_response();
    for (name, value) in said.headers {
        response.headers_mut().insert(name, value.parse().unwrap());
    }
    response
}

impl ScriptedBroker {
    pub(super) fn start() -> ScriptedBroker {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let script = Arc::<BrokerScript>::default();
        let router = axum::Router::new().fallback(answer).with_state(Arc::clone(&script));
        runtime.spawn(async move { axum::serve(listener, router).await });
        let place = DataDirectory::new()
            .env("PROVISION_ENGINE_BROKER_URL", &url)
            .env("PROVISION_ENGINE_BROKER_USER", "me")
            .env("PROVISION_ENGINE_BROKER_PASSWORD", "s3cret");
        ScriptedBroker { url, script, place, _runtime: runtime }
    }

    pub(super) fn says<const N: usize>(&self, call: &str, said: [Say; N]) {
        self.script.lines.lock().unwrap().insert(call.to_owned(), said.into());
        self.script.received.lock().unwrap().clear();
    }

    pub(super) fn count(&self, call: &str) -> usize {
        self.script.received.lock().unwrap().iter().filter(|received| received.call == call).count()
    }

    /// The last call of this kind.
    #[track_caller]
    pub(super) fn received<T>(&self, call: &str, read: impl FnOnce(&ReceivedCall) -> T) -> T {
        let received = self.script.received.lock().unwrap();
        let calls: Vec<&str> = received.iter().map(|received| received.call.as_str()).collect();
        read(
            received
                .iter()
                .rfind(|received| received.call == call)
                .unwrap_or_else(|| panic!("{call} not in {calls:?}")),
        )
    }

    /// Runs it, and sees to it that nothing tells the password.
    #[track_caller]
    pub(super) fn expect(&self, code: i32, arguments: &[&str]) -> Ran {
        let ran = self.place.expect(code, arguments);
        assert!(!format!("{ran:?}").contains("s3cret"), "{ran:?}");
        ran
    }
}

/// Two services, one of them with a plan that takes parameters.
pub(super) fn catalog() -> Value {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-04/schema#", "type": "object", "required": ["name"],
        "additionalProperties": false,
        "properties": {
            "name": {"type": "string"},
            "nodes": {"type": "integer", "minimum": 3, "maximum": 20, "default": 3},
            "region": {"type": "string", "enum": ["eu", "us"]},
        },
    });
    let schemas =
        json!({"service_instance": {"create": {"parameters": schema}, "update": {"parameters": schema}}});
    json!({"services": [
        {"id": "s1", "name": "runtime", "description": "d", "bindable": false, "instances_retrievable": true,
         "bindings_retrievable": true, "dashboard_client": {"id": "c", "secret": "s3cret", "redirect_uri": "u"},
         "plans": [
            {"id": "p1", "name": "small", "description": "a small one", "free": false, "schemas": schemas},
            {"id": "p2", "name": "large", "description": "a large one", "bindable": true, "schemas": schemas},
        ]},
        {"id": "s2", "name": "database", "description": "d", "bindable": true,
         "plans": [{"id": "p3", "name": "small", "description": "rows"}]},
    ]})
}
