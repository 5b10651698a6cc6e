//! What the small broker remembers: the table of states, for instances and for their bindings.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::broker::{Asked, Reply};
use crate::catalog::{VERSION, plan};

/// An operation ends when it was asked for this many times, so that no test needs time to pass.
const POLLS: u32 = 2;
const BINDING_POLLS: u32 = 7;

/// What a right broker may choose.
#[derive(Clone, Default)]
pub(crate) struct Habits {
    pub(crate) async_bindings: bool,
    pub(crate) gone: bool,
    pub(crate) held: Arc<AtomicBool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Provisioning,
    Ready,
    Updating,
    Deprovisioning,
    Deleted,
}

struct Thing {
    phase: Phase,
    wanted: Value,
    update: Value,
    operation: String,
    polls: u32,
    bindings: HashMap<String, Thing>,
}

pub(crate) struct Instances {
    habits: Habits,
    things: HashMap<String, Thing>,
    operations: u32,
}

impl Thing {
    fn new(phase: Phase, wanted: Value) -> Thing {
        Thing {
            phase,
            wanted,
            update: Value::Null,
            operation: String::new(),
            polls: 0,
            bindings: HashMap::new(),
        }
    }

    fn begin(&mut self, phase: Phase, operation: u32) -> Reply {
        (self.phase, self.operation, self.polls) = (phase, format!("operation-{operation}"), 0);
        self.accepted()
    }

    fn accepted(&self) -> Reply {
        Reply::new(202, json!({ "operation": self.operation }))
    }

    fn poll(&mut self, polls_needed: u32, gone: bool) -> Reply {
        self.polls += 1;
        let done = self.polls >= polls_needed;
        match self.phase {
            Phase::Provisioning if done => self.phase = Phase::Ready,
            Phase::Updating if done => {
                self.phase = Phase::Ready;
                self.wanted["parameters"] = merged(&self.wanted["parameters"], &self.update["parameters"]);
            }
            Phase::Deprovisioning if done => self.phase = Phase::Deleted,
            _ => {}
        }
        let state = match self.phase {
            Phase::Deleted if gone => return Reply::error(410, "it is gone"),
            Phase::Ready | Phase::Deleted => "succeeded",
            _ => "in progress",
        };
        let mut reply =
            Reply::new(200, json!({ "state": state, "description": format!("{:?}", self.phase) }));
        reply.set("retry-after", "0");
        reply
    }
}

fn merged(old: &Value, new: &Value) -> Value {
    let mut all = old.clone();
    for (key, value) in new.as_object().into_iter().flatten() {
        all[key] = value.clone();
    }
    all
}

/// What makes two requests the same one.
fn identity(body: &Value) -> Value {
    let stable =
        |key: &str| key == "platform" || key.ends_with("_guid") || key == "namespace" || key == "clusterid";
    let context = body["context"].as_object().into_iter().flatten().filter(|(key, _)| stable(key));
    let context: HashMap<&String, &Value> = context.collect();
    let fields =
        ["service_id", "plan_id", "parameters", "organization_guid", "space_guid"].map(|field| &body[field]);
    json!([fields, context])
}

fn absent() -> Reply {
    Reply::error(404, "there is no such thing")
}

fn busy() -> Reply {
    Reply::code("ConcurrencyError")
}

impl Instances {
    pub(crate) fn new(habits: Habits) -> Instances {
        Instances { habits, things: HashMap::new(), operations: 0 }
    }

    pub(crate) fn reply(&mut self, asked: &Asked) -> Reply {
        if let Some(refusal) = refusal(asked) {
            return refusal;
        }
        let id = asked.path[2].clone();
        self.operations += 1;
        match (asked.method.as_str(), asked.path.len()) {
            ("PUT", 3) => self.put(id, asked),
            ("PATCH", _) => self.patch(&id, asked),
            ("DELETE", 3) => self.delete(&id),
            ("GET", 3) => self.fetch(&id),
            ("GET", 4) => {
                let polls = if self.habits.held.load(Ordering::SeqCst) { u32::MAX } else { POLLS };
                let gone = self.habits.gone;
                self.things.get_mut(&id).map_or_else(absent, |thing| thing.poll(polls, gone))
            }
            _ => self.binding(&id, &asked.path[4], asked),
        }
    }

    fn put(&mut self, id: String, asked: &Asked) -> Reply {
        let Some(thing) = self.things.get(&id) else {
            let mut thing = Thing::new(Phase::Provisioning, asked.body.clone());
            let reply = thing.begin(Phase::Provisioning, self.operations);
            self.things.insert(id, thing);
            return reply;
        };
        let same = identity(&thing.wanted) == identity(&asked.body);
        match thing.phase {
            Phase::Provisioning if same => thing.accepted(),
            Phase::Ready if same => Reply::new(200, json!({})),
            Phase::Updating | Phase::Deprovisioning if same => busy(),
            _ => Reply::error(409, "the id is taken"),
        }
    }

    fn patch(&mut self, id: &str, asked: &Asked) -> Reply {
        let Some(thing) = self.things.get_mut(id) else { return absent() };
        match thing.phase {
            Phase::Deleted => absent(),
            Phase::Updating if thing.update == asked.body => thing.accepted(),
            Phase::Provisioning | Phase::Updating | Phase::Deprovisioning => busy(),
            Phase::Ready
                if !asked.body["plan_id"].is_null() && asked.body["plan_id"] != thing.wanted["plan_id"] =>
            {
                Reply::error(422, "the plan cannot be changed")
            }
            Phase::Ready => {
                let parameters = &thing.wanted["parameters"];
                if merged(parameters, &asked.body["parameters"]) == *parameters {
                    return Reply::new(200, json!({}));
                }
                thing.update = asked.body.clone();
                thing.begin(Phase::Updating, self.operations)
            }
        }
    }

    fn delete(&mut self, id: &str) -> Reply {
        let Some(thing) = self.things.get_mut(id) else { return Reply::error(410, "it is gone") };
        let live = thing.bindings.values().filter(|binding| binding.phase == Phase::Ready).count();
        match thing.phase {
            Phase::Deleted => Reply::error(410, "it is gone"),
            Phase::Deprovisioning => thing.accepted(),
            Phase::Updating => busy(),
            Phase::Ready if live > 0 => Reply::error(422, &format!("it has {live} bindings")),
            Phase::Ready | Phase::Provisioning => thing.begin(Phase::Deprovisioning, self.operations),
        }
    }

    fn fetch(&self, id: &str) -> Reply {
        match self.things.get(id) {
            Some(thing) if matches!(thing.phase, Phase::Ready | Phase::Deprovisioning) => {
                let Value::Object(mut told) = thing.wanted.clone() else { return absent() };
                told.retain(|key, _| ["service_id", "plan_id", "parameters"].contains(&key.as_str()));
                if told["plan_id"] == "plan-small" {
                    told.insert("maintenance_info".to_owned(), json!({ "version": VERSION }));
                }
                Reply::new(200, Value::Object(told))
            }
            Some(thing) if thing.phase == Phase::Updating => busy(),
            _ => absent(),
        }
    }

    fn binding(&mut self, id: &str, bid: &str, asked: &Asked) -> Reply {
        let method = asked.method.as_str();
        let gone = if method == "DELETE" { Reply::error(410, "it is gone") } else { absent() };
        let Some(thing) = self.things.get_mut(id) else { return gone };
        match thing.phase {
            Phase::Deleted => return gone,
            Phase::Ready => {}
            _ if method == "PUT" => return busy(),
            _ => {}
        }
        let credentials =
            json!({ "credentials": { "key": bid }, "metadata": { "expires_at": "2030-01-01T00:00:00Z" } });
        let is_async = self.habits.async_bindings;
        match (method, thing.bindings.get_mut(bid)) {
            ("GET", Some(binding)) if asked.is_poll() => binding.poll(BINDING_POLLS, self.habits.gone),
            ("GET", Some(binding)) if binding.phase == Phase::Ready => Reply::new(200, credentials),
            ("PUT", None) if is_async && !asked.is_patient() => Reply::code("AsyncRequired"),
            ("PUT", None) => {
                let mut binding = Thing::new(Phase::Ready, asked.body.clone());
                let later = is_async.then(|| binding.begin(Phase::Provisioning, self.operations));
                thing.bindings.insert(bid.to_owned(), binding);
                later.unwrap_or_else(|| Reply::new(201, credentials))
            }
            ("PUT", Some(binding)) => match binding.phase {
                Phase::Ready if identity(&binding.wanted) == identity(&asked.body) => {
                    Reply::new(200, credentials)
                }
                Phase::Provisioning => binding.accepted(),
                _ => Reply::error(409, "the id is taken"),
            },
            ("DELETE", Some(binding)) => match binding.phase {
                Phase::Ready if is_async => binding.begin(Phase::Deprovisioning, self.operations),
                Phase::Ready => {
                    binding.phase = Phase::Deleted;
                    Reply::new(200, json!({}))
                }
                Phase::Deprovisioning => binding.accepted(),
                Phase::Provisioning => busy(),
                _ => gone,
            },
            ("DELETE", None) => gone,
            _ => absent(),
        }
    }
}

/// All that can be refused without knowing the instance, in its order.
fn refusal(asked: &Asked) -> Option<Reply> {
    let invalid = |what: &str| Some(Reply::error(400, &format!("{what} is not right")));
    let body = &asked.body;
    let is_instance = asked.path.len() == 3;
    let (required, objects): (&[&str], &[&str]) = match (asked.method.as_str(), is_instance) {
        ("GET", _) => return None,
        ("PUT", true) => {
            (&["service_id", "plan_id", "organization_guid", "space_guid"], &["context", "parameters"])
        }
        ("PUT", false) => (&["service_id", "plan_id"], &["context", "parameters", "bind_resource"]),
        ("PATCH", _) => (&["service_id"], &["context", "parameters"]),
        _ => (&[], &[]),
    };
    if let Some(field) = required.iter().find(|field| body[**field].as_str().is_none_or(str::is_empty)) {
        return invalid(field);
    }
    let objects = objects.iter().chain(&["maintenance_info"]);
    if let Some(field) =
        objects.into_iter().find(|field| !body[**field].is_null() && !body[**field].is_object())
    {
        return invalid(field);
    }
    let (service, plan_id) = if asked.method == "DELETE" {
        let text = |key| asked.query(key).filter(|text| !text.is_empty()).map(Value::from);
        (text("service_id").unwrap_or_default(), text("plan_id").unwrap_or(json!("")))
    } else {
        (body["service_id"].clone(), body["plan_id"].clone())
    };
    let Some(plan) = plan(&service, &plan_id) else { return invalid("service_id or plan_id") };
    let version = &body["maintenance_info"]["version"];
    if !version.is_null() && !version.is_string() {
        return invalid("maintenance_info.version");
    }
    if is_instance && !asked.is_patient() {
        return Some(Reply::code("AsyncRequired"));
    }
    if !version.is_null() && *version != plan["maintenance_info"]["version"] {
        return Some(Reply::code("MaintenanceInfoConflict"));
    }
    let schema = match (asked.method.as_str(), is_instance) {
        ("PUT", true) => &plan["schemas"]["service_instance"]["create"]["parameters"],
        ("PATCH", _) => &plan["schemas"]["service_instance"]["update"]["parameters"],
        _ => &plan["schemas"]["service_binding"]["create"]["parameters"],
    };
    let empty = json!({});
    let parameters = body.get("parameters").unwrap_or(&empty);
    let checked = asked.method != "DELETE" && schema.is_object();
    if checked && !jsonschema::is_valid(schema, parameters) { invalid("parameters") } else { None }
}
