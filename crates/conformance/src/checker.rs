//! The run of the checks for one plan: its requests, its waits, and its results so far.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::answer::BrokerResponse;
use crate::call::BrokerCall;
use crate::options::SuiteOptions;
use crate::report::{Check, CheckOutcome, PlanReport};
use crate::shape::SchemaShape;
use crate::wire::Wire;

pub(crate) struct Checker {
    pub(crate) wire: Wire,
    pub(crate) options: Arc<SuiteOptions>,
    pub(crate) catalog: Value,
    pub(crate) service: Value,
    pub(crate) plan: Value,
    pub(crate) parameters: Value,
    /// What an instance is asked for in every check that does not ask for something else.
    pub(crate) wanted: Value,
    /// What a binding is asked for.
    pub(crate) binding: Value,
    /// Held by the check that has the external systems on hold: all plans share them.
    gate: Arc<tokio::sync::Mutex<()>>,
    checks: Mutex<Vec<Check>>,
}

impl Checker {
    pub(crate) fn new(
        wire: Wire,
        options: &Arc<SuiteOptions>,
        gate: &Arc<tokio::sync::Mutex<()>>,
        catalog: &Value,
        service: &Value,
        plan: &Value,
    ) -> Checker {
        let name = plan["name"].as_str().unwrap_or_default();
        let schema = plan.pointer("/schemas/service_instance/create/parameters");
        let parameters =
            options.parameters.get(name).cloned().unwrap_or_else(|| SchemaShape::new(schema).legal());
        let (org, space) = (new_id(), new_id());
        let wanted = json!({
            "service_id": service["id"],
            "plan_id": plan["id"],
            "organization_guid": org,
            "space_guid": space,
            "context": {
                "platform": "cloudfoundry",
                "organization_guid": org,
                "space_guid": space,
                "globalaccount_id": new_id(),
                "subaccount_id": new_id(),
                "user_id": "conformance@example.com",
            },
            "parameters": parameters,
        });
        let mut binding = json!({ "service_id": service["id"], "plan_id": plan["id"] });
        let schema = plan.pointer("/schemas/service_binding/create/parameters");
        let parameters_of_binding = SchemaShape::new(schema).legal();
        if parameters_of_binding != json!({}) {
            binding["parameters"] = parameters_of_binding;
        }
        Checker {
            wire,
            options: Arc::clone(options),
            catalog: catalog.clone(),
            service: service.clone(),
            plan: plan.clone(),
            parameters,
            wanted,
            binding,
            gate: Arc::clone(gate),
            checks: Mutex::default(),
        }
    }

    pub(crate) fn report(self) -> PlanReport {
        let plan = self.plan["name"].as_str().unwrap_or("without a name").to_owned();
        PlanReport { plan, checks: self.checks.into_inner().unwrap_or_else(PoisonError::into_inner) }
    }

    pub(crate) fn check(
        &self,
        id: impl Into<String>,
        section: &'static str,
        title: impl Into<String>,
        outcome: impl Into<CheckOutcome>,
    ) {
        let check = Check { id: id.into(), section, title: title.into(), outcome: outcome.into() };
        self.checks.lock().unwrap_or_else(PoisonError::into_inner).push(check);
    }

    pub(crate) fn skip(&self, id: impl Into<String>, section: &'static str, title: &str, why: &str) {
        self.check(id, section, title, CheckOutcome::Skipped(why.to_owned()));
    }

    pub(crate) async fn send(&self, call: BrokerCall) -> Arc<BrokerResponse> {
        self.wire.send(call).await
    }

    /// Runs `work` while no operation of the broker ends.
    pub(crate) async fn held<T>(&self, work: impl Future<Output = T>) -> T {
        let Some(hold) = &self.options.hold else { return work.await };
        let _gate = self.gate.lock().await;
        hold.hold().await;
        let result = work.await;
        hold.release().await;
        result
    }

    /// Asks `last` until the operation has ended or something is wrong, and gives the last answer.
    pub(crate) async fn settle(&self, last: BrokerCall) -> Arc<BrokerResponse> {
        let polling = async {
            loop {
                let answer = self.send(last.clone()).await;
                if answer.status != 200 || answer.state() != Some("in progress") {
                    return answer;
                }
                let asked = answer.header("retry-after").and_then(|seconds| seconds.parse().ok());
                let asked =
                    asked.map(|seconds| Duration::from_secs(seconds).min(self.options.retry_after_max));
                tokio::time::sleep(asked.unwrap_or(self.options.poll_interval)).await;
            }
        };
        match tokio::time::timeout(self.options.poll_limit, polling).await {
            Ok(answer) => answer,
            Err(_) => self.send(last).await,
        }
    }

    /// Takes back all that was made, bindings before their instances, and says what stayed.
    pub(crate) async fn tidy(&self) -> Option<String> {
        let seen = self.wire.seen();
        let made = seen.iter().filter(|seen| seen.method == Method::PUT && seen.has(&[200, 201, 202]));
        let paths: BTreeSet<&str> = made.filter_map(|seen| seen.request.split([' ', '?']).nth(1)).collect();
        let (bindings, instances): (Vec<&str>, Vec<&str>) =
            paths.into_iter().partition(|path| path.contains("/service_bindings/"));
        let mut left = Vec::new();
        for path in bindings.into_iter().chain(instances) {
            if let Err(answer) = self.remove(path).await {
                left.push(format!("{} -> {}", answer.request, answer.status));
            }
        }
        if left.is_empty() { None } else { Some(format!("not removed: {}", left.join(", "))) }
    }

    async fn remove(&self, path: &str) -> Result<(), Arc<BrokerResponse>> {
        let mut answer = self.send(self.at(Method::DELETE, path).patient()).await;
        if answer.status == 422 {
            self.settle(BrokerCall::get(format!("{path}/last_operation"))).await;
            answer = self.send(self.at(Method::DELETE, path).patient()).await;
        }
        if answer.status == 202 {
            let last = self.settle(BrokerCall::get(format!("{path}/last_operation"))).await;
            if last.status != 410 && last.state() != Some("succeeded") {
                return Err(last);
            }
        }
        if answer.has(&[200, 202, 410]) { Ok(()) } else { Err(answer) }
    }
}

/// What the catalog says.
impl Checker {
    pub(crate) fn is_retrievable(&self) -> bool {
        self.service["instances_retrievable"] == true
    }

    pub(crate) fn is_bindable(&self) -> bool {
        self.plan["bindable"].as_bool().or(self.service["bindable"].as_bool()).unwrap_or(false)
    }

    pub(crate) fn is_updateable(&self) -> bool {
        self.plan["plan_updateable"].as_bool().or(self.service["plan_updateable"].as_bool()).unwrap_or(false)
    }

    pub(crate) fn schema(&self, of: &str) -> Option<&Value> {
        self.plan.pointer(&format!("/schemas/{of}/parameters"))
    }

    pub(crate) fn shape(&self) -> SchemaShape {
        SchemaShape::new(self.schema("service_instance/create"))
    }

    /// Another plan of the same offering.
    pub(crate) fn other_plan(&self) -> Option<&Value> {
        self.service["plans"].as_array()?.iter().find(|plan| plan["id"] != self.plan["id"])
    }

    /// A legal request for the same instance id that asks for something else.
    pub(crate) fn other_parameters(&self) -> Option<Value> {
        self.shape().changed(&self.parameters, &self.parameters)
    }

    /// Parameters of an update that changes something.
    pub(crate) fn update_parameters(&self) -> Option<Value> {
        let name = self.plan["name"].as_str().unwrap_or_default();
        self.options.updates.get(name).cloned().or_else(|| {
            let shape = SchemaShape::new(self.schema("service_instance/update"));
            shape.changed(&shape.legal(), &self.parameters)
        })
    }
}

pub(crate) fn new_id() -> String {
    Uuid::new_v4().to_string()
}
