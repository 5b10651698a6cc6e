//! The requests of an examination: each is right as it is made, and checks spoil what they want.

use reqwest::Method;
use serde_json::{Value, json};

use crate::call::{BrokerCall, segment};
use crate::checker::{Checker, new_id};

#[expect(clippy::unused_self, reason = "whether a request needs the plan is not for the checks to know")]
impl Checker {
    pub(crate) fn body(&self) -> Value {
        self.wanted.clone()
    }

    /// The body with other values at some JSON pointers.
    pub(crate) fn body_with(&self, changes: &[(&str, Value)]) -> Value {
        let mut body = self.body();
        for (pointer, value) in changes {
            let (parent, key) = pointer.rsplit_once('/').unwrap_or(("", pointer));
            if let Some(parent) = body.pointer_mut(parent) {
                parent[key] = value.clone();
            }
        }
        body
    }

    /// What names the offering and the plan, and nothing more.
    pub(crate) fn ids(&self) -> Value {
        json!({ "service_id": self.service["id"], "plan_id": self.plan["id"] })
    }

    /// A call with the offering and the plan in its query.
    pub(crate) fn at(&self, method: Method, path: &str) -> BrokerCall {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let call = BrokerCall::new(method, path).query("service_id", text(&self.service["id"]));
        call.query("plan_id", text(&self.plan["id"]))
    }

    pub(crate) fn put(&self, id: &str) -> BrokerCall {
        self.put_with(id, &self.wanted)
    }

    pub(crate) fn put_with(&self, id: &str, body: &Value) -> BrokerCall {
        BrokerCall::new(Method::PUT, instance(id)).patient().json(body)
    }

    pub(crate) fn patch(&self, id: &str, body: &Value) -> BrokerCall {
        BrokerCall::new(Method::PATCH, instance(id)).patient().json(body)
    }

    pub(crate) fn delete(&self, id: &str) -> BrokerCall {
        self.at(Method::DELETE, &instance(id)).patient()
    }

    pub(crate) fn fetch(&self, id: &str) -> BrokerCall {
        BrokerCall::get(instance(id))
    }

    pub(crate) fn fetch_with_query(&self, id: &str) -> BrokerCall {
        self.at(Method::GET, &instance(id))
    }

    pub(crate) fn last_operation(&self, id: &str) -> BrokerCall {
        BrokerCall::get(format!("{}/last_operation", instance(id)))
    }

    pub(crate) fn last_operation_with_query(&self, id: &str) -> BrokerCall {
        self.at(Method::GET, &format!("{}/last_operation", instance(id)))
    }

    pub(crate) fn bind(&self, id: &str, binding_id: &str) -> BrokerCall {
        self.bind_with(id, binding_id, &self.binding)
    }

    pub(crate) fn binding_body(&self) -> Value {
        self.binding.clone()
    }

    pub(crate) fn bind_with(&self, id: &str, binding_id: &str, body: &Value) -> BrokerCall {
        BrokerCall::new(Method::PUT, binding(id, binding_id)).patient().json(body)
    }

    pub(crate) fn unbind(&self, id: &str, binding_id: &str) -> BrokerCall {
        self.at(Method::DELETE, &binding(id, binding_id)).patient()
    }

    pub(crate) fn fetch_binding(&self, id: &str, binding_id: &str) -> BrokerCall {
        BrokerCall::get(binding(id, binding_id))
    }

    pub(crate) fn last_operation_of_binding(&self, id: &str, binding_id: &str) -> BrokerCall {
        BrokerCall::get(format!("{}/last_operation", binding(id, binding_id)))
    }

    /// One call to each endpoint, about things that do not exist, with bodies that say nothing.
    pub(crate) fn every_endpoint(&self) -> [(&'static str, BrokerCall); 10] {
        let (id, bid, nothing) = (&new_id(), &new_id(), &json!({}));
        [
            ("catalog", BrokerCall::get("/v2/catalog")),
            ("provision", self.put_with(id, nothing)),
            ("fetch", self.fetch(id)),
            ("update", self.patch(id, nothing)),
            ("deprovision", self.delete(id)),
            ("last_operation", self.last_operation(id)),
            ("bind", self.bind_with(id, bid, nothing)),
            ("fetch_binding", self.fetch_binding(id, bid)),
            ("unbind", self.unbind(id, bid)),
            ("binding_last_operation", self.last_operation_of_binding(id, bid)),
        ]
    }
}

fn instance(id: &str) -> String {
    format!("/v2/service_instances/{}", segment(id))
}

fn binding(id: &str, binding_id: &str) -> String {
    format!("{}/service_bindings/{}", instance(id), segment(binding_id))
}
