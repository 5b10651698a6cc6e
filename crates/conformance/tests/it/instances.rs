//! What the small broker remembers: the table of states, for instances and for their bindings.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::broker::{BrokerReply, BrokerRequest};
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
enum InstancePhase {
    Provisioning,
    Ready,
    Updating,
    Deprovisioning,
    Deleted,
}

struct Thing {
    phase: InstancePhase,
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
    fn new(phase: InstancePhase, wanted: Value) -> Thing {
        Thing {
            phase,
            wanted,
            update: Value::Null,
            operation: String::new(),
            polls: 0,
            bindings: HashMap::new(),
        }
    }

    fn begin(&mut self, phase: InstancePhase, operation: u32) -> BrokerReply {
        (self.phase, self.operation, self.polls) = (phase, format!("operation-{operation}"), 0);
        self.accepted()
    }

    fn accepted(&self) -> BrokerReply {
        BrokerReply::new(202, json!({ "operation": self.operation }))
    }

    fn poll(&mut self, polls_needed: u32, gone: bool) -> BrokerReply {
        self.polls += 1;
        let done = self.polls >= polls_needed;
        match self.phase {
            InstancePhase::Provisioning if done => self.phase = InstancePhase::Ready,
            InstancePhase::Updating if done => {
                self.phase = InstancePhase::Ready;
                self.wanted["parameters"] = merged(&self.wanted["parameters"], &self.update["parameters"]);
            }
            InstancePhase::Deprovisioning if done => self.phase = InstancePhase::Deleted,
            _ => {}
        }
        let state = match self.phase {
            InstancePhase::Deleted if gone => return BrokerReply::error(410, "it is gone"),
            InstancePhase::Ready | InstancePhase::Deleted => "succeeded",
            _ => "in progress",
        };
        let mut reply =
            BrokerReply::new(200, json!({ "state": state, "description": format!("{:?}", self.phase) }));
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

fn absent() -> BrokerReply {
    BrokerReply::error(404, "there is no such thing")
}

fn busy() -> BrokerReply {
    BrokerReply::code("ConcurrencyError")
}

impl Instances {
    pub(crate) fn new(habits: Habits) -> Instances {
        Instances { habits, things: HashMap::new(), operations: 0 }
    }

    pub(crate) fn reply(&mut self, asked: &BrokerRequest) -> BrokerReply {
        if let Some(error_response) = error_response(asked) {
            return error_response;
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

    fn put(&mut self, id: String, asked: &BrokerRequest) -> BrokerReply {
        let Some(thing) = self.things.get(&id) else {
            let mut thing = Thing::new(InstancePhase::Provisioning, asked.body.clone());
            let reply = thing.begin(InstancePhase::Provisioning, self.operations);
            self.things.insert(id, thing);
            return reply;
        };
        let same = identity(&thing.wanted) == identity(&asked.body);
        match thing.phase {
            InstancePhase::Provisioning if same => thing.accepted(),
            InstancePhase::Ready if same => BrokerReply::new(200, json!({})),
            InstancePhase::Updating | InstancePhase::Deprovisioning if same => busy(),
            _ => BrokerReply::error(409, "the id is taken"),
        }
    }

    fn patch(&mut self, id: &str, asked: &BrokerRequest) -> BrokerReply {
        let Some(thing) = self.things.get_mut(id) else { return absent() };
        match thing.phase {
            InstancePhase::Deleted => absent(),
            InstancePhase::Updating if thing.update == asked.body => thing.accepted(),
            InstancePhase::Provisioning | InstancePhase::Updating | InstancePhase::Deprovisioning => busy(),
            InstancePhase::Ready
                if !asked.body["plan_id"].is_null() && asked.body["plan_id"] != thing.wanted["plan_id"] =>
            {
                BrokerReply::error(422, "the plan cannot be changed")
            }
            InstancePhase::Ready => {
                let parameters = &thing.wanted["parameters"];
                if merged(parameters, &asked.body["parameters"]) == *parameters {
                    return BrokerReply::new(200, json!({}));
                }
                thing.update = asked.body.clone();
                thing.begin(InstancePhase::Updating, self.operations)
            }
        }
    }

    fn delete(&mut self, id: &str) -> BrokerReply {
        let Some(thing) = self.things.get_mut(id) else { return BrokerReply::error(410, "it is gone") };
        let live = thing.bindings.values().filter(|binding| binding.phase == InstancePhase::Ready).count();
        match thing.phase {
            InstancePhase::Deleted => BrokerReply::error(410, "it is gone"),
            InstancePhase::Deprovisioning => thing.accepted(),
            InstancePhase::Updating => busy(),
            InstancePhase::Ready if live > 0 => BrokerReply::error(422, &format!("it has {live} bindings")),
            InstancePhase::Ready | InstancePhase::Provisioning => {
                thing.begin(InstancePhase::Deprovisioning, self.operations)
            }
        }
    }

    fn fetch(&self, id: &str) -> BrokerReply {
        match self.things.get(id) {
            Some(thing) if matches!(thing.phase, InstancePhase::Ready | InstancePhase::Deprovisioning) => {
                let Value::Object(mut told) = thing.wanted.clone() else { return absent() };
                told.retain(|key, _| ["service_id", "plan_id", "parameters"].contains(&key.as_str()));
                if told["plan_id"] == "plan-small" {
                    told.insert("maintenance_info".to_owned(), json!({ "version": VERSION }));
                }
                BrokerReply::new(200, Value::Object(told))
            }
            Some(thing) if thing.phase == InstancePhase::Updating => busy(),
            _ => absent(),
        }
    }

    fn binding(&mut self, id: &str, bid: &str, asked: &BrokerRequest) -> BrokerReply {
        let method = asked.method.as_str();
        let gone = if method == "DELETE" { BrokerReply::error(410, "it is gone") } else { absent() };
        let Some(thing) = self.things.get_mut(id) else { return gone };
        match thing.phase {
            InstancePhase::Deleted => return gone,
            InstancePhase::Ready => {}
            _ if method == "PUT" => return busy(),
            _ => {}
        }
        let credentials =
            json!({ "credentials": { "key": bid }, "metadata": { "expires_at": "2030-01-01T00:00:00Z" } });
        let is_async = self.habits.async_bindings;
        match (method, thing.bindings.get_mut(bid)) {
            ("GET", Some(binding)) if asked.is_poll() => binding.poll(BINDING_POLLS, self.habits.gone),
            ("GET", Some(binding)) if binding.phase == InstancePhase::Ready => {
                BrokerReply::new(200, credentials)
            }
            ("PUT", None) if is_async && !asked.is_patient() => BrokerReply::code("AsyncRequired"),
            ("PUT", None) => {
                let mut binding = Thing::new(InstancePhase::Ready, asked.body.clone());
                let later = is_async.then(|| binding.begin(InstancePhase::Provisioning, self.operations));
                thing.bindings.insert(bid.to_owned(), binding);
                later.unwrap_or_else(|| BrokerReply::new(201, credentials))
            }
            ("PUT", Some(binding)) => match binding.phase {
                InstancePhase::Ready if identity(&binding.wanted) == identity(&asked.body) => {
                    BrokerReply::new(200, credentials)
                }
                InstancePhase::Provisioning => binding.accepted(),
                _ => BrokerReply::error(409, "the id is taken"),
            },
            ("DELETE", Some(binding)) => match binding.phase {
                InstancePhase::Ready if is_async => {
                    binding.begin(InstancePhase::Deprovisioning, self.operations)
                }
                InstancePhase::Ready => {
                    binding.phase = InstancePhase::Deleted;
                    BrokerReply::new(200, json!({}))
                }
                InstancePhase::Deprovisioning => binding.accepted(),
                InstancePhase::Provisioning => busy(),
                _ => gone,
            },
            ("DELETE", None) => gone,
            _ => absent(),
        }
    }
}

/// All that can be refused without knowing the instance, in its order.
fn error_response(asked: &BrokerRequest) -> Option<BrokerReply> {
    let invalid = |what: &str| Some(BrokerReply::error(400, &format!("{what} is not right")));
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
        return Some(BrokerReply::code("AsyncRequired"));
    }
    if !version.is_null() && *version != plan["maintenance_info"]["version"] {
        return Some(BrokerReply::code("MaintenanceInfoConflict"));
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
