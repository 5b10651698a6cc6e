//! The Director: a GraphQL external system that knows every runtime by its labels.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_graphql::dynamic::Schema;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{post, put};
use axum::{Json, Router, middleware};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::SandboxShared;
use crate::answer::JsonBody;
use crate::faults::{self, Gate};
use crate::graphql::{self, Arguments, GRAPHQL_BYTES_MAX, GraphqlError, GraphqlUser, Root};
use crate::identity::bearer;
use crate::ledger::LedgerSystem;

const LABELS_PER_RUNTIME_MAX: usize = 200;
const PAGE_DEFAULT: usize = 200;
const PAGE_MAX: usize = 300;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Condition {
    Provisioning,
    Connected,
    Failed,
}

impl Condition {
    fn name(self) -> &'static str {
        match self {
            Condition::Provisioning => "PROVISIONING",
            Condition::Connected => "CONNECTED",
            Condition::Failed => "FAILED",
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Director {
    registry: Mutex<Registry>,
}

/// The provisioner bounds how many runtimes there are.
#[derive(Debug, Default)]
struct Registry {
    script: DirectorScript,
    runtimes: BTreeMap<Arc<str>, DirectorRuntime>,
    /// Who has this text under this key, so that thousands of runtimes are not looked through for one.
    by_label: HashMap<(String, String), BTreeSet<Arc<str>>>,
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DirectorScript {
    require_token: bool,
}

#[derive(Debug)]
struct DirectorRuntime {
    tenant: String,
    name: String,
    description: Option<String>,
    labels: Map<String, Value>,
    condition: Condition,
    since: OffsetDateTime,
}

impl DirectorRuntime {
    fn body(&self, id: &str) -> Value {
        json!({
            "id": id,
            "name": self.name,
            "description": self.description,
            "labels": self.labels,
            "status": {
                "condition": self.condition.name(),
                "timestamp": self.since.format(&Rfc3339).unwrap_or_default(),
            },
        })
    }
}

impl Director {
    /// `input` is the runtime input of a provisioning, with name and labels.
    pub(crate) fn register(&self, id: &str, tenant: &str, input: &Value, now: OffsetDateTime) {
        let runtime = DirectorRuntime {
            tenant: tenant.to_owned(),
            name: input["name"].as_str().unwrap_or_default().to_owned(),
            description: input["description"].as_str().map(str::to_owned),
            labels: Map::new(),
            condition: Condition::Provisioning,
            since: now,
        };
        let mut registry = self.registry();
        let id = Arc::from(id);
        registry.runtimes.insert(Arc::clone(&id), runtime);
        for (key, value) in input["labels"].as_object().into_iter().flatten() {
            registry.set_label(&id, key, value.clone());
        }
    }

    pub(crate) fn unregister(&self, id: &str) {
        let mut registry = self.registry();
        if let Some(runtime) = registry.runtimes.remove(id) {
            for (key, value) in &runtime.labels {
                registry.unindex(id, key, value);
            }
        }
    }

    pub(crate) fn set_condition(&self, id: &str, condition: Condition, now: OffsetDateTime) {
        if let Some(runtime) = self.registry().runtimes.get_mut(id) {
            runtime.condition = condition;
            runtime.since = now;
        }
    }

    pub(crate) fn set_label(&self, id: &str, key: &str, value: Value) {
        self.registry().set_label(&Arc::from(id), key, value);
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registry {
    fn set_label(&mut self, id: &Arc<str>, key: &str, value: Value) {
        let Some(runtime) = self.runtimes.get_mut(id) else { return };
        if runtime.labels.len() >= LABELS_PER_RUNTIME_MAX && !runtime.labels.contains_key(key) {
            return;
        }
        let texts: Vec<String> = texts(&value).map(str::to_owned).collect();
        if let Some(before) = runtime.labels.insert(key.to_owned(), value) {
            self.unindex(id, key, &before);
        }
        for text in texts {
            self.by_label.entry((key.to_owned(), text)).or_default().insert(Arc::clone(id));
        }
    }

    fn unindex(&mut self, id: &str, key: &str, value: &Value) {
        for text in texts(value) {
            let entry = (key.to_owned(), text.to_owned());
            if let Some(ids) = self.by_label.get_mut(&entry) {
                ids.remove(id);
                if ids.is_empty() {
                    self.by_label.remove(&entry);
                }
            }
        }
    }

    fn owned(&self, id: &str, caller: &GraphqlUser) -> Option<&DirectorRuntime> {
        self.runtimes.get(id).filter(|runtime| runtime.tenant == caller.tenant)
    }

    fn page(&self, arguments: &Arguments, caller: &GraphqlUser) -> Result<Value, GraphqlError> {
        let filters = match arguments.get("filter") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(filters)) => filters.iter().map(Filter::of).collect(),
            Some(single) => vec![Filter::of(single)],
        };
        let first = arguments.get("first").and_then(Value::as_u64).unwrap_or(PAGE_DEFAULT as u64);
        let first = usize::try_from(first).unwrap_or(usize::MAX);
        if !(1..=PAGE_MAX).contains(&first) {
            return Err(GraphqlError::bad_request(format!(
                "first must be between 1 and {PAGE_MAX}, got {first}"
            )));
        }
        let after = arguments.get("after").and_then(Value::as_str).filter(|after| !after.is_empty());
        let found: Vec<(&Arc<str>, &DirectorRuntime)> = self
            .candidates(&filters)
            .filter(|(_, runtime)| runtime.tenant == caller.tenant)
            .filter(|(_, runtime)| filters.iter().all(|filter| filter.is_met_by(runtime)))
            .collect();
        let from = after.map_or(0, |after| found.partition_point(|(id, _)| ***id <= *after));
        let rest = &found[from..];
        let page = &rest[..rest.len().min(first)];
        let cursor =
            |end: Option<&(&Arc<str>, &DirectorRuntime)>| end.map_or(String::new(), |(id, _)| id.to_string());
        Ok(json!({
            "data": page.iter().map(|(id, runtime)| runtime.body(id)).collect::<Vec<_>>(),
            "pageInfo": {
                "startCursor": cursor(page.first()),
                "endCursor": cursor(page.last()),
                "hasNextPage": rest.len() > page.len(),
            },
            "totalCount": found.len(),
        }))
    }

    /// In the order of their ids, and no more of them than the first filter allows.
    fn candidates<'a>(
        &'a self,
        filters: &[Filter],
    ) -> Box<dyn Iterator<Item = (&'a Arc<str>, &'a DirectorRuntime)> + 'a> {
        let indexed = filters.iter().find_map(|filter| Some((filter.key.clone(), filter.text.clone()?)));
        match indexed {
            None => Box::new(self.runtimes.range::<str, _>((Bound::Unbounded, Bound::<&str>::Unbounded))),
            Some(entry) => {
                let ids = self.by_label.get(&entry).into_iter().flatten();
                Box::new(ids.filter_map(|id| self.runtimes.get_key_value(id)))
            }
        }
    }
}

/// The texts by which a label can be found: itself, or its items where it is a list.
fn texts(value: &Value) -> impl Iterator<Item = &str> {
    let items = match value {
        Value::Array(items) => items.as_slice(),
        single => std::slice::from_ref(single),
    };
    items.iter().filter_map(Value::as_str)
}

struct Filter {
    key: String,
    text: Option<String>,
}

impl Filter {
    /// The query is a text in JSON, but a bare word is understood too.
    fn of(filter: &Value) -> Self {
        let query = filter["query"].as_str();
        let text = query.map(|query| serde_json::from_str(query).unwrap_or_else(|_| query.to_owned()));
        Filter { key: filter["key"].as_str().unwrap_or_default().to_owned(), text }
    }

    fn is_met_by(&self, runtime: &DirectorRuntime) -> bool {
        let Some(value) = runtime.labels.get(&self.key) else { return false };
        self.text.as_ref().is_none_or(|text| texts(value).any(|found| found == text))
    }
}

impl Root for Director {
    fn answer(&self, field: &str, arguments: Arguments, caller: &GraphqlUser) -> Result<Value, GraphqlError> {
        if caller.tenant.is_empty() {
            return Err(GraphqlError::bad_request("tenant header is empty"));
        }
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        let mut registry = self.registry();
        match field {
            "runtime" => {
                let id = text("id");
                Ok(registry.owned(id, caller).map_or(Value::Null, |runtime| runtime.body(id)))
            }
            "runtimes" => registry.page(&arguments, caller),
            "setRuntimeLabel" => {
                let (id, key) = (text("runtimeID"), text("key"));
                let value = arguments.get("value").cloned().unwrap_or_default();
                let Some(runtime) = registry.owned(id, caller) else {
                    let message = format!("the runtime {id:?} was not found");
                    return Err(GraphqlError { message, error_code: 404 });
                };
                if runtime.labels.len() >= LABELS_PER_RUNTIME_MAX && !runtime.labels.contains_key(key) {
                    let message = format!("a runtime has at most {LABELS_PER_RUNTIME_MAX} labels");
                    return Err(GraphqlError::bad_request(message));
                }
                registry.set_label(&Arc::from(id), key, value.clone());
                Ok(json!({"key": key, "value": value}))
            }
            other => Err(GraphqlError::internal(format!("the field {other} is not implemented"))),
        }
    }
}

/// It was the same in all years.
const DIALECT: u16 = 2020;

pub(crate) fn routes(world: &SandboxShared) -> Router {
    let gate = Gate { system: LedgerSystem::Director, faults: Arc::clone(&world.faults) };
    let director: Arc<dyn Root> = world.director.clone();
    let schema = graphql::schema(include_str!("../schema/director.graphql"), DIALECT, &director);
    let calls = Router::new()
        .route("/director/graphql", post(call))
        .route_layer(middleware::from_fn_with_state(gate, faults::hit))
        .layer(DefaultBodyLimit::max(GRAPHQL_BYTES_MAX))
        .with_state((schema, world.clone()));
    let control = Router::new()
        .route("/director/script", put(set_script).get(show_script))
        .with_state(Arc::clone(&world.director));
    calls.merge(control)
}

async fn call(
    State((schema, world)): State<(Schema, SandboxShared)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let is_welcome = match headers.get(header::AUTHORIZATION) {
        None => !world.director.registry().script.require_token,
        Some(_) => bearer(&headers).is_some_and(|token| world.identity.is_valid(token, world.clock.now())),
    };
    if !is_welcome {
        let body = json!({"errors": [{"message": "a valid bearer token is required"}]});
        return (StatusCode::UNAUTHORIZED, Json(body)).into_response();
    }
    world.provisioner.settle();
    graphql::execute(&schema, GraphqlUser::of(&headers), &body).await
}

async fn set_script(
    State(director): State<Arc<Director>>,
    JsonBody(script): JsonBody<DirectorScript>,
) -> StatusCode {
    director.registry().script = script;
    StatusCode::NO_CONTENT
}

async fn show_script(State(director): State<Arc<Director>>) -> Json<DirectorScript> {
    Json(director.registry().script)
}
