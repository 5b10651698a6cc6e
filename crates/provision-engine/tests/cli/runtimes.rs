//! Runtimes from one end to the other: a platform asks the real program, which asks the sandbox.

mod canary;
mod commands;
mod conformance;
mod failures;
mod races;

use std::cell::RefCell;
use std::fs;

use reqwest::{Client, Method};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::stage::{DataDirectory, Sandbox, ServerProcess, call, until_or};

pub(crate) const SERVICE: &str = "47c9dcbf-ff30-448e-ab36-d3bad66ba281";
pub(crate) const CREATE: [&str; 7] =
    ["instances", "create", "--plan", "azure", "--param", "name=first", "--param=region=westeurope"];
pub(crate) const AZURE: &str = "4deee563-e5ec-4731-b9b1-53b42d855f0c";
/// No test lives that long.
const FOREVER_MS: u64 = 3_600_000;

/// A place in which nothing waits longer than it must.
pub(crate) fn quick() -> DataDirectory {
    DataDirectory::new()
        .env("PROVISION_ENGINE_RUNTIME__POLL", "50ms")
        .env("PROVISION_ENGINE_RUNTIME__SETTLE", "300ms")
        .env("PROVISION_ENGINE_ENGINE__RETRY__FIRST", "20ms")
        .env("PROVISION_ENGINE_ENGINE__RETRY__MAX", "100ms")
}

/// What a broker said.
#[derive(Debug, Clone)]
pub(crate) struct BrokerOutput {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl BrokerOutput {
    #[track_caller]
    pub(crate) fn operation(&self) -> &str {
        assert_eq!(self.status, 202, "{}", self.body);
        self.body["operation"].as_str().unwrap()
    }
}

/// A platform, as the broker of one server sees it.
#[derive(Clone)]
pub(crate) struct Platform {
    pub(crate) http: Client,
    pub(crate) url: String,
    pub(crate) user: String,
    pub(crate) password: String,
}

impl Platform {
    pub(crate) fn of(place: &DataDirectory, server: &ServerProcess) -> Platform {
        let credentials = fs::read_to_string(place.data("broker.credentials")).unwrap();
        let (user, password) = credentials.trim().split_once(':').unwrap();
        Platform {
            http: Client::builder().no_proxy().build().unwrap(),
            url: server.url.clone(),
            user: user.to_owned(),
            password: password.to_owned(),
        }
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> BrokerOutput {
        let request = self.http.request(method, format!("{}/v2{path}", self.url));
        let request =
            request.basic_auth(&self.user, Some(&self.password)).header("X-Broker-API-Version", "2.17");
        let request = match body {
            Some(body) => request.json(body),
            None => request,
        };
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        BrokerOutput { status, body: serde_json::from_slice(&response.bytes().await.unwrap()).unwrap() }
    }

    pub(crate) async fn put(&self, id: &str, body: &Value) -> BrokerOutput {
        self.send(Method::PUT, &format!("/service_instances/{id}?accepts_incomplete=true"), Some(body)).await
    }

    pub(crate) async fn patch(&self, id: &str, body: &Value) -> BrokerOutput {
        self.send(Method::PATCH, &format!("/service_instances/{id}?accepts_incomplete=true"), Some(body))
            .await
    }

    pub(crate) async fn delete(&self, id: &str) -> BrokerOutput {
        let query = format!("accepts_incomplete=true&service_id={SERVICE}&plan_id={AZURE}");
        self.send(Method::DELETE, &format!("/service_instances/{id}?{query}"), None).await
    }

    pub(crate) async fn last(&self, id: &str, operation: &str) -> BrokerOutput {
        let path = format!("/service_instances/{id}/last_operation?operation={operation}");
        self.send(Method::GET, &path, None).await
    }
}

/// A request for an instance of the plan `azure`.
pub(crate) fn wanted(name: &str) -> Value {
    json!({
        "service_id": SERVICE, "plan_id": AZURE, "organization_guid": "org", "space_guid": "space",
        "context": {"platform": "cloudfoundry", "globalaccount_id": "ga", "subaccount_id": "sa"},
        "parameters": {"name": name, "region": "westeurope"},
    })
}

pub(crate) fn changed(parameters: &Value) -> Value {
    json!({"service_id": SERVICE, "parameters": parameters})
}

/// One server with a sandbox of its own, and a platform in front of it.
pub(crate) struct RuntimesCli {
    pub(crate) runtime: Runtime,
    pub(crate) platform: Platform,
    pub(crate) server: ServerProcess,
    pub(crate) sandbox: Sandbox,
    pub(crate) place: DataDirectory,
}

impl RuntimesCli {
    #[track_caller]
    pub(crate) fn open(place: DataDirectory) -> RuntimesCli {
        let sandbox = Sandbox::start(&place);
        RuntimesCli::at(place, sandbox, "error")
    }

    /// With a sandbox that is there already.
    #[track_caller]
    pub(crate) fn at(place: DataDirectory, sandbox: Sandbox, level: &str) -> RuntimesCli {
        let server = place.serve(&["--sandbox-url", &sandbox.url, "--log-level", level]);
        let platform = Platform::of(&place, &server);
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        RuntimesCli { runtime, platform, server, sandbox, place }
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        call(Method::GET, &format!("{}{path}", self.sandbox.url), None)
    }

    /// Lets the Provisioner take forever for everything, or no time at all.
    pub(crate) fn hold(&self, is_held: bool) {
        hold(&self.sandbox.url, is_held);
    }

    /// Waits until the only fault that was armed, for one call, has hit it.
    pub(crate) fn wait_for_the_fault(&self) {
        self.sandbox.wait_for_the_fault();
    }

    /// What the Provisioner is to refuse or to fail at.
    pub(crate) fn fail(&self, failure: &Value) {
        call(Method::POST, &format!("{}/provisioner/faults", self.sandbox.url), Some(failure));
    }

    pub(crate) fn put(&self, id: &str, body: &Value) -> BrokerOutput {
        self.runtime.block_on(self.platform.put(id, body))
    }

    pub(crate) fn patch(&self, id: &str, body: &Value) -> BrokerOutput {
        self.runtime.block_on(self.platform.patch(id, body))
    }

    pub(crate) fn delete(&self, id: &str) -> BrokerOutput {
        self.runtime.block_on(self.platform.delete(id))
    }

    pub(crate) fn last(&self, id: &str, operation: &str) -> Value {
        let answer = self.runtime.block_on(self.platform.last(id, operation));
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body
    }

    /// Polls until the operation is over and insists on how it ended.
    #[track_caller]
    pub(crate) fn ends(&self, id: &str, operation: &str, state: &str) -> String {
        let ended = self.polled(id, operation, |last| last["state"] != "in progress");
        assert_eq!(ended["state"], state, "{ended}");
        ended["description"].as_str().unwrap().to_owned()
    }

    /// Polls until the description of an operation that goes on has this in it.
    #[track_caller]
    pub(crate) fn tells(&self, id: &str, operation: &str, part: &str) {
        self.polled(id, operation, |last| {
            assert_eq!(last["state"], "in progress", "waiting for {part:?}: {last}");
            last["description"].as_str().unwrap().contains(part)
        });
    }

    #[track_caller]
    fn polled(&self, id: &str, operation: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let last = RefCell::new(Value::Null);
        let ask = || {
            last.replace(self.last(id, operation));
            is_it(&last.borrow()).then(|| last.borrow().clone())
        };
        until_or(ask, || format!("the last that was told of {id}: {}", last.borrow()))
    }

    /// How many runtimes were ever made for an instance, and how many stand.
    pub(crate) fn runtimes(&self, id: &str) -> (usize, usize) {
        runtimes(&self.sandbox.url, id)
    }

    /// All that stands in the world, whatever it is.
    pub(crate) fn standing(&self) -> Vec<Value> {
        self.get("/ledger")["effects"].as_array().unwrap().clone()
    }
}

pub(crate) fn hold(sandbox: &str, is_held: bool) {
    let ms = if is_held { FOREVER_MS } else { 0 };
    let script = json!({"provision_ms": ms, "upgrade_ms": ms, "deprovision_ms": ms});
    call(Method::PUT, &format!("{sandbox}/provisioner/script"), Some(&script));
}

pub(crate) fn runtimes(sandbox: &str, id: &str) -> (usize, usize) {
    let listed = call(Method::GET, &format!("{sandbox}/provisioner/runtimes?instance_id={id}"), None);
    let listed = listed["runtimes"].as_array().unwrap();
    (listed.len(), listed.iter().filter(|runtime| runtime["is_gone"] == false).count())
}
