//! Serverless runtimes from one end to the other: a device asks the real program, which asks the OpenNebula of the
//! sandbox. What counts in the end is the ledger there: what stands, and what was ever made.

mod canary;
mod contract;
mod crowd;
mod failures;
mod flavours;
mod forgotten;
mod lives;
mod removals;
mod repeats;

use std::cell::RefCell;
use std::io::{Read, Write};
use std::net::TcpStream;

use ::opennebula::{NebulaCredentials, OpenNebula, OpenNebulaOptions, VirtualMachine};
use engine::secret::SecretString;
use reqwest::header::HeaderMap;
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::stage::{DataDirectory, Sandbox, ServerProcess, until_or};

pub(crate) const RUNTIMES: &str = "/serverless-runtimes";
/// A user whom the sandbox knows.
pub(crate) const USER: (&str, &str) = ("cognit", "cognitpass");
pub(crate) const NOTHING: [String; 0] = [];

/// A place in which nothing waits longer than it must.
pub(crate) fn quick() -> DataDirectory {
    // Longer than the slowest call of these tests.
    DataDirectory::new()
        .env("PROVISION_ENGINE_SERVERLESS__POLL", "20ms")
        .env("PROVISION_ENGINE_SERVERLESS__SETTLE", "4s")
}

/// The body for a runtime with these members.
pub(crate) fn runtime(members: &Value) -> Value {
    json!({"SERVERLESS_RUNTIME": members})
}

/// The body for a runtime with one function of this flavour.
pub(crate) fn function(flavour: &str) -> Value {
    runtime(&json!({"FAAS": {"FLAVOUR": flavour}}))
}

/// What the engine said.
#[derive(Debug, Clone)]
pub(crate) struct EngineOutput {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    pub(crate) json: Value,
}

impl EngineOutput {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    /// What is in the answer about the runtime.
    pub(crate) fn seen(&self) -> &Value {
        &self.json["SERVERLESS_RUNTIME"]
    }

    #[track_caller]
    pub(crate) fn id(&self) -> i64 {
        self.seen()["ID"].as_i64().unwrap_or_else(|| panic!("no id in {}", self.text))
    }

    /// Insists on the status.
    #[track_caller]
    pub(crate) fn is(self, status: u16) -> EngineOutput {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }

    /// Insists on what every answer to a device has.
    #[track_caller]
    fn checked(self) -> EngineOutput {
        let EngineOutput { status, text, json, .. } = &self;
        let told = format!("{status} {text} {:?}", self.headers);
        assert_eq!(self.header("x-content-type-options"), "nosniff", "{told}");
        let has = |name: &str| self.headers.contains_key(name);
        assert_eq!(has("www-authenticate"), *status == 401, "{told}");
        assert_eq!(has("retry-after"), [423, 503, 504].contains(status), "{told}");
        assert_eq!(has("location"), [201, 202].contains(status), "{told}");
        if *status == 204 {
            assert!(text.is_empty() && !has("content-type"), "{told}");
            return self;
        }
        assert_eq!(self.header("content-type"), "application/json", "{told}");
        assert_eq!(self.header("content-length"), text.len().to_string(), "{told}");
        if *status >= 400 {
            let names: Vec<&String> = json.as_object().unwrap().keys().collect();
            assert_eq!(names, ["error", "message"], "{told}");
            assert!(json["error"].is_string() && !json["message"].is_null(), "{told}");
        }
        self
    }
}

/// A user in front of one server.
#[derive(Clone)]
pub(crate) struct ServerlessClient {
    pub(crate) http: Client,
    pub(crate) url: String,
}

impl ServerlessClient {
    pub(crate) fn of(server: &ServerProcess) -> ServerlessClient {
        ServerlessClient { http: Client::builder().no_proxy().build().unwrap(), url: server.url.clone() }
    }

    /// Without credentials.
    pub(crate) fn outsider(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url))
    }

    pub(crate) fn ask(&self, method: Method, path: &str) -> RequestBuilder {
        self.outsider(method, path).basic_auth(USER.0, Some(USER.1))
    }

    pub(crate) fn about(&self, method: Method, id: i64) -> RequestBuilder {
        self.ask(method, &format!("{RUNTIMES}/{id}"))
    }

    pub(crate) async fn post(&self, body: &Value) -> EngineOutput {
        answer(self.ask(Method::POST, RUNTIMES).json(body)).await
    }

    pub(crate) async fn get(&self, id: i64) -> EngineOutput {
        answer(self.about(Method::GET, id)).await
    }

    pub(crate) async fn put(&self, id: i64, body: &Value) -> EngineOutput {
        answer(self.about(Method::PUT, id).json(body)).await
    }

    pub(crate) async fn delete(&self, id: i64) -> EngineOutput {
        answer(self.about(Method::DELETE, id)).await
    }
}

/// Sends it and reads all of the answer.
pub(crate) async fn answer(request: RequestBuilder) -> EngineOutput {
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = response.text().await.unwrap();
    let json = serde_json::from_str(&text).unwrap_or_default();
    EngineOutput { status, headers, text, json }.checked()
}

/// One server with a sandbox of its own, and a device in front of it.
pub(crate) struct ServerlessServer {
    pub(crate) runtime: Runtime,
    pub(crate) client: ServerlessClient,
    pub(crate) server: ServerProcess,
    pub(crate) sandbox: Sandbox,
    pub(crate) place: DataDirectory,
}

impl ServerlessServer {
    #[track_caller]
    pub(crate) fn open(place: DataDirectory) -> ServerlessServer {
        let sandbox = Sandbox::start(&place);
        ServerlessServer::at(place, sandbox)
    }

    /// With a sandbox that is there already.
    #[track_caller]
    pub(crate) fn at(place: DataDirectory, sandbox: Sandbox) -> ServerlessServer {
        let server = place.serve(&["--sandbox-url", &sandbox.url, "--log-level", "error"]);
        ServerlessServer::around(place, sandbox, server)
    }

    /// With a server that is there already too.
    pub(crate) fn around(place: DataDirectory, sandbox: Sandbox, server: ServerProcess) -> ServerlessServer {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        ServerlessServer { runtime, client: ServerlessClient::of(&server), server, sandbox, place }
    }

    pub(crate) fn send(&self, request: RequestBuilder) -> EngineOutput {
        self.runtime.block_on(answer(request))
    }

    pub(crate) fn post(&self, body: &Value) -> EngineOutput {
        self.runtime.block_on(self.client.post(body))
    }

    pub(crate) fn get(&self, id: i64) -> EngineOutput {
        self.runtime.block_on(self.client.get(id))
    }

    pub(crate) fn put(&self, id: i64, body: &Value) -> EngineOutput {
        self.runtime.block_on(self.client.put(id, body))
    }

    pub(crate) fn delete(&self, id: i64) -> EngineOutput {
        self.runtime.block_on(self.client.delete(id))
    }

    /// A runtime that was just made.
    #[track_caller]
    pub(crate) fn made(&self, body: &Value) -> i64 {
        self.post(body).is(201).id()
    }

    /// A runtime whose functions all run.
    #[track_caller]
    pub(crate) fn running(&self, body: &Value) -> i64 {
        let id = self.made(body);
        self.until_state(id, "RUNNING");
        id
    }

    /// Looks until all functions are in a state.
    #[track_caller]
    pub(crate) fn until_state(&self, id: i64, state: &str) -> EngineOutput {
        let last = RefCell::new(String::new());
        let ask = || {
            let answer = self.get(id).is(200);
            last.replace(answer.text.clone());
            let functions = ["FAAS", "DAAS"].map(|role| &answer.seen()[role]["STATE"]);
            let is_there = functions.into_iter().all(|found| found.is_null() || found == state);
            is_there.then_some(answer)
        };
        until_or(ask, || format!("runtime {id} never was {state}: {}", last.borrow()))
    }

    /// Tells the sandbox something.
    pub(crate) fn tell(&self, path: &str, body: &Value) {
        at_sandbox(&self.sandbox.url, "POST", path, Some(body));
    }

    pub(crate) fn look(&self, path: &str) -> Value {
        at_sandbox(&self.sandbox.url, "GET", path, None)
    }

    pub(crate) fn faults(&self, kind: &str) {
        self.tell("/opennebula/faults", &json!({"kind": kind}));
    }

    /// Waits until all faults that were armed have hit.
    pub(crate) fn wait_for_the_fault(&self) {
        self.sandbox.wait_for_the_fault();
    }

    /// What stands in OpenNebula, such as `vm 7`.
    pub(crate) fn standing(&self) -> Vec<String> {
        standing(&self.sandbox.url)
    }

    /// OpenNebula, past the engine.
    pub(crate) fn nebula(&self) -> (OpenNebula, NebulaCredentials) {
        let nebula = OpenNebula::new(&OpenNebulaOptions::beside(&self.sandbox.url)).unwrap();
        (nebula, credentials())
    }

    /// The machine of a function, as OpenNebula shows it.
    #[track_caller]
    pub(crate) fn machine(&self, function: &Value) -> VirtualMachine {
        let (nebula, credentials) = self.nebula();
        self.runtime.block_on(nebula.machine(&credentials, number(&function["VM_ID"]))).unwrap()
    }

    /// All operations that the engine knows.
    pub(crate) fn operations(&self) -> Vec<Value> {
        self.place.json(&["operations", "list"])["items"].as_array().unwrap().clone()
    }
}

#[track_caller]
pub(crate) fn number(id: &Value) -> i32 {
    i32::try_from(id.as_i64().unwrap()).unwrap()
}

pub(crate) fn credentials() -> NebulaCredentials {
    NebulaCredentials::new(USER.0, SecretString::from(USER.1)).unwrap()
}

/// One call that has to succeed. By hand, because these tests look thousands of times, and a client for each look
/// would be most of their work.
#[track_caller]
pub(crate) fn at_sandbox(sandbox: &str, method: &str, path: &str, body: Option<&Value>) -> Value {
    let body = body.map(Value::to_string).unwrap_or_default();
    let mut stream = TcpStream::connect(sandbox.trim_start_matches("http://")).unwrap();
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.0 2"), "{method} {path}: {answer}");
    serde_json::from_str(body).unwrap_or_default()
}

/// All of the ledger that stands, by kind and number.
pub(crate) fn standing(sandbox: &str) -> Vec<String> {
    effects(&at_sandbox(sandbox, "GET", "/ledger", None))
}

/// All that was ever made since the ledger began.
pub(crate) fn ever_made(sandbox: &str) -> Vec<String> {
    effects(&at_sandbox(sandbox, "GET", "/ledger?all=true", None))
}

fn effects(ledger: &Value) -> Vec<String> {
    let name = |effect: &Value| {
        format!("{} {}", effect["kind"].as_str().unwrap(), effect["token"].as_str().unwrap())
    };
    ledger["effects"].as_array().unwrap().iter().map(name).collect()
}
